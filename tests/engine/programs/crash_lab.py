"""Drives `crash_flow` in forked processes, kills them with SIGKILL, resumes, and reports as JSON lines.

    python crash_lab.py FOLDER boundaries|starts|capped [URL]

With a URL all runs are in that one store, else each has a file of its own. A database is slower than a file:
there only one of so many instants is tried.
Forking from a warm process makes each trial cost milliseconds; the processes that die are real.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import podium
from podium.settings import Settings
from tests.engine.programs import crash_flow

URL = next(iter(sys.argv[3:]), "")
STRIDE = 6 if URL else 1
SETTINGS = Settings.load(cwd="/", env={})


def fork(work: Coroutine[Any, Any, Any]) -> int:
    """Run a coroutine in a child; returns its wait status."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            asyncio.run(work)
            code = 0
        finally:
            os._exit(code)
    work.close()
    return os.waitpid(child, 0)[1]


async def start(
    store: str, workflow: podium.Workflow, budget: podium.Budget, die_at_once: bool = False
) -> None:
    handle = await podium.start(workflow, "go", store=store, settings=SETTINGS, budget=budget)
    if die_at_once:
        Path(store).with_suffix(".id").write_text(handle.run_id)
        os.kill(os.getpid(), signal.SIGKILL)
    await handle.result()


async def resume(store: str, workflow: podium.Workflow, run_id: str) -> None:
    handle = await podium.resume(run_id, workflow=workflow, store=store, settings=SETTINGS)
    await handle.result()


async def look(store: str, run_id: str = "") -> dict[str, Any]:
    """What the log says now."""
    async with podium.open_store(store) as opened:
        runs = await opened.list_runs(limit=1)
        if not runs:
            return {"run_id": "", "done": [], "output": None, "status": "none"}
        rows = await opened.read(run_id or runs[0].run_id)
        state = podium.RunState.of(row.to_event(runs[0].run_id) for row in rows)
        completed = [path for path, step in state.steps.items() if step.status == "completed"]
        return {"run_id": runs[0].run_id, "done": completed, "output": state.output, "status": state.status}


def trial(
    folder: Path, number: int, workflow: podium.Workflow, budget: podium.Budget, **how: Any
) -> dict[str, Any]:
    """One life, one death, one resume."""
    store = URL or str(folder / f"{number}.sqlite")
    crash_flow.CALLS = folder / f"{number}.log"
    crash_flow.CALLS.touch()
    crash_flow.Trigger.moment, crash_flow.Trigger.countdown = how.get("moment", ""), how.get("nth", 0)
    status = fork(start(store, workflow, budget))
    crash_flow.Trigger.moment = ""
    killed = asyncio.run(look(store))
    if killed["run_id"] and killed["status"] not in {"completed", "partial"}:
        fork(resume(store, workflow, killed["run_id"]))
    after = asyncio.run(look(store))
    lines = crash_flow.CALLS.read_text().split("\n")
    return {
        "how": how,
        "was_killed": os.WIFSIGNALED(status),
        "done_when_killed": killed["done"],
        "begun": [x.removeprefix("begin ") for x in lines if x.startswith("begin ")],
        "output": after["output"],
        "status": after["status"],
    }


def main(folder: Path, kind: str) -> None:
    flow, free = crash_flow.crash, podium.Budget()
    if kind == "boundaries":
        moments = [(moment, nth) for nth in range(1, 31, STRIDE) for moment in ("begin", "end")]
        for number, (moment, nth) in enumerate(moments):
            print(json.dumps(trial(folder, number, flow, free, moment=moment, nth=nth)), flush=True)
    elif kind == "capped":
        cap = podium.Budget(calls=20)
        for number in range(0, 20, STRIDE):
            report = trial(folder, number, crash_flow.capped, cap, moment="end", nth=number + 1)
            print(json.dumps(report), flush=True)
    elif kind == "starts":
        for number in range(30):
            store = folder / f"{number % 10}.sqlite"
            status = fork(start(str(store), flow, free, die_at_once=True))
            run_id = store.with_suffix(".id").read_text()
            seen = asyncio.run(look(str(store), run_id))
            print(json.dumps({"was_killed": os.WIFSIGNALED(status), "status": seen["status"]}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
