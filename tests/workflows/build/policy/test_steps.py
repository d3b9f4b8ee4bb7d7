"""Attempts, fix cycles, the order of steps, and what a failed step means for the others."""

from __future__ import annotations

import pytest

from podium.workflows.build.policy import (
    are_done_or_acceptable,
    blocked_reason,
    doomed_by,
    may_attempt,
    may_fix,
    next_step,
)
from podium.workflows.build.state import PlanStep, StepStatus


def step(number: int, *needs: int, status: StepStatus = "pending") -> PlanStep:
    needed = [f"step-{need}" for need in needs]
    return PlanStep(id=f"step-{number}", number=number, description="do it", depends_on=needed, status=status)


def test_three_attempts_with_three_fix_cycles_each() -> None:
    assert [may_attempt(number) for number in range(4)] == [True, True, True, False]
    assert [may_fix(number) for number in range(4)] == [True, True, True, False]


def test_the_next_step_is_the_first_whose_dependencies_are_done() -> None:
    steps = [step(1, 2), step(2), step(3)]
    assert next_step(steps) is steps[1]
    steps[1].status = "completed"
    assert next_step(steps) is steps[0]
    steps[0].status = steps[2].status = "completed"
    assert next_step(steps) is None


def test_a_failed_step_dooms_those_that_need_it_also_through_others_and_nobody_else() -> None:
    steps = [step(1), step(2, 1), step(3), step(4, 2, 3), step(5, 3)]
    assert [one.number for one in doomed_by(steps[0], steps)] == [2, 4]
    assert blocked_reason(steps[0]) == "needs step 1, which failed"


@pytest.mark.parametrize(
    ("failed", "count", "acceptable"),
    [(0, 2, True), (1, 5, True), (1, 4, False), (2, 10, True), (3, 10, False), (3, 15, True), (4, 15, False)],
)
def test_at_most_a_fifth_of_the_steps_may_fail(failed: int, count: int, acceptable: bool) -> None:
    steps = [
        step(number, status="failed" if number <= failed else "completed") for number in range(1, count + 1)
    ]
    assert are_done_or_acceptable(steps) is acceptable


def test_a_failed_step_that_others_needed_is_never_acceptable() -> None:
    steps = [step(1, status="failed"), step(2, 1, status="completed")]
    steps += [step(number, status="completed") for number in range(3, 11)]
    assert not are_done_or_acceptable(steps)


@pytest.mark.parametrize("status", ["pending", "in_progress", "blocked"])
def test_a_step_that_was_not_done_is_not_acceptable(status: StepStatus) -> None:
    steps = [step(number, status="completed") for number in range(1, 10)]
    assert not are_done_or_acceptable([*steps, step(10, status=status)])
