"""The gates: their numbers, and the rules that no score makes up for."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from podium.workflows.build.agents import AGENTS
from podium.workflows.build.contracts import Verification
from podium.workflows.build.policy import (
    FALLBACKS,
    THRESHOLDS,
    TRIES,
    Gate,
    code_problems,
    critical_problems,
    goal_problems,
    newly_fixed,
    passes,
    step_problems,
    still_red,
    wait_after,
)


@pytest.mark.parametrize(
    ("gate", "least"), [("plan", 70), ("code", 60), ("test", 60), ("step", 70), ("goal", 80)]
)
def test_the_least_score_of_each_gate(gate: Gate, least: float) -> None:
    assert THRESHOLDS[gate] == least
    assert passes(gate, least, verified=True)
    assert not passes(gate, least - 0.01, verified=True)


def test_a_score_without_the_supervisors_word_or_with_a_broken_rule_opens_nothing() -> None:
    assert not passes("plan", 100, verified=False)
    assert not passes("code", 100, verified=True, problems=["no tests"])


def test_code_needs_tests_no_critical_security_finding_and_no_trick() -> None:
    assert code_problems(has_tests=True, security=[], caught=[]) == []
    assert code_problems(has_tests=False, security=[], caught=[]) == ["the change comes without tests"]
    problems = code_problems(has_tests=True, security=["a private key in a.py"], caught=["deletes a test"])
    assert problems == ["critical security finding: a private key in a.py", "deletes a test"]


def test_a_red_test_that_turns_green_is_the_test_of_a_change() -> None:
    assert code_problems(has_tests=False, fixed=["test_a"]) == []


def test_a_test_that_was_edited_or_fixed_before_proves_nothing() -> None:
    fixed = ["tests/test_a.py::TestB::test_one[1]", "tests/test_a.py::test_two", "a.test.js > adds"]
    assert newly_fixed(fixed, {"tests/test_a.py::test_two"}, {"test_one"}) == ["a.test.js > adds"]


def test_a_test_that_ran_before_must_still_run() -> None:
    problems = code_problems(has_tests=True, missing=["test_a", "test_b"], skipped=["test_c"])
    assert problems == [
        "2 tests ran before and do not run any more: test_a, test_b",
        "1 tests ran before and are skipped now: test_c",
    ]


def test_a_step_needs_passing_tests_evidence_and_no_critical_finding() -> None:
    assert step_problems(tests_pass=True, evidence="12 tests") == []
    assert len(step_problems(tests_pass=False, evidence=" ")) == 2
    assert critical_problems(["loses data"]) == ["critical finding of the tester: loses data"]


def test_tests_that_a_plan_wants_to_pass_are_known_by_their_whole_name_or_its_end() -> None:
    failing = ["tests/test_a.py::test_one", "tests/test_a.py::test_two"]
    assert still_red(["test_two", "", "test_three"], failing) == ["tests/test_a.py::test_two"]
    problems = goal_problems(steps_acceptable=True, suite_passes=True, still_failing=["test_two"])
    assert problems == ["test_two must pass, and still fails"]


def test_a_goal_needs_its_steps_and_the_whole_suite() -> None:
    assert goal_problems(steps_acceptable=True, suite_passes=True) == []
    assert len(goal_problems(steps_acceptable=False, suite_passes=False)) == 2


def test_planner_and_coder_get_a_powerful_model_tester_and_supervisor_a_balanced_one() -> None:
    assert {role: agent.profile for role, agent in AGENTS.items()} == {
        "planner": "powerful",
        "coder": "powerful",
        "tester": "balanced",
        "supervisor": "balanced",
    }


@pytest.mark.parametrize("score", [-1, 100.5, 1000])
def test_a_score_is_from_0_to_100(score: float) -> None:
    with pytest.raises(ValidationError):
        Verification.model_validate({"verified": True, "score": score})
    assert Verification.model_validate({"verified": True, "score": 100}).recommendation == "continue"


def test_three_tries_with_backoff_and_a_fallback_for_everybody() -> None:
    assert TRIES == 3
    assert [wait_after(1), wait_after(2)] == [1.0, 2.0]
    assert set(FALLBACKS) == {"planner", "coder", "tester", "supervisor"}
