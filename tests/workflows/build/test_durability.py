"""Killed in the middle of a step, or cancelled: the workspace is as it was, and the run goes on."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.settings import Settings
from podium.settings.options import SandboxOptions
from podium.stores import open_store
from tests import warm
from tests.workflows.build.team import (
    CHECK,
    GOAL,
    WORKFLOW,
    RunEvents,
    Team,
    git,
    go_on,
    make,
    modified,
    repository,
    steps_of,
)

ROOT = Path(__file__).parents[3]


def drive(folder: Path, log: str, kill_at: int = 0, run_id: str = "") -> subprocess.CompletedProcess[str]:
    words = [str(folder), log, str(kill_at), *([run_id] if run_id else [])]
    command = [sys.executable, "-m", "tests.workflows.build.programs.patient", *words]
    return warm.run(command, cwd=ROOT, text=True, timeout=300)


def told(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("kill_at", [1, 3, 5, 8, 10])
async def test_killed_at_any_call_it_goes_on_with_the_workspace_as_it_was_and_pays_nothing_twice(
    tmp_path: Path, kill_at: int
) -> None:
    folder = repository(tmp_path / "project")
    killed = drive(tmp_path, "calls.log", kill_at)
    assert killed.returncode == -9
    async with open_store(f"sqlite:///{tmp_path}/runs.sqlite") as store:
        [run] = await store.list_runs()
        tree = tmp_path / "workspaces" / run.run_id / "tree"
        if tree.is_dir():  # whatever happens to the work tree meanwhile
            (tree / "answer.txt").write_text("meddled with")
            (tree / "left-over.txt").write_text("half of something")
    again = told(drive(tmp_path, "calls.log", run_id=run.run_id))
    assert (again["status"], again["answer"]) == ("completed", "right write it down again")
    calls = Counter((tmp_path / "calls.log").read_text().splitlines())
    assert max(calls.values()) <= 2
    assert sum(number > 1 for number in calls.values()) <= 1, "only what was in flight"
    subjects = git(folder, "log", "--format=%s", f"main..podium/{run.run_id}").splitlines()
    assert subjects == ["the answer is right write it down again", "the answer is wrong"]
    assert "left-over.txt" not in git(folder, "ls-tree", "--name-only", f"podium/{run.run_id}")
    async with open_store(f"sqlite:///{tmp_path}/runs.sqlite") as store:
        replayed = await podium.replay(run.run_id, store=store)
    assert replayed.status == "completed"


async def test_a_cancelled_run_leaves_what_was_committed(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    handle: podium.RunHandle | None = None

    cancelling: list[asyncio.Task[Any]] = []

    async def cancel(call: podium.Call) -> Any:
        if "# Step 2" in call.prompt and handle is not None:
            cancelling.append(asyncio.create_task(handle.cancel("enough")))
            await asyncio.Event().wait()

    team = Team({"code": cancel})
    handle = await podium.start(
        WORKFLOW, GOAL, model=team, store=store, options={"workspace": str(folder), "test_command": CHECK}
    )
    made = await handle.result()
    assert made.status == "cancelled"
    subjects = git(folder, "log", "--format=%s", f"main..podium/{made.run_id}").splitlines()
    assert subjects == ["the answer is right"]
    assert git(folder, "status", "--porcelain") == ""


async def test_a_run_whose_answer_is_awaited_goes_on_in_another_process(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    made = await make(store, Team(), folder, approve=("plan", "result"))
    assert made.status == "waiting"
    await podium.answer(made.run_id, "approve", store=store)
    waiting = await go_on(store, made.run_id, Team())
    assert waiting.status == "waiting"
    await podium.answer(made.run_id, "approve", store=store)
    ended = await go_on(store, made.run_id, Team())
    assert (ended.status, steps_of(ended)["step-2"]["status"]) == ("completed", "completed")


async def test_a_sandbox_that_vanishes_between_two_steps_is_a_refusal_and_no_run_without_one(
    store: Store, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "project")
    bubblewrap = shutil.which("bwrap")
    if bubblewrap is None:
        pytest.skip("bubblewrap is not installed")
    own = tmp_path / "bwrap"
    shutil.copy(bubblewrap, own)
    chosen = Settings(sandbox=SandboxOptions(tier="bubblewrap", bubblewrap=str(own)))

    def vanish(call: podium.Call) -> Any:
        if "# Step 2" in call.prompt:
            own.unlink()

    options = {"workspace": str(folder), "test_command": CHECK}
    made = await podium.run(
        WORKFLOW, GOAL, model=Team({"code": vanish}), store=store, options=options, settings=chosen
    )
    assert (made.status, "no longer exists" in made.error) == ("failed", True)
    assert "--allow-unsandboxed" not in made.hint
    assert len(made.output["commits"]) == 1
    shutil.copy(bubblewrap, own)
    handle = await podium.resume(made.run_id, workflow=WORKFLOW, model=Team(), store=store, settings=chosen)
    ended = await handle.result()
    assert ended.status == "completed"


NOWHERE = Settings(sandbox=SandboxOptions(tier="bubblewrap", bubblewrap="/nowhere/bwrap"))
"""A machine that cannot have the sandbox that its settings ask for."""


async def test_without_a_sandbox_nothing_is_run_and_the_hint_names_the_way_out(
    store: Store, tmp_path: Path
) -> None:
    team, options = Team(), {"workspace": str(repository(tmp_path / "project")), "test_command": CHECK}
    made = await podium.run(WORKFLOW, GOAL, model=team, store=store, options=options, settings=NOWHERE)
    assert (made.status, team.tasks, made.output["commits"]) == ("failed", [], [])
    assert "/nowhere/bwrap" in made.error
    assert "--allow-unsandboxed" in made.hint


async def test_what_was_allowed_to_do_without_a_sandbox_is_logged_and_shown(
    store: Store, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "project")
    options = {"workspace": str(folder), "test_command": CHECK, "allow_unsandboxed": True}
    made = await podium.run(WORKFLOW, GOAL, model=Team(), store=store, options=options, settings=NOWHERE)
    assert made.status == "completed"
    assert any("all your permissions" in warning for warning in made.warnings)
    [opened] = (await RunEvents.of(store, made.run_id)).of_type("opened")
    assert opened["sandbox"] == "none"
    page = (await store.get_blob(made.artifacts[2].blob)).decode()
    assert "all your permissions" in page


async def test_a_fork_goes_its_own_way_on_a_branch_of_its_own(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    made = await make(store, Team(), folder)
    other = modified("right", "in the fork's words")
    handle = await podium.fork(
        made.run_id,
        "iteration/step[step-2]/attempt/code",
        reply=other,
        workflow=WORKFLOW,
        model=Team(),
        store=store,
    )
    forked = await handle.result()
    assert (forked.status, forked.output["branch"]) == ("completed", f"podium/{forked.run_id}")
    assert git(folder, "show", f"podium/{made.run_id}:answer.txt") == "right"
    assert git(folder, "show", f"podium/{forked.run_id}:answer.txt") == "right in the fork's words"
