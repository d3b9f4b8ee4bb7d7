"""Memory of a run that waits: many runs in one process, asleep or waiting for a person.

What counts is how much the process grows by a second batch beside a first one of the same size, so that
caches and the buffers for starting so many at once, which stay as they are, are not counted.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

import podium
from podium import Run, RunHandle, workflow


@workflow
async def sleeper(run: Run, request: Any) -> None:
    await run.sleep(3600)


@workflow
async def asker(run: Run, request: Any) -> None:
    await run.wait_for("Go on?", choices=("yes", "no"))


def resident_kb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024


async def settled(handles: list[RunHandle], until: str) -> None:
    """Wait until every run has logged the event that begins its wait."""
    for handle in handles:
        async for event in handle.events():
            if event.type == until:
                break
    gc.collect()


async def kb_per_run(name: str, folder: Path, count: int) -> None:
    flow, until = {"sleep": (sleeper, "step.completed"), "wait_for": (asker, "run.waiting")}[name]
    async with podium.open_store(f"sqlite:///{folder}/idle.sqlite") as store:

        async def begin(number: int) -> list[RunHandle]:
            return list(await asyncio.gather(*(podium.start(flow, i, store=store) for i in range(number))))

        first = await begin(count)
        await settled(first, until)
        before = resident_kb()
        second = await begin(count)
        await settled(second, until)
        print(json.dumps((resident_kb() - before) / len(second)), flush=True)
        os._exit(0)  # the sleepers would have to be cancelled one by one


if __name__ == "__main__":
    asyncio.run(kb_per_run(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3])))
