"""`spend URL OWNER RUNS CALLS PLACE`: drive so many runs of one owner at once, of so many calls of a cent.
Each call is told by a byte in the file PLACE, which is what a provider would know. Prints `started` when all
are under way, and how each ended. `take-over` in the place of RUNS: go on with what others have left."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import podium
from podium.api.admission import enqueue
from podium.engine.budget import Budget
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.settings import Settings
from podium.stores import open_store

CENT = Charge(usd=0.01, calls=1)


def spending(calls: int, place: Path, slow: float = 0.01) -> podium.Workflow:
    async def call(n: int) -> int:
        handle = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(handle, b"$")
        os.close(handle)
        await asyncio.sleep(slow)
        return n

    async def spend(run: podium.Run, request: str) -> int:
        completed = 0
        for n in range(0, calls, 2):
            pair = await run.gather({str(k): run.step("call", call, k, cost=CENT) for k in (n, n + 1)})
            completed += sum(isinstance(outcome, podium.Ok) for outcome in pair.values())
        return completed

    return podium.Workflow(spend, "spend")


async def drive(store: Store, workflow: podium.Workflow, run_id: str) -> str:
    handle = await podium.resume(run_id, workflow=workflow, store=store)
    return (await handle.result()).status


async def main(url: str, owner: str, runs: str, calls: int, place: Path) -> None:
    async with open_store(url) as store:
        workflow = spending(calls, place)
        if runs == "take-over":
            left = await store.list_runs(status=("paused", "queued"), owner=owner, limit=1000)
            ids = [row.run_id for row in left]
        else:
            rows = [
                await enqueue(
                    workflow, "go", store=store, settings=Settings(), budget=Budget(), marks={"owner": owner}
                )
                for _ in range(int(runs))
            ]
            ids = [row.run_id for row in rows]
        print("started", flush=True)
        print(*await asyncio.gather(*(drive(store, workflow, run_id) for run_id in ids)), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), Path(sys.argv[5])))
