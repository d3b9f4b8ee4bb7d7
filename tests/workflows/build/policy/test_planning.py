"""What a plan must look like, how often it may be revised, how deep it may go."""

from __future__ import annotations

import pytest

from podium.workflows.build.policy import (
    MAX_ITERATIONS,
    circle_of,
    may_iterate,
    may_revise,
    may_split,
    plan_problems,
)
from podium.workflows.build.state import Complexity, ExecutionPlan, PlanStep


def step(
    number: int, *needs: int, description: str = "write the parser", complexity: Complexity = "complex"
) -> PlanStep:
    needed = [f"step-{need}" for need in needs]
    return PlanStep(
        id=f"step-{number}",
        number=number,
        description=description,
        complexity=complexity,
        depends_on=needed,
    )


def plan(*steps: PlanStep, depth: int = 0) -> ExecutionPlan:
    return ExecutionPlan(id="plan-1", goal="a goal", analysis="", steps=list(steps), depth=depth)


def of_size(count: int, depth: int = 0) -> ExecutionPlan:
    return plan(*(step(number) for number in range(1, count + 1)), depth=depth)


@pytest.mark.parametrize(("count", "fits"), [(0, False), (1, False), (2, True), (15, True), (16, False)])
def test_a_plan_has_2_to_15_steps(count: int, fits: bool) -> None:
    assert (plan_problems(of_size(count)) == []) is fits


@pytest.mark.parametrize(("complexity", "fits"), [("simple", True), ("medium", True), ("complex", False)])
def test_one_step_is_a_plan_for_a_small_goal(complexity: Complexity, fits: bool) -> None:
    assert (plan_problems(plan(step(1, complexity=complexity))) == []) is fits


@pytest.mark.parametrize(
    ("description", "actionable"),
    [
        ("find out where the parser fails", False),
        ("Investigate the failing test", False),
        ("Analyse the module, then fix the parser", True),
        ("Review and correct the rounding", True),
        ("Locate the cause and add a test", True),
    ],
)
def test_to_find_something_out_is_not_a_step(description: str, actionable: bool) -> None:
    assert (plan_problems(plan(step(1), step(2, description=description))) == []) is actionable


def test_the_one_step_fallback_is_exempt() -> None:
    assert plan_problems(of_size(1), fallback=True) == []


@pytest.mark.parametrize(("depth", "most"), [(1, 5), (2, 3), (3, 2)])
def test_a_sub_plan_has_at_most_5_3_or_2_steps(depth: int, most: int) -> None:
    assert plan_problems(of_size(1, depth)) == []
    assert plan_problems(of_size(most, depth)) == []
    assert plan_problems(of_size(most + 1, depth)) != []
    assert plan_problems(of_size(0, depth)) != []


@pytest.mark.parametrize("description", ["", "   ", "everything"])
def test_a_step_that_says_nothing_is_not_actionable(description: str) -> None:
    problems = plan_problems(plan(step(1), step(2, description=description)))
    assert len(problems) == 1
    assert problems[0].startswith("step 2 does not say what to change")


def test_a_dependency_that_is_not_in_the_plan_cannot_be_satisfied() -> None:
    assert plan_problems(plan(step(1), step(2, 7))) == ["step 2 depends on step-7, which is not in the plan"]


def test_steps_may_depend_on_later_ones_but_not_in_a_circle() -> None:
    assert plan_problems(plan(step(1, 2), step(2))) == []
    assert circle_of([step(1), step(2, 4), step(3, 2), step(4, 3)]) == ["2", "3", "4"]
    assert "circle" in plan_problems(plan(step(1, 2), step(2, 1)))[0]
    assert "circle" in plan_problems(plan(step(1, 1), step(2)))[0]


def test_three_revisions_and_no_more() -> None:
    assert [may_revise(number) for number in range(5)] == [True, True, True, False, False]


def test_steps_may_be_split_down_to_depth_3_and_never_to_4() -> None:
    assert [may_split(depth) for depth in range(5)] == [True, True, True, False, False]


def test_three_iterations_by_default_and_0_means_until_time_expires() -> None:
    assert MAX_ITERATIONS == 3
    assert [may_iterate(number, 3) for number in (1, 2, 3)] == [True, True, False]
    assert not may_iterate(1, 1)
    assert may_iterate(1000, 0)
