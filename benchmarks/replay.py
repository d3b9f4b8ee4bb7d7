"""How long `podium.replay` takes for a finished run, in a process that has done nothing else."""

from __future__ import annotations

import asyncio
import json
import sys
import time

import podium
from benchmarks.common import MODEL


async def replay(url: str) -> float:
    async with podium.open_store(url) as store:
        (row,) = await store.list_runs()
        start = time.perf_counter()
        result = await podium.replay(row.run_id, store=store)
        seconds = time.perf_counter() - start
    if result.status != "completed" or MODEL.calls:
        raise AssertionError(f"the replay ended as {result.status} after {MODEL.calls} calls")
    return seconds


if __name__ == "__main__":
    print(json.dumps(asyncio.run(replay(sys.argv[1]))))
