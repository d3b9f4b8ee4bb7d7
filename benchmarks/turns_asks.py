"""Asks without tools, one after the other. Works with versions of Podium that have no tools."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import podium
from benchmarks.podium_ import check
from benchmarks.turns_common import PAGE, Subject

WRITER = podium.Agent("writer")


@podium.workflow
async def one_by_one(run: podium.Run, request: int) -> None:
    for number in range(request):
        await run.ask(WRITER, "write", prompt="Page {{ number }}", number=number)


async def write(call: podium.Call) -> str:
    return PAGE[:200]


class PodiumAsks(Subject):
    """`run.ask`, on a SQLite store with every fsync on."""

    version = podium.__version__

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        self.settings = podium.Settings.load(cwd="/", env={})
        async with podium.open_store(f"sqlite:///{folder}/podium.sqlite") as self.store:
            yield

    async def turns(self, n: int) -> str:
        return await self.done(one_by_one, n, write)

    async def done(self, flow: podium.Workflow, n: int, model: Any) -> str:
        """Run a workflow; return the id of the run."""
        store, settings = self.store, self.settings
        result = await podium.run(flow, n, model=model, store=store, settings=settings, concurrency=1_000)
        check(result)
        return result.run_id


asks = PodiumAsks()
