"""Kills a build with an acting coder at events of its log, resumes it, and reports each as a JSON line.

    python -m tests.workflows.build.programs.build_lab FOLDER STRIDE

The coder reads, edits, writes, runs commands that change files, and runs tests, in four turns; its first
submission fails the tests, and it fixes that with tools as well.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import podium
from podium import ToolCall
from podium.agents.ask import Run
from podium.settings import Settings
from podium.workflows.build.flow import build_with
from podium.workflows.build.sandbox_workspace import SandboxWorkspace
from podium.workflows.build.workspace import CommandRun, Tested
from tests.engine.programs.kill_lab import KillingStore, drive
from tests.workflows.build.team import CHECK, GOAL, TEST, Team, git, planned, repository, step

NOTES = "BUILD_LAB_NOTES"
CREATED = 2
"""Events that are written with the run itself, before it is driven."""
SETTINGS = Settings.load(cwd="/", env={})
DONE = {
    "status": "done",
    "summary": "Write the answer down",
    "evidence": "check.sh",
    "why": "It was missing.",
}
CODE: list[Any] = [
    [ToolCall("read_file", {"path": "check.sh"}), ToolCall("list_files")],
    [
        ToolCall("write_file", {"path": "answer.txt", "content": "wrong\n"}),
        ToolCall("run", {"command": "mkdir -p tests && echo one >> log.txt && cat log.txt"}),
        ToolCall("write_file", {"path": "tests/test_answer.py", "content": TEST.format(note="")}),
    ],
    [ToolCall("run", {"command": "echo two >> log.txt; cat log.txt"}), ToolCall("git_diff")],
    DONE,
]
FIX: list[Any] = [
    [
        ToolCall("edit_file", {"path": "answer.txt", "search": "wrong", "replace": "right"}),
        ToolCall("run_tests"),
        ToolCall("run", {"command": "echo three >> log.txt; cat log.txt"}),
    ],
    DONE,
]


def note(*words: object) -> None:
    """Append a line that survives the process."""
    with Path(os.environ[NOTES]).open("a") as file:
        file.write(" ".join(map(str, words)) + "\n")


class Noting(Team):
    """A team that notes its calls. The coder makes the turns above."""

    def __init__(self) -> None:
        super().__init__({"plan": planned(step("write the answer down", complexity="simple"))})

    async def __call__(self, call: podium.Call) -> Any:
        note("model", call.path)
        if call.task in ("code", "fix"):
            turns = CODE if call.task == "code" else FIX
            return turns[sum(message.role == "assistant" for message in call.messages)]
        return await super().__call__(call)


class NotingWorkspace(SandboxWorkspace):
    """A workspace that notes which commands were run, once each has ended."""

    async def command(self, snapshot: str, command: str, seconds: float) -> CommandRun:
        done = await super().command(snapshot, command, seconds)
        note("command", command.replace(" ", "_"))
        return done

    async def test(self, snapshot: str, seconds: float, selector: str = "") -> Tested:
        done = await super().test(snapshot, seconds, selector)
        note("test", snapshot)
        return done


@asynccontextmanager
async def open_noting(
    run: Run, workspace: str, test_command: str, allow_unsandboxed: bool
) -> AsyncGenerator[SandboxWorkspace]:
    yield NotingWorkspace(run, workspace, test_command, allow_unsandboxed)


WORKFLOW = build_with(open_noting, first_wait_s=0.001)


async def live(folder: Path, at: int, durable: bool, resumed: bool) -> None:
    store = await KillingStore.open(str(folder / "runs.sqlite"))
    assert isinstance(store, KillingStore)
    store.countdown, store.durable = at, durable
    if resumed:
        [row] = await store.list_runs()
        handle = await podium.resume(
            row.run_id, store=store, settings=SETTINGS, workflow=WORKFLOW, model=Noting()
        )
    else:
        options = {"workspace": str(folder / "project"), "test_command": CHECK}
        handle = await podium.start(
            WORKFLOW, GOAL, store=store, settings=SETTINGS, model=Noting(), options=options
        )
    await handle.result()
    await store.close()


async def look(folder: Path) -> dict[str, Any]:
    async with podium.open_store(f"sqlite:///{folder}/runs.sqlite") as store:
        rows = await store.list_runs()
        if not rows:
            return {"status": "none", "done": [], "events": 0}
        [row] = rows
        events = await store.read(row.run_id)
        seen = {
            "status": row.status,
            "done": [event.path for event in events if event.type == "step.completed"],
            "events": len(events),
        }
    if row.status == "completed":
        branch = f"podium/{row.run_id}"
        seen["tree"] = git(folder / "project", "rev-parse", f"{branch}^{{tree}}")
        seen["log"] = git(folder / "project", "show", f"{branch}:log.txt")
        seen["commits"] = git(folder / "project", "rev-list", "--count", f"main..{branch}")
    return seen


def trial(folder: Path, at: int, durable: bool) -> dict[str, Any]:
    """One run over all its lives. It is killed once, at the event `at` of its drivers; 0: never."""
    repository(folder / "project")
    notes = folder / "notes"
    notes.touch()
    os.environ[NOTES] = str(notes)
    lives: list[dict[str, Any]] = []
    seen: dict[str, Any] = {"status": "none", "done": [], "events": 0}
    while seen["status"] not in ("completed", "failed", "partial"):
        killed_before = any(life["killed"] for life in lives)
        left = 0 if killed_before else max(0, at - max(0, seen["events"] - CREATED))

        async def work(ready: Any, left: int = left, resumed: bool = bool(seen["events"])) -> None:
            ready()
            await live(folder, left, durable, resumed)

        before, earlier = len(notes.read_text().splitlines()), seen["done"]
        killed = drive(work)
        new = notes.read_text().splitlines()[before:]
        lives.append({"killed": killed, "done_before": earlier, "notes": new})
        seen = asyncio.run(look(folder))
        assert len(lives) < 6, seen
    return {"at": at, "durable": durable, "lives": lives, **seen}


def warm_up(folder: Path) -> None:
    """Make one run in this process, so that the forked ones have imported and probed everything."""
    repository(folder / "project")
    os.environ[NOTES] = str(folder / "notes")
    asyncio.run(live(folder, 0, durable=False, resumed=False))
    assert threading.active_count() == 1
    gc.collect()
    gc.freeze()


def main(folder: Path, stride: int) -> None:
    warm_up(folder / "warm")
    whole = trial(folder / "0", 0, False)
    print(json.dumps(whole), flush=True)
    number = 0
    for at in range(1, whole["events"] - CREATED + 1, stride):
        both = (False, True) if stride == 1 else (at // stride % 2 == 0,)
        for durable in both:
            number += 1
            print(json.dumps(trial(folder / str(number), at, durable)), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
