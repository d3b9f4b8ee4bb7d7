"""The whole ladder: fix cycles, attempts, sub-plans, failed steps, escalation up to the end of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from tests.workflows.build.team import (
    RunEvents,
    Team,
    coded,
    knows_answer,
    make,
    modified,
    planned,
    repository,
    scored,
    step,
    steps_of,
)


def answers(**by_step: list[str]) -> Any:
    """A coder that writes these answers, one for each attempt at a step; `step_1="wrong right"`."""
    given: dict[str, int] = {}

    def write(call: podium.Call) -> Any:
        label = call.prompt.partition("\n# Step ")[2].partition("\n")[0]
        key = f"step_{label.replace('.', '_')}"
        given[key] = given.get(key, -1) + 1
        texts = by_step.get(key, ["right"])
        text = texts[min(given[key], len(texts) - 1)]
        if text == "blocked":
            return {"status": "blocked", "blocked_reason": "there is no such file"}
        note = f"{label} {given[key]}"
        return modified(text, note) if knows_answer(call) else coded(f"{text} {note}")

    return write


async def test_a_fix_in_the_second_cycle_completes_the_first_attempt(store: Store, tmp_path: Path) -> None:
    team = Team({"code": answers(step_1=["wrong"]), "fix": [modified("wrong", "still"), modified()]})
    made = await make(store, team, repository(tmp_path / "project"))
    first = steps_of(made)["step-1"]
    assert (made.status, first["attempts"], made.output["state"]["metrics"]["fixCycles"]) == (
        "completed",
        1,
        2,
    )
    assert team.tasks[2:9] == ["code", "fix_plan", "fix", "fix_plan", "fix", "test_review", "verify_step"]
    log = await RunEvents.of(store, made.run_id)
    runs = log.of_type("tests_run", step_id="step-1")
    cycles = [(one["cycle"], one["result"]["ok"]) for one in runs]
    assert cycles == [(0, False), (1, False), (2, True), (2, True)]
    assert made.output["escalations"] == [], "failing tests alone are no issue"
    fix = team.asked_to("fix")[1].prompt
    assert "make it right" in fix
    assert "still" in fix, "the change so far"


async def test_three_attempts_with_three_cycles_each_then_blocked_then_a_sub_plan_of_depth_1(
    store: Store, tmp_path: Path
) -> None:
    team = Team({"code": answers(step_1=["wrong"]), "fix": modified("wrong", "fixed")})
    made = await make(store, team, repository(tmp_path / "project"))
    steps = steps_of(made)
    assert made.status == "completed"
    assert [(key, one["status"], one["depth"]) for key, one in steps.items()] == [
        ("step-1", "completed", 0),
        ("step-1.1", "completed", 1),
        ("step-2", "completed", 0),
    ]
    assert steps["step-1"]["attempts"] == 3
    assert steps["step-1.1"]["parentStepId"] == "step-1"
    assert team.tasks.count("fix") == 9
    log = await RunEvents.of(store, made.run_id)
    assert log.statuses("step-1") == ["in_progress", "blocked", "completed"]
    blocked = log.of_type("message", type="STEP_BLOCKED")
    assert [one["payload"]["final"] for one in blocked] == [False]
    kinds = log.messages()
    assert kinds[kinds.index("STEP_BLOCKED") :][:3] == ["STEP_BLOCKED", "REPLAN_REQUEST", "SUBPLAN_RESPONSE"]
    subplan = log.of_type("plan_created", step_id="step-1", approved=True)[0]["plan"]
    assert (subplan["depth"], subplan["parentPlanId"]) == (1, "plan-1")
    assert "attempt 3" in team.asked_to("subplan")[0].prompt


async def test_sub_plans_go_three_deep_and_a_fourth_is_refused(store: Store, tmp_path: Path) -> None:
    blocked = {key: ["blocked"] for key in ("step_1", "step_1_1", "step_1_1_1", "step_1_1_1_1")}
    team = Team(
        {
            "plan": planned(
                "write the answer", step("build on it", 1), step("and on that", 2), "write something else"
            ),
            "code": answers(**blocked),
        }
    )
    made = await make(store, team, repository(tmp_path / "project"), max_iterations=1)
    steps = steps_of(made)
    assert {key: one["status"] for key, one in steps.items()} == {
        "step-1": "failed",
        "step-1.1": "failed",
        "step-1.1.1": "failed",
        "step-1.1.1.1": "failed",
        "step-2": "blocked",
        "step-3": "blocked",
        "step-4": "completed",
    }
    assert "no sub-plans below depth 3" in steps["step-1.1.1.1"]["failReason"]
    assert steps["step-2"]["failReason"] == steps["step-3"]["failReason"] == "needs step 1, which failed"
    assert [one["depth"] for one in steps.values()][:4] == [0, 1, 2, 3]
    assert (made.status, team.tasks.count("subplan")) == ("partial", 3)
    log = await RunEvents.of(store, made.run_id)
    finals = [one for one in log.of_type("message", type="STEP_BLOCKED") if one["payload"]["final"]]
    assert [one["step_id"] for one in finals] == ["step-1.1.1.1", "step-1.1.1", "step-1.1", "step-1"]
    assert [one["level"] for one in made.output["escalations"]] == ["CORRECT", "REFOCUS", "CRITICAL"]
    assert len(made.output["commits"]) == 1, "the rest goes on"
    metrics = made.output["state"]["metrics"]
    assert (metrics["totalSteps"], metrics["completedSteps"], metrics["failedSteps"]) == (7, 1, 4)


@pytest.mark.parametrize(("depth", "most"), [(1, 5), (2, 3), (3, 2)])
async def test_a_sub_plan_with_too_many_steps_is_sent_back(
    store: Store, tmp_path: Path, depth: int, most: int
) -> None:
    labels = ["step_1", "step_1_1", "step_1_1_1"][:depth]
    many = planned(*(f"do part {number}" for number in range(most + 1)))
    few = planned("do it in one go")
    team = Team(
        {
            "code": answers(**{key: ["blocked"] for key in labels}),
            "subplan": [*[few] * (depth - 1), many],
            "revise_plan": few,
        }
    )
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, team.tasks.count("revise_plan")) == ("completed", 1)
    assert f"1 to {most} steps" in team.asked_to("revise_plan")[0].prompt


@pytest.mark.parametrize(("others", "status"), [(4, "completed"), (3, "partial")])
async def test_one_failed_step_that_nobody_needs_is_acceptable_among_five_and_not_among_four(
    store: Store, tmp_path: Path, others: int, status: str
) -> None:
    """Its coder is blocked all the way down."""
    rest = [f"write part {number}" for number in range(2, others + 2)]
    down = [f"step_{others + 1}{'_1' * depth}" for depth in range(4)]
    coder = answers(**{key: ["blocked"] for key in down})
    team = Team({"plan": planned(*rest, "do what cannot be done"), "code": coder})
    made = await make(store, team, repository(tmp_path / "project"), max_iterations=1)
    assert (made.status, made.error) == (status, "")
    assert steps_of(made)[f"step-{others + 1}"]["status"] == "failed"


async def test_escalation_rises_at_each_threshold_and_abort_ends_the_run(
    store: Store, tmp_path: Path
) -> None:
    team = Team({"verify_step": scored(59, "it does not do what it should", verified=False)})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, made.output["state"]["status"], made.exit_code) == ("failed", "aborted", 1)
    assert made.error.startswith("The supervisor ended the run: 5 issues in a row")
    levels = [
        (escalation["before"], escalation["level"], escalation["issues"])
        for escalation in made.output["escalations"]
    ]
    assert levels == [
        ("NONE", "REMIND", 1),
        ("REMIND", "CORRECT", 2),
        ("CORRECT", "REFOCUS", 3),
        ("REFOCUS", "CRITICAL", 4),
        ("CRITICAL", "ABORT", 5),
    ]
    log = await RunEvents.of(store, made.run_id)
    escalated = log.of_type("message", type="ESCALATION")
    assert [escalation["payload"]["level"] for escalation in escalated] == [
        escalation[1] for escalation in levels
    ]
    corrected = log.of_type("message", type="CORRECTION")
    assert [(escalation["payload"]["level"], escalation["to"]) for escalation in corrected] == [
        ("REMIND", "coder"),
        ("CORRECT", "coder"),
        ("REFOCUS", "coder"),
        ("CRITICAL", "coder"),
    ]
    assert log.messages()[-1] == "ABORT"
    assert log.of_type("message", type="ABORT")[0]["to"] == "all"
    assert "guidance" not in team.asked_to("code")[0].prompt
    prompts = [call.prompt for call in team.asked_to("fix")]
    assert ["(REMIND)" in prompts[0], "(CORRECT)" in prompts[1], "(REFOCUS)" in prompts[2]] == [True] * 3
    assert "(CRITICAL)" in team.asked_to("code")[1].prompt
    assert "(" not in "".join(call.prompt.partition("guidance (")[2] for call in team.asked_to("test_review"))


async def test_a_code_score_of_65_passes_and_resets_the_count_without_a_reminder(
    store: Store, tmp_path: Path
) -> None:
    verdicts = [scored(90, "wrong", code_score=59), scored(90, "name it better", code_score=65), scored(90)]
    team = Team({"verify_step": verdicts})
    made = await make(store, team, repository(tmp_path / "project"))
    assert made.status == "completed"
    code = [one for one in made.output["gates"] if one["gate"] == "code"]
    assert [(one["passed"], one["score"], one["level"]) for one in code[:2]] == [
        (False, 59, "REMIND"),
        (True, 65, "REMIND"),
    ]
    assert "(REMIND)" in team.asked_to("fix")[0].prompt, "after a gate that failed"
    assert "(REMIND)" not in team.asked_to("code")[1].prompt, "not after one that passed"
    log = await RunEvents.of(store, made.run_id)
    assert log.of_type("verified", gate="code")[1]["issues"] == 0


async def test_a_rejected_review_of_the_tester_leaves_the_bare_result(store: Store, tmp_path: Path) -> None:
    critical = {"summary": "bad", "findings": [{"severity": "critical", "description": "loses data"}]}
    team = Team({"test_review": critical, "verify_step": scored(90, "not true", review_score=20)})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["testResults"]["findings"]) == ("completed", [])


async def test_a_critical_finding_fails_the_step_although_tests_pass_and_dies_when_it_is_fixed(
    store: Store, tmp_path: Path
) -> None:
    finding = {"severity": "Critical", "description": "loses data", "suggestion": "keep it"}
    fine: dict[str, Any] = {"summary": "fine", "findings": []}
    team = Team({"test_review": [{"summary": "bad", "findings": [finding]}, fine]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 1)
    assert team.tasks[2:8] == ["code", "test_review", "verify_step", "fix", "test_review", "verify_step"]
    prompt = team.asked_to("fix")[0].prompt
    assert "loses data" in prompt
    assert "keep it" in prompt, "the tester's suggestion reaches the coder"
    gate = next(one for one in made.output["gates"] if one["gate"] == "step" and not one["passed"])
    assert (gate["by"], gate["problems"]) == ("supervisor", ["critical finding of the tester: loses data"])
    assert steps_of(made)["step-1"]["testResults"]["findings"] == []


async def test_a_critical_security_finding_of_the_supervisor_closes_the_code_gate_whatever_the_score(
    store: Store, tmp_path: Path
) -> None:
    open_door = {**scored(95), "critical_security": ["anybody can run SQL"]}
    team = Team({"verify_step": [open_door, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 1)
    gate = next(one for one in made.output["gates"] if not one["passed"])
    assert (gate["gate"], gate["by"], gate["score"]) == ("code", "supervisor", 95)
    assert gate["problems"] == ["critical security finding: anybody can run SQL"]
    assert "anybody can run SQL" in team.asked_to("fix")[0].prompt
    log = await RunEvents.of(store, made.run_id)
    assert log.of_type("verified", gate="code")[0]["issues"] == 1


@pytest.mark.parametrize("recommendation", ["replan", "abort"])
async def test_a_recommendation_closes_the_gate_whatever_the_score(
    store: Store, tmp_path: Path, recommendation: str
) -> None:
    team = Team({"verify_step": [scored(95, "another way", recommendation=recommendation), None]})
    made = await make(store, team, repository(tmp_path / "project"))
    if recommendation == "replan":
        assert (made.status, steps_of(made)["step-1"]["status"]) == ("completed", "completed")
        assert "another way" in team.asked_to("subplan")[0].prompt
    else:
        assert (made.status, made.output["state"]["status"]) == ("failed", "aborted")
        assert "another way" in made.error


async def test_the_supervisor_knows_the_thresholds(store: Store, tmp_path: Path) -> None:
    team = Team()
    await make(store, team, repository(tmp_path / "project"))
    assert "It passes with 70.0 or more" in team.asked_to("verify_plan")[0].prompt
    step = team.asked_to("verify_step")[0].prompt
    assert all(f"It passes with {threshold}" in step for threshold in ("60.0", "70.0"))
    assert "80.0 or more" in team.asked_to("verify_goal")[0].prompt


async def test_a_small_goal_is_one_step_whose_verdict_is_that_of_the_goal(
    store: Store, tmp_path: Path
) -> None:
    team = Team({"plan": planned(step("write the answer down", complexity="simple"))})
    made = await make(store, team, repository(tmp_path / "project"))
    assert made.status == "completed"
    assert team.tasks == ["plan", "verify_plan", "code", "test_review", "verify_step"]
    assert [one["gate"] for one in made.output["gates"]] == ["plan", "code", "test", "step", "goal"]


async def test_a_small_goal_that_is_not_met_is_planned_again(store: Store, tmp_path: Path) -> None:
    small = planned(step("write the answer down", complexity="simple"))
    short = scored(90, goal_score=60, goal_met=False, missing=["a greeting"])
    team = Team({"plan": small, "verify_step": [short, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, team.tasks.count("plan")) == ("completed", 2)
    assert "a greeting" in team.asked_to("plan")[1].prompt


async def test_a_plan_is_revised_three_times_and_then_the_run_fails(store: Store, tmp_path: Path) -> None:
    team = Team({"verify_plan": scored(69, "step 2 is too vague")})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, made.output["state"]["status"]) == ("failed", "failed")
    assert "No plan was approved after 3 revisions: step 2 is too vague" in made.error
    assert team.tasks == ["plan", *["verify_plan", "revise_plan"] * 3, "verify_plan"]
    assert "step 2 is too vague" in team.asked_to("revise_plan")[0].prompt
    log = await RunEvents.of(store, made.run_id)
    assert log.messages().count("PLAN_REQUEST") == 4
    assert "REPLAN_REQUEST" not in log.messages()


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (planned(step("write it all at once", complexity="complex")), "2 to 15 steps"),
        (planned("find out where the answer is", step("write it down", 1)), "does not say what to change"),
        (planned(step("first this", 2), step("then that", 1)), "in a circle"),
        (planned("first this", step("then that", 9)), "not in the plan"),
    ],
)
async def test_rules_close_the_plan_gate_without_asking_the_supervisor(
    store: Store, tmp_path: Path, plan: dict[str, Any], said: str
) -> None:
    team = Team({"plan": plan})
    made = await make(store, team, repository(tmp_path / "project"))
    assert made.status == "completed"
    assert team.tasks[:3] == ["plan", "revise_plan", "verify_plan"]
    assert said in team.asked_to("revise_plan")[0].prompt
    assert made.output["escalations"] == []
