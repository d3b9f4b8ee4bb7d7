"""Runs that the shell can complete; reads the store only, and says nothing when it cannot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from podium.errors import PodiumError

if TYPE_CHECKING:
    from cyclopts.completion import CompletionContext


def recent_runs(context: CompletionContext) -> list[tuple[str, str]]:
    """Ids of the newest runs, each with its status and request."""
    from podium.cli.opening import opened  # noqa: PLC0415 - only completion pays for it here

    async def read() -> list[tuple[str, str]]:
        async with opened() as (_, store):
            runs = await store.list_runs(limit=20)
        return [(run.run_id, f"{run.status}: {run.request[:60]}") for run in runs]

    try:
        return asyncio.run(read())
    except PodiumError:
        return []  # a half-typed command line is no place for an error message
