"""Time running out in each phase: nothing is lost, and more time finishes the work.

Real limits, small ones: whoever is to run out of time just never answers. What comes before would take a
busy machine as long as such a limit, so a run is paused there and gets a limit that is nearly used up.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.workflows.build.fold import BuildState
from tests.workflows.build.team import (
    CHECK,
    GOAL,
    WORKFLOW,
    RunEvents,
    Team,
    coded,
    git,
    go_on,
    make,
    repository,
    scored,
)

MORE = podium.Budget(seconds=900)


class Never:
    """An answer that never comes, and when it was first waited for."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def __call__(self, call: podium.Call) -> Any:
        self.asked.set()
        await asyncio.Event().wait()


async def out_of_time_at(store: Store, task: str, folder: Path) -> tuple[RunResult, float]:
    """A run whose time is up while this task is waited for, and its limit."""
    waiting = Never()
    team = Team({task: waiting})
    options = {"workspace": str(folder), "test_command": CHECK}
    handle = await podium.start(WORKFLOW, GOAL, model=team, store=store, options=options)
    await waiting.asked.wait()
    used = (await handle.pause(at_once=True)).duration_s
    limit = round((used + 1.5) / 0.9, 3)  # a tenth is kept for the end
    return await go_on(store, handle.run_id, team, podium.Budget(seconds=limit)), limit


@pytest.mark.parametrize(
    ("task", "phase"),
    [("plan", "planning"), ("verify_plan", "planning"), ("code", "executing"), ("verify_goal", "verifying")],
)
async def test_time_runs_out_in_a_phase_and_more_time_ends_in_success(
    store: Store, tmp_path: Path, task: str, phase: str
) -> None:
    folder = repository(tmp_path / "project")
    made, limit = await out_of_time_at(store, task, folder)
    assert (made.status, made.stop_reason, made.exit_code) == ("partial", "time", 4)
    assert made.output["state"]["status"] == "time_expired"
    assert made.duration_s <= limit + 5
    told = await RunEvents.of(store, made.run_id)
    assert told.of_type("phase")[-1]["status"] == "time_expired"
    assert phase in [data["status"] for data in told.of_type("phase")][-4:]
    team = Team()
    ended = await go_on(store, made.run_id, team, MORE)
    assert (ended.status, ended.output["state"]["status"]) == ("completed", "completed")
    assert ended.output["state"]["timeLimit"] == 900
    assert git(folder, "show", f"{ended.output['branch']}:answer.txt") == "right"
    replayed = await podium.replay(made.run_id, store=store)
    assert replayed.output == ended.output
    log = [row.to_event(made.run_id) for row in await store.read(made.run_id)]
    assert BuildState.of(log).state.status == "completed"


async def test_a_step_that_spent_its_time_is_blocked_and_a_sub_plan_gets_fresh_time(
    store: Store, tmp_path: Path
) -> None:
    """The test of the first attempt hangs: it is stopped when the step's time is used up."""
    check = "test ! -e answer.txt || grep -q right answer.txt || sleep 600\n"
    folder = repository(tmp_path / "project", {"check.sh": check})
    team = Team({"code": [coded("wrong"), None]})
    made = await make(store, team, folder, budget=podium.Budget(seconds=20))
    log = await RunEvents.of(store, made.run_id)
    first = log.of_type("step_status", step_id="step-1", status="blocked")[0]
    assert "the time of the step is used up" in first["fail_reason"]
    tests = log.of_type("tests_run", step_id="step-1")[0]["result"]
    assert tests["timedOut"] is True
    assert tests["seconds"] <= 8 + 2, "half of the execution time, as there are two steps"
    assert log.of_type("message", type="REPLAN_REQUEST", step_id="step-1")
    if made.status == "partial":  # a busy machine had no time left for the rest
        made = await go_on(store, made.run_id, team, MORE)
    assert made.status == "completed"


async def test_time_that_is_up_altogether_still_ends_in_a_report(store: Store, tmp_path: Path) -> None:
    """A coder that nothing can interrupt takes all of it; the end is done all the same, a bit late."""
    folder = repository(tmp_path / "project")
    team = Team({"code": lambda call: time.sleep(4)})
    made = await make(store, team, folder, budget=podium.Budget(seconds=4))
    assert (made.status, made.stop_reason) == ("partial", "time")
    assert [artifact.name for artifact in made.artifacts] == [
        "changes.patch",
        "test-report.md",
        "report.html",
    ]
    assert made.output["state"]["status"] == "time_expired"
    ended = await go_on(store, made.run_id, Team(), MORE)
    assert (ended.status, len(ended.output["commits"])) == ("completed", 2)


