"""The whole ladder: fix cycles, attempts, sub-plans, failed steps, escalation up to the end of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from tests.workflows.build.team import (
    Team,
    Told,
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
    assert team.tasks[2:13] == [
        "code", "verify_code", "test_review", "verify_test",
        "fix_plan", "fix", "verify_code", "fix_plan", "fix", "verify_code", "verify_step",
    ]  # fmt: skip
    told = await Told.of(store, made.run_id)
    runs = told.of_type("tests_run", step_id="step-1")
    found = [(one["cycle"], one["result"]["ok"]) for one in runs]
    assert found == [(0, False), (0, False), (1, False), (2, True)]
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
        ("step-1", "completed", 0), ("step-1.1", "completed", 1), ("step-2", "completed", 0),
    ]  # fmt: skip
    assert steps["step-1"]["attempts"] == 3
    assert steps["step-1.1"]["parentStepId"] == "step-1"
    assert team.tasks.count("fix") == 9
    told = await Told.of(store, made.run_id)
    assert told.statuses("step-1") == ["in_progress", "blocked", "completed"]
    blocked = told.of_type("message", type="STEP_BLOCKED")
    assert [one["payload"]["final"] for one in blocked] == [False]
    kinds = told.messages()
    assert kinds[kinds.index("STEP_BLOCKED") :][:3] == ["STEP_BLOCKED", "REPLAN_REQUEST", "SUBPLAN_RESPONSE"]
    subplan = told.of_type("plan_created", step_id="step-1", approved=True)[0]["plan"]
    assert (subplan["depth"], subplan["parentPlanId"]) == (1, "plan-1")
    assert "attempt 3" in team.asked_to("subplan")[0].prompt


async def test_sub_plans_go_three_deep_and_a_fourth_is_refused(store: Store, tmp_path: Path) -> None:
    blocked = {key: ["blocked"] for key in ("step_1", "step_1_1", "step_1_1_1", "step_1_1_1_1")}
    team = Team({
        "plan": planned(
            "write the answer", step("build on it", 1), step("and on that", 2), "write something else"
        ),
        "code": answers(**blocked),
    })  # fmt: skip
    made = await make(store, team, repository(tmp_path / "project"), max_iterations=1)
    steps = steps_of(made)
    assert {key: one["status"] for key, one in steps.items()} == {
        "step-1": "failed", "step-1.1": "failed", "step-1.1.1": "failed", "step-1.1.1.1": "failed",
        "step-2": "blocked", "step-3": "blocked", "step-4": "completed",
    }  # fmt: skip
    assert "no sub-plans below depth 3" in steps["step-1.1.1.1"]["failReason"]
    assert steps["step-2"]["failReason"] == steps["step-3"]["failReason"] == "needs step 1, which failed"
    assert [one["depth"] for one in steps.values()][:4] == [0, 1, 2, 3]
    assert (made.status, team.tasks.count("subplan")) == ("partial", 3)
    told = await Told.of(store, made.run_id)
    finals = [one for one in told.of_type("message", type="STEP_BLOCKED") if one["payload"]["final"]]
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
    team = Team({
        "code": answers(**{key: ["blocked"] for key in labels}),
        "subplan": [*[few] * (depth - 1), many], "revise_plan": few,
    })  # fmt: skip
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
    rejected = scored(59, "it does not do what it should", verified=False)
    team = Team(
        {"verify_code": rejected, "verify_plan": [scored(90), scored(60, "too vague"), scored(60, "still")]}
    )
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, made.output["state"]["status"], made.exit_code) == ("failed", "aborted", 1)
    assert made.error.startswith("The supervisor ended the run: 5 issues in a row")
    levels = [(one["before"], one["level"], one["issues"]) for one in made.output["escalations"]]
    assert levels == [
        ("NONE", "REMIND", 1), ("REMIND", "CORRECT", 2), ("CORRECT", "REFOCUS", 3),
        ("REFOCUS", "CRITICAL", 4), ("CRITICAL", "ABORT", 5),
    ]  # fmt: skip
    told = await Told.of(store, made.run_id)
    escalated = told.of_type("message", type="ESCALATION")
    assert [one["payload"]["level"] for one in escalated] == [one[1] for one in levels]
    corrected = told.of_type("message", type="CORRECTION")
    assert [(one["payload"]["level"], one["to"]) for one in corrected] == [
        ("REMIND", "coder"), ("CORRECT", "coder"), ("REFOCUS", "coder"), ("CRITICAL", "planner"),
    ]  # fmt: skip
    assert told.messages()[-1] == "ABORT"
    assert told.of_type("message", type="ABORT")[0]["to"] == "all"
    prompts = [call.prompt for call in team.asked_to("code")]
    assert "guidance" not in prompts[0]
    assert "(REMIND)" in prompts[1]
    assert "(CORRECT)" in prompts[2]
    assert "(REFOCUS)" in team.asked_to("subplan")[0].prompt
    assert "(CRITICAL)" in team.asked_to("revise_plan")[0].prompt


async def test_a_code_score_of_65_passes_resets_the_count_and_reminds(store: Store, tmp_path: Path) -> None:
    team = Team(
        {"verify_code": [scored(59, "wrong", verified=False), scored(65, "name it better"), scored(90)]}
    )
    made = await make(store, team, repository(tmp_path / "project"))
    assert made.status == "completed"
    code = [one for one in made.output["gates"] if one["gate"] == "code"]
    assert [(one["passed"], one["score"], one["level"]) for one in code[:2]] == [
        (False, 59, "REMIND"),
        (True, 65, "REMIND"),
    ]
    assert "name it better" in team.asked_to("test_review")[0].prompt
    assert "(REMIND)" in team.asked_to("test_review")[0].prompt
    told = await Told.of(store, made.run_id)
    assert told.of_type("verified", gate="code")[1]["issues"] == 0


async def test_a_rejected_review_of_the_tester_leaves_the_bare_result(store: Store, tmp_path: Path) -> None:
    critical = {"summary": "bad", "findings": [{"severity": "critical", "description": "loses data"}]}
    team = Team({"test_review": critical, "verify_test": scored(20, "not true", verified=False)})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["testResults"]["findings"]) == ("completed", [])


async def test_a_critical_finding_of_the_tester_fails_the_step_although_tests_pass(
    store: Store, tmp_path: Path
) -> None:
    critical = {"summary": "bad", "findings": [{"severity": "Critical", "description": "loses data"}]}
    fine: dict[str, Any] = {"summary": "fine", "findings": []}
    team = Team({"test_review": [critical, fine]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 2)
    assert "loses data" in team.asked_to("code")[1].prompt
    gate = next(one for one in made.output["gates"] if one["gate"] == "step" and not one["passed"])
    assert (gate["by"], gate["problems"]) == ("rule", ["critical finding of the tester: loses data"])


async def test_a_critical_finding_is_not_forgotten_when_a_fix_makes_the_tests_pass(
    store: Store, tmp_path: Path
) -> None:
    critical = {"summary": "bad", "findings": [{"severity": "critical", "description": "loses data"}]}
    fine: dict[str, Any] = {"summary": "fine", "findings": []}
    team = Team({"test_review": [critical, fine], "code": [coded("wrong"), None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 2)
    gate = next(one for one in made.output["gates"] if one["gate"] == "step" and not one["passed"])
    assert gate["problems"] == ["critical finding of the tester: loses data"]


async def test_a_critical_security_finding_of_the_supervisor_closes_the_code_gate_whatever_the_score(
    store: Store, tmp_path: Path
) -> None:
    open_door = {**scored(95), "critical_security": ["anybody can run SQL"]}
    team = Team({"verify_code": [open_door, None]})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, steps_of(made)["step-1"]["attempts"]) == ("completed", 2)
    gate = next(one for one in made.output["gates"] if not one["passed"])
    assert (gate["gate"], gate["by"], gate["score"]) == ("code", "supervisor", 95)
    assert gate["problems"] == ["critical security finding: anybody can run SQL"]
    assert "anybody can run SQL" in team.asked_to("code")[1].prompt
    told = await Told.of(store, made.run_id)
    assert told.of_type("verified", gate="code")[0]["issues"] == 1


async def test_a_plan_is_revised_three_times_and_then_the_run_fails(store: Store, tmp_path: Path) -> None:
    team = Team({"verify_plan": scored(69, "step 2 is too vague")})
    made = await make(store, team, repository(tmp_path / "project"))
    assert (made.status, made.output["state"]["status"]) == ("failed", "failed")
    assert "No plan was approved after 3 revisions: step 2 is too vague" in made.error
    assert team.tasks == ["plan", *["verify_plan", "revise_plan"] * 3, "verify_plan"]
    assert "step 2 is too vague" in team.asked_to("revise_plan")[0].prompt
    told = await Told.of(store, made.run_id)
    assert told.messages().count("PLAN_REQUEST") == 4
    assert "REPLAN_REQUEST" not in told.messages()


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (planned("only one step"), "2 to 15 steps"),
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
