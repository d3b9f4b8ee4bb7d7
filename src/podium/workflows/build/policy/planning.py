"""What a plan must look like, before anybody is asked what they think of it."""

from __future__ import annotations

from collections.abc import Sequence

from podium.workflows.build.state import ExecutionPlan, PlanStep

LEAST_STEPS, MOST_STEPS = 2, 15
MAX_REVISIONS = 3
"""A plan that is still not approved after so many ends the run."""
MAX_DEPTH = 3
SUBPLAN_STEPS = {1: 5, 2: 3, 3: 2}
"""The most steps of a sub-plan, by its depth."""
MAX_ITERATIONS = 3
"""How often a plan is made when `--max-iterations` says nothing; 0: until time expires."""
LEAST_WORDS = 2
"""A description of fewer words says nothing that anybody could do."""


def plan_problems(plan: ExecutionPlan, *, fallback: bool = False) -> list[str]:
    """The rule part of the plan gate. The one-step fallback and sub-plans are exempt from 2 to 15."""
    problems = size_problems(plan, fallback=fallback)
    problems += [
        f"step {step.number} says nothing that could be done"
        for step in plan.steps
        if not is_actionable(step)
    ]
    return problems + dependency_problems(plan.steps)


def size_problems(plan: ExecutionPlan, *, fallback: bool = False) -> list[str]:
    count = len(plan.steps)
    if fallback:
        return []
    if plan.depth == 0 and not LEAST_STEPS <= count <= MOST_STEPS:
        return [f"a plan has {LEAST_STEPS} to {MOST_STEPS} steps, this one has {count}"]
    if plan.depth and not 1 <= count <= SUBPLAN_STEPS[plan.depth]:
        most = SUBPLAN_STEPS[plan.depth]
        return [f"a sub-plan of depth {plan.depth} has 1 to {most} steps, this one has {count}"]
    return []


def is_actionable(step: PlanStep) -> bool:
    return len(step.description.split()) >= LEAST_WORDS


def dependency_problems(steps: Sequence[PlanStep]) -> list[str]:
    """Dependencies on steps that are not there, on oneself, and round in a circle."""
    known = {step.id for step in steps}
    problems = [
        f"step {step.number} depends on {needed}, which is not in the plan"
        for step in steps
        for needed in step.depends_on
        if needed not in known
    ]
    circle = circle_of(steps)
    return problems + ([f"steps {', '.join(circle)} depend on each other in a circle"] if circle else [])


def circle_of(steps: Sequence[PlanStep]) -> list[str]:
    """The numbers of steps that can never begin, because they wait for each other."""
    known = {step.id for step in steps}
    waiting = {step.id: {needed for needed in step.depends_on if needed in known} for step in steps}
    while free := [key for key, needs in waiting.items() if not needs]:
        for key in free:
            del waiting[key]
        for needs in waiting.values():
            needs.difference_update(free)
    return [str(step.number) for step in steps if step.id in waiting]


def may_revise(revisions: int) -> bool:
    return revisions < MAX_REVISIONS


def may_split(depth: int) -> bool:
    """Whether a step of a plan at this depth may get a sub-plan, which lies one deeper."""
    return depth < MAX_DEPTH


def may_iterate(iteration: int, most: int) -> bool:
    """Whether another plan is made after this iteration. Time may still forbid it."""
    return most == 0 or iteration < most
