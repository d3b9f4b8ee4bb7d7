"""A tree of 1,555 nodes in a process of its own that can be killed: each call is written down when it begins.

python -m tests.workflows.tree.programs.big STORE CALLS start | resume RUN
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

import podium
from tests.workflows.scripted import BARE
from tests.workflows.tree.team import aggregate, band, leaf, plan

WIDTH, DEPTH, AT_ONCE, LATENCY_S = 6, 4, 64, 0.02
OPTIONS = {"max_depth": DEPTH, "max_steps": WIDTH, "max_nodes": 10_000, **BARE}
ANSWERS = {
    "plan": plan(band(0, *(f"s{n}" for n in range(WIDTH)))),
    "execute": leaf(),
    "aggregate": aggregate(),
}


class Counted:
    """A model of 20 ms that leaves a line in a file for every call."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    async def __call__(self, call: podium.Call) -> Any:
        os.write(self._file, f"{call.path}\n".encode())
        await asyncio.sleep(LATENCY_S)
        return ANSWERS[call.task]


async def main(store: str, calls: str, order: str, run_id: str = "") -> None:
    model = Counted(calls)
    if order == "start":
        handle = await podium.start(
            "tree", "a very large task", model=model, store=store, concurrency=AT_ONCE, options=OPTIONS
        )
    else:
        handle = await podium.resume(run_id, model=model, store=store)
    print(handle.run_id, flush=True)
    result = await handle.result()
    output: dict[str, Any] = result.output or {}
    nodes: list[dict[str, Any]] = output.get("nodes", [])
    print(result.status, len(nodes), {row["status"] for row in nodes}, flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