async def test_time_that_is_up_before_there_is_a_workspace_is_an_answer_too(
    store: Store, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "project")
    made = await make(store, Team(), folder, budget=podium.Budget(seconds=0.01))
    assert (made.status, made.stop_reason, made.output["commits"]) == ("partial", "time", [])
    ended = await go_on(store, made.run_id, Team(), MORE)
    assert (ended.status, len(ended.output["commits"])) == ("completed", 2)


async def test_until_time_expires_with_no_limit_of_iterations(store: Store, tmp_path: Path) -> None:
    team = Team({"verify_goal": [scored(79), scored(79), scored(79), scored(79), scored(80)]})
    made = await make(store, team, repository(tmp_path / "project"), max_iterations=0)
    assert (made.status, made.output["state"]["iteration"]) == ("completed", 5)


async def test_out_of_calls_is_an_answer_with_the_work_in_progress_and_can_go_on(
    store: Store, tmp_path: Path
) -> None:
    """Seven calls: the plan and its review, the first step with its judges, the code of the second and its
    review."""
    folder = repository(tmp_path / "project")
    made = await make(store, Team(), folder, budget=podium.Budget(calls=7))
    assert (made.status, made.stop_reason, made.exit_code) == ("partial", "budget", 4)
    assert [artifact.name for artifact in made.artifacts] == [
        "changes.patch",
        "test-report.md",
        "report.html",
    ]
    branch = made.output["branch"]
    assert git(folder, "log", "-1", "--format=%s", branch).startswith("Work in progress: write it down again")
    team = Team()
    ended = await go_on(store, made.run_id, team, podium.Budget(calls=100))
    assert (ended.status, "plan" in team.tasks) == ("completed", False)
    subjects = git(folder, "log", "--format=%s", f"main..{branch}").splitlines()
    assert subjects == ["the answer is right", "the answer is right"]


async def test_time_used_is_told_by_phase(store: Store, tmp_path: Path) -> None:
    made = await make(store, Team(), repository(tmp_path / "project"))
    used = made.output["time_used"]
    assert list(used) == ["planning", "execution", "verification", "total"]
    assert used["total"] == pytest.approx(sum(used[key] for key in list(used)[:3]), abs=0.01)
    assert 0 < used["total"] <= made.duration_s + 0.01


async def test_a_plan_is_not_revised_when_planning_has_used_its_share(store: Store, tmp_path: Path) -> None:
    """Planning has a tenth: three seconds of thirty. The plan takes longer, and is rejected."""

    async def slowly(call: podium.Call) -> None:
        await asyncio.sleep(3.1)

    team = Team({"plan": slowly, "verify_plan": scored(69, "too vague")})
    made = await make(store, team, repository(tmp_path / "project"), budget=podium.Budget(seconds=30))
    assert (made.status, made.stop_reason) == ("partial", "time")
    assert (made.output["state"]["status"], team.tasks) == ("time_expired", ["plan", "verify_plan"])
    assert made.duration_s < 25, "the rest of the time is not waited for"
    ended = await go_on(store, made.run_id, Team(), MORE)
    assert ended.status == "completed"


async def test_a_fix_cycle_takes_at_most_30_percent_of_its_step_and_the_next_may_still_help(
    store: Store, tmp_path: Path
) -> None:
    """A good three seconds of twelve, which is half of the execution time of thirty."""
    team = Team({"code": [coded("wrong"), None], "fix": [Never(), None]})
    made = await make(store, team, repository(tmp_path / "project"), budget=podium.Budget(seconds=30))
    assert team.tasks.count("fix") >= 2
    log = await RunEvents.of(store, made.run_id)
    assert [data["payload"]["cycle"] for data in log.of_type("message", type="CODE_FIX_REQUEST")][:2] == [
        1,
        2,
    ]
    if made.status == "partial":  # a busy machine had no time left for the rest
        made = await go_on(store, made.run_id, team, MORE)
    assert made.status == "completed"
