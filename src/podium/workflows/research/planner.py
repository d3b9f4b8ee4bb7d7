"""The planner and the strategy at work: a model judges the topic, rules make the plan, rules make it fit."""

from __future__ import annotations

import msgspec

from podium.errors import StepFailedError
from podium.workflows.research import events
from podium.workflows.research.complexity import estimate_complexity
from podium.workflows.research.contracts import Assessment, Plan
from podium.workflows.research.estimate import useful_in
from podium.workflows.research.planning import Limits, first_plan, next_plan
from podium.workflows.research.roles import PLANNER
from podium.workflows.research.strategy import optimize
from podium.workflows.research.study import Study


class Left(msgspec.Struct, frozen=True):
    """What is left of the ceilings, as it was when the plan was made."""

    usd: float
    seconds: float


async def draw_plan(study: Study) -> None:
    """The first plan follows from the brief; a later one answers what the supervisor found wanting."""
    useful = useful_in(study.brief)
    if study.plan is None:
        study.assessment = await _assess(study)
        limits = await _limits(study)
        study.plan = first_plan(study.brief, study.assessment.complexity, useful, limits)
        study.kept = set()
    else:
        done = {worker for worker, made in study.made.items() if not made.fallback}
        study.plan, study.kept, deeper = next_plan(study.plan, study.issues, done, useful, study.iteration)
        study.deeper += deeper
    study.run.emit(
        events.PlanCreated(
            iteration=study.iteration, plan=study.plan.shown(), answers=list(study.feedback),
            kept=sorted(study.kept),
        )
    )  # fmt: skip


async def optimize_plan(study: Study) -> Plan:
    """As much side by side as can be, within what is left of money and time."""
    if study.plan is None:
        raise AssertionError("there is no plan to optimize")
    found = optimize(study.plan, await _limits(study), study.kept)
    study.plan = found.plan
    study.run.emit(
        events.PlanOptimized(
            iteration=study.iteration, plan=found.plan.shown(), removed=found.removed,
            cheaper=found.plan.cheaper, changes=found.changes, time_saved=found.time_saved,
            cost_saved=found.cost_saved,
        )
    )  # fmt: skip
    return found.plan


async def _assess(study: Study) -> Assessment:
    """How complex the topic is. If nobody can tell, the rules do."""
    brief = study.brief
    try:
        return await study.run.ask(
            PLANNER, "assess", returns=Assessment, topic=brief.topic, length=brief.length,
            content_type=brief.content_type.replace("_", " "), tone=brief.tone, depth=brief.depth,
            min_sources=brief.min_sources,
        )  # fmt: skip
    except StepFailedError as error:
        study.warn(f"The planner could not judge the topic, so rules did: {error.reason}")
        complexity = estimate_complexity(brief)
        return Assessment(complexity=complexity, aspects=[brief.topic], queries=[brief.topic])


async def _limits(study: Study) -> Limits:
    """Recorded, so that a resumed run makes the same plan whatever it has spent since."""

    async def read() -> Left:
        run, brief = study.run, study.brief
        usd = brief.max_usd if run.budget.usd is None else run.budget.usd
        seconds = brief.time_limit if run.budget.seconds is None else run.budget.seconds
        return Left(max(usd - run.spent.usd, 0.0), max(seconds - run.driven_s, 0.0))

    left = await study.run.step("limits", read, returns=Left)
    return Limits(left.usd, left.seconds)
