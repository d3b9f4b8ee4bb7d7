"""Workflows of one ask, and their events."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import podium
from podium import Event
from podium.engine.log import Store


def asking(ask: Callable[[podium.Run, str], Any]) -> podium.Workflow:
    """A workflow of one expression."""

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        return await ask(run, request)

    return flow


async def events(store: Store, run_id: str) -> list[Event]:
    return [row.to_event(run_id) for row in await store.read(run_id)]
