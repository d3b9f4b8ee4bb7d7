"""The loop as a whole: tasks in their order, messages, commits, the state, and the user's own files."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest

import podium
from podium.agents.ask import Run
from podium.engine.log import Store
from podium.workflows.build import workspace as ground
from podium.workflows.build.flow import build_with
from podium.workflows.build.fold import BuildState
from podium.workflows.build.sandbox_workspace import SandboxWorkspace
from podium.workflows.build.state import ANSWERS, ROUTES
from tests.workflows.build.team import (
    CHECK,
    GOAL,
    WORKFLOW,
    RunEvents,
    Team,
    coded,
    git,
    make,
    modified,
    planned,
    repository,
    scored,
    step,
    steps_of,
)

STEP = ["code", "test_review", "verify_step"]


async def test_plan_code_test_verify_commit_and_the_goal(store: Store, tmp_path: Path) -> None:
    team, folder = Team(), repository(tmp_path / "project")
    made = await make(store, team, folder)
    assert (made.status, made.error) == ("completed", "")
    assert team.tasks == ["plan", "verify_plan", *STEP, *STEP, "verify_goal"]
    output = made.output
    assert list(output) == [
        "state",
        "branch",
        "commits",
        "diff_stat",
        "changes",
        "tests",
        "baseline",
        "gates",
        "escalations",
        "caught",
        "time_used",
    ]
    assert output["branch"] == f"podium/{made.run_id}"
    assert [step["status"] for step in steps_of(made).values()] == ["completed", "completed"]
    assert (len(output["commits"]), output["tests"]["ok"], output["escalations"]) == (2, True, [])
    assert git(folder, "show", f"{output['branch']}:answer.txt") == "right"


async def test_the_state_has_the_agreed_fields(store: Store, tmp_path: Path) -> None:
    made = await make(store, Team(), repository(tmp_path / "project"))
    state = made.output["state"]
    assert list(state) == [
        "id",
        "primaryGoal",
        "status",
        "currentPlan",
        "planStack",
        "currentAgent",
        "iteration",
        "startTime",
        "endTime",
        "timeLimit",
        "agents",
        "metrics",
        "eventLog",
    ]
    assert (state["id"], state["primaryGoal"], state["status"]) == (made.run_id, GOAL, "completed")
    assert (state["iteration"], state["timeLimit"], state["currentAgent"]) == (1, 7200, None)
    assert state["endTime"] >= state["startTime"]
    assert set(state["agents"]) == {"planner", "coder", "tester", "supervisor"}
    assert set(state["agents"]["coder"]) == {"status", "lastOutput", "metrics"}
    assert state["metrics"] == {
        "totalSteps": 2,
        "completedSteps": 2,
        "failedSteps": 0,
        "replanCount": 0,
        "fixCycles": 0,
        "verificationsPassed": 8,
        "verificationsFailed": 0,
    }
    plan = state["currentPlan"]
    assert list(plan) == [
        "id",
        "goal",
        "analysis",
        "steps",
        "depth",
        "parentPlanId",
        "status",
        "currentStepIndex",
    ]
    assert (plan["status"], plan["depth"], plan["parentPlanId"], plan["currentStepIndex"]) == (
        "completed",
        0,
        None,
        2,
    )
    assert list(plan["steps"][0])[:14] == [
        "id",
        "number",
        "description",
        "complexity",
        "status",
        "depth",
        "parentStepId",
        "subSteps",
        "attempts",
        "maxAttempts",
        "codeOutput",
        "testResults",
        "verificationResult",
        "failReason",
    ]
    assert plan["steps"][0]["verificationResult"]["score"] == 90


async def test_the_log_alone_gives_the_same_state(store: Store, tmp_path: Path) -> None:
    made = await make(store, Team({"code": [coded("wrong"), coded()]}), repository(tmp_path / "project"))
    log = [row.to_event(made.run_id) for row in await store.read(made.run_id)]
    assert BuildState.of(log).state.shown() == made.output["state"]
    for length in range(0, len(log), 7):  # and at any time before
        BuildState.of(log[:length]).state.shown()


async def test_the_users_checkout_is_left_as_it_was(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    (folder / "notes.txt").write_text("not committed")
    (folder / "README.md").write_text("# changed, not committed\n")
    git(folder, "stash", "push", "-q", "README.md")
    (folder / ".git/hooks/post-commit").write_text("#!/bin/sh\ntouch hooked\n")
    (folder / ".git/hooks/post-commit").chmod(0o755)

    def facts() -> list[str]:
        asked = ("status --porcelain", "stash list", "rev-parse HEAD", "branch --show-current")
        return [git(folder, *words.split()) for words in asked]

    before = facts()
    made = await make(store, Team(), folder)
    assert (made.status, facts()) == ("completed", before)
    assert not (folder / "answer.txt").exists()
    assert not (folder / "hooked").exists()
    assert any("notes.txt" in warning for warning in made.warnings)


async def test_every_exchange_is_a_message_with_from_to_and_a_shared_correlation_id(
    store: Store, tmp_path: Path
) -> None:
    made = await make(store, Team({"code": [coded("wrong"), modified()]}), repository(tmp_path / "project"))
    log = await RunEvents.of(store, made.run_id)
    messages = log.of_type("message")
    assert {message["type"] for message in messages} <= set(ROUTES)
    for message in messages:
        sender, to = ROUTES[message["type"]]
        assert (message["from"], message["to"]) == (sender, to)
    for request in (message for message in messages if message["type"] in ANSWERS):
        kinds = [one["type"] for one in messages if one["correlation_id"] == request["correlation_id"]]
        assert ANSWERS[request["type"]] in kinds
    plan, code, test, verify = (
        [f"{kind}_REQUEST", f"{kind}_RESPONSE"] for kind in ("PLAN", "CODE", "TEST", "VERIFY")
    )
    fix = ["FIX_PLAN", "CODE_FIX_REQUEST", "CODE_RESPONSE"]
    assert log.messages() == [
        *(*plan, *verify),
        *(*code, *test),
        *(*fix, *test, *verify, "STEP_COMPLETE"),
        *(*code, *test, *verify, "STEP_COMPLETE"),
        *(*verify, "GOAL_COMPLETE"),
    ]


async def test_commit_messages_name_step_and_evidence(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    made = await make(store, Team(), folder)
    log = git(folder, "log", "--format=%s|%b", f"main..{made.output['branch']}")
    assert "the answer is right" in log
    assert "Step 1: write the answer down" in log
    assert "Step 2: write it down again" in log
    assert log.count("Evidence: answer.txt holds it") == 2
    assert log.count("Tests: passed (sh check.sh)") == 2
    assert "Not verified" not in log


async def test_patch_test_report_and_page_are_artifacts_and_the_patch_applies(
    store: Store, tmp_path: Path
) -> None:
    folder = repository(tmp_path / "project")
    made = await make(store, Team(), folder)
    assert [artifact.name for artifact in made.artifacts] == [
        "changes.patch",
        "test-report.md",
        "report.html",
    ]
    patch = await store.get_blob(made.artifacts[0].blob)
    (tmp_path / "it.patch").write_bytes(patch)
    git(folder, "apply", str(tmp_path / "it.patch"))
    assert (folder / "answer.txt").read_text() == "right\n"


async def test_goal_at_79_iterates_and_at_80_is_done(store: Store, tmp_path: Path) -> None:
    team = Team({"verify_goal": [scored(79, "the tone is wrong"), scored(80)]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert made.status == "completed"
    assert (made.output["state"]["iteration"], team.tasks.count("plan")) == (2, 2)
    again = team.asked_to("plan")[1].prompt
    assert "the tone is wrong" in again
    assert "write the answer down" in again, "what is done already"
    log = await RunEvents.of(store, made.run_id)
    assert [data["iteration"] for data in log.of_type("phase", status="planning")] == [1, 2]
    assert log.messages().count("PLAN_REQUEST") == 2
    assert made.output["state"]["metrics"]["replanCount"] == 1


@pytest.mark.parametrize(("most", "plans"), [(1, 1), (3, 3)])
async def test_after_the_last_iteration_the_run_is_partial_with_what_was_achieved(
    store: Store, tmp_path: Path, most: int, plans: int
) -> None:
    team = Team({"verify_goal": scored(79)})
    made = await make(store, team, repository(tmp_path / "project"), max_iterations=most)
    assert (made.status, made.stop_reason, made.quality) == ("partial", "goal not met", 79)
    assert team.tasks.count("plan") == plans
    assert (made.output["state"]["status"], made.exit_code) == ("failed", 3)
    assert made.output["diff_stat"]["added"] > 0


async def test_dangerous_files_that_tests_leave_are_a_warning_of_the_run(
    store: Store, tmp_path: Path
) -> None:
    team, folder = Team(), repository(tmp_path / "project")
    made = await podium.run(
        WORKFLOW,
        GOAL,
        model=team,
        store=store,
        options={"workspace": str(folder), "test_command": f"sh -c 'mkfifo left; {CHECK}'"},
    )
    assert made.status == "completed"
    expected = "Pipes, sockets or device files that a program left were removed: left."
    assert made.warnings.count(expected) == 1


async def test_a_goal_is_not_met_while_the_whole_suite_fails_whatever_the_supervisor_would_say(
    store: Store, tmp_path: Path
) -> None:
    """Tests that pass step by step and fail at the end, as flaky ones do."""

    class Moody(SandboxWorkspace):
        runs = 0

        async def test(self, snapshot: str, seconds: float, selector: str = "") -> ground.Tested:
            Moody.runs += 1
            log = await super().test(snapshot, seconds, selector)
            failing = msgspec.structs.replace(log.result, ok=False, failed=1, note="it fails now and then")
            return ground.Tested(failing, "FAIL") if Moody.runs == 4 else log

    @asynccontextmanager
    async def open_moody(
        run: Run, workspace: str, test_command: str, allow_unsandboxed: bool
    ) -> AsyncGenerator[SandboxWorkspace]:
        yield Moody(run, workspace, test_command, allow_unsandboxed)

    team, folder = Team(), repository(tmp_path / "project")
    made = await podium.run(
        build_with(open_moody),
        GOAL,
        model=team,
        store=store,
        options={"workspace": str(folder), "test_command": CHECK, "max_iterations": 1},
    )
    assert (made.status, made.stop_reason, Moody.runs) == ("partial", "goal not met", 4)
    assert "verify_goal" not in team.tasks
    assert made.output["gates"][-1]["problems"] == ["the whole test suite does not pass"]
    assert "GOAL_COMPLETE" not in (await RunEvents.of(store, made.run_id)).messages()


async def test_a_finished_build_replays_without_a_call_or_a_process(store: Store, tmp_path: Path) -> None:
    folder = repository(tmp_path / "project")
    made = await make(store, Team({"code": [coded("wrong"), modified()]}), folder)
    from_log = await podium.replay(made.run_id, workflow=None, store=store)
    assert (from_log.status, from_log.output) == (made.status, made.output)


async def test_people_approve_plan_and_result(store: Store, tmp_path: Path) -> None:
    team = Team()
    made = await make(store, team, repository(tmp_path / "project"), approve=("plan", "result"))
    assert (made.status, team.tasks) == ("waiting", ["plan", "verify_plan"])
    assert "1. write the answer down" in str(next(iter(made.questions.values())).details)


async def test_a_plan_that_a_person_rejects_ends_the_run(store: Store, tmp_path: Path) -> None:
    team = Team()
    made = await make(store, team, repository(tmp_path / "project"), approve=("plan",))
    await podium.answer(made.run_id, "reject", store=store)
    handle = await podium.resume(made.run_id, store=store, model=team)
    ended = await handle.result()
    assert (ended.status, ended.stop_reason) == ("partial", "plan rejected")
    assert "code" not in team.tasks


async def test_a_plan_needs_an_order_in_which_it_can_be_done(store: Store, tmp_path: Path) -> None:
    team = Team(
        {
            "plan": planned(step("write the answer", 2), step("prepare the file")),
            "code": [coded(), modified(note="again")],
        }
    )
    made = await make(store, team, repository(tmp_path / "project"))
    log = await RunEvents.of(store, made.run_id)
    done = [data["step_id"] for data in log.of_type("step_status", status="completed")]
    assert done == ["step-2", "step-1"]


async def test_the_planner_sees_the_declarations_that_the_goal_names(store: Store, tmp_path: Path) -> None:
    files = {"sums.py": "RATE = 2\n\n\ndef double_up(n: int) -> int:\n    return n * RATE\n"}
    team = Team()
    await make(store, team, repository(tmp_path / "project", files), f"{GOAL}, and leave double_up alone")
    [asked] = team.asked_to("plan")
    named = asked.prompt.partition("# Declarations that the goal names")[2].partition("# Answer")[0]
    assert "sums.py:4: def double_up(n: int) -> int" in named
    assert "RATE" not in named
