"""What a worker does with a run that an engine gives it, without an engine."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

import podium
from podium.api import enqueue
from podium.api.going_on import MARKS, put_in_line
from podium.cluster.driving import Driving
from podium.cluster.shared import shared
from podium.engine.log import RunRow, Store
from podium.settings import Settings
from podium.stores import open_store
from tests.stores.postgres import Server

CALLS: list[str] = []
"""What the workflow below has done."""


@podium.workflow
async def fails(run: podium.Run, request: str) -> str:
    async def pay() -> str:
        CALLS.append(run.id)
        raise ValueError("no")

    return await run.step("pay", pay)


@pytest.fixture
async def store(pg_server: Server) -> AsyncGenerator[Store]:
    async with open_store(pg_server.new_place()) as opened:
        yield opened


@pytest.fixture
def driving(store: Store) -> Driving:
    return Driving(shared(store), Settings.load(store=store.url), 1.0, nobody)


async def nobody(owner: str) -> None:
    """Has room for another run."""


async def accepted(store: Store, workflow: str = "fails") -> RunRow:
    return await enqueue(
        f"{Path(__file__)}:{workflow}", "go", store=store, settings=Settings.load(store=store.url),
        model="rehearsal", marks=MARKS,
    )  # fmt: skip


async def test_a_run_that_has_failed_goes_on_only_when_somebody_asks_for_it(
    store: Store, driving: Driving
) -> None:
    """An engine whose worker died right after the run gives it to the next: that is nobody's wish."""
    row = await accepted(store)
    assert await driving.drive(row.run_id) is None
    assert (await store.get(row.run_id)).status == "failed"
    log = await store.read(row.run_id)
    assert await driving.drive(row.run_id) is None
    assert await store.read(row.run_id) == log
    await put_in_line(store, Settings.load(store=store.url), row.run_id)
    assert await driving.drive(row.run_id) is None
    assert len(await store.read(row.run_id)) > len(log)
