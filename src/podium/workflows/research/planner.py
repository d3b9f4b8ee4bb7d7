"""Planning step and cost estimate of `research`."""

from __future__ import annotations

from typing import Any

from podium.engine.workflow import Estimate
from podium.errors import StepFailedError
from podium.report.words import count, duration
from podium.workflows.research import events
from podium.workflows.research.agents import PLANNER
from podium.workflows.research.brief import read_brief
from podium.workflows.research.context import Study
from podium.workflows.research.contracts import Assessment, Brief, Plan
from podium.workflows.research.plan_rules import (
    Optimized,
    PlanLimits,
    estimate_complexity,
    first_plan,
    next_plan,
    optimize,
)
from podium.workflows.research.policy import SEARCH_OF, SEARCHES

BESIDES = "A direct draft, an editor's pass and two comparisons cost extra (--no-floor, --no-editor)."
NOTE = "The complexity is judged by rules here; in a run the planner's model judges it."


def estimate(request: Any, options: dict[str, Any]) -> Estimate:
    """Return the plan that a run would start with."""
    brief, places = read_brief(request, options)
    limits = PlanLimits(brief.max_usd, brief.time_limit)
    plan = first_plan(brief, estimate_complexity(brief), useful_in(brief), limits)
    optimized = optimize(plan, limits)
    besides = BESIDES if places.get("floor", True) or places.get("editor", True) else ""
    return Estimate(data=_data(brief, optimized, besides), lines=_lines(brief, optimized, besides))


def useful_in(brief: Brief) -> list[str]:
    """Return the workers of `NEEDING` that have something to do. A corpus serves every search except the
    social one, and its documents are read whole at once; web pages need the scraper."""
    online = [SEARCH_OF[kind] for kind in brief.sources if kind in SEARCH_OF]
    local = [worker for worker in SEARCHES if worker != "social_media"] if "corpus" in brief.sources else []
    return list(dict.fromkeys([*local, *online, *(["web_scraper"] if online else [])]))


def _data(brief: Brief, optimized: Optimized, besides: str) -> dict[str, Any]:
    return {
        "workflow": "research",
        "brief": brief.shown(),
        "plan": optimized.plan.shown(),
        "estimated_time_s": optimized.plan.estimated_time,
        "estimated_cost_usd": optimized.plan.estimated_cost,
        "optimization": {
            "removed": optimized.removed,
            "cheaper": optimized.plan.cheaper,
            "changes": optimized.changes,
            "time_saved_s": optimized.time_saved,
            "cost_saved_usd": optimized.cost_saved,
        },
        "note": f"{besides} {NOTE}".strip(),
    }


def _lines(brief: Brief, optimized: Optimized, besides: str) -> list[str]:
    plan = optimized.plan
    most = max(len(step.name) for step in plan.steps)
    lines = [
        f"{brief.topic}",
        f"{plan.level} topic (complexity {plan.complexity:.2f}), {count(len(plan.workers), 'worker')} in "
        f"{count(len(plan.steps), 'step')}",
        "",
        *(
            f"{nth}. {step.name.ljust(most)}  {step.mode.ljust(10)}  "
            f"{duration(step.estimated_time).rjust(7)}  ${step.estimated_cost:.2f}  {', '.join(step.workers)}"
            for nth, step in enumerate(plan.steps, 1)
        ),
        "",
        f"time  {duration(plan.estimated_time)} of {duration(brief.time_limit)}",
        f"cost  ${plan.estimated_cost:.2f} of ${brief.max_usd:.2f}",
    ]
    lines += [f"      {line}" for line in [*plan.notes, *optimized.changes]]
    lines += ["", besides] if besides else []
    return [*lines, "", f"An estimate: nothing was run. {NOTE}"]


def total(plan: Plan) -> str:
    """Return `17m 00s, $2.40`, for questions and lines."""
    return f"{duration(plan.estimated_time)}, ${plan.estimated_cost:.2f}"


async def draw_plan(study: Study) -> None:
    """Create the first plan from the brief, or a later one that addresses the supervisor's issues."""
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
            iteration=study.iteration,
            plan=study.plan.shown(),
            answers=list(study.feedback),
            kept=sorted(study.kept),
        )
    )


async def optimize_plan(study: Study) -> Plan:
    """Optimize the plan: maximum parallelism within the remaining money and time."""
    if study.plan is None:
        raise AssertionError("there is no plan to optimize")
    optimized = optimize(study.plan, await _limits(study), study.kept)
    study.plan = optimized.plan
    study.run.emit(
        events.PlanOptimized(
            iteration=study.iteration,
            plan=optimized.plan.shown(),
            removed=optimized.removed,
            cheaper=optimized.plan.cheaper,
            changes=optimized.changes,
            time_saved=optimized.time_saved,
            cost_saved=optimized.cost_saved,
        )
    )
    return optimized.plan


async def _assess(study: Study) -> Assessment:
    """Ask the planner for the complexity of the topic. If it fails, rules decide."""
    brief = study.brief
    try:
        return await study.run.ask(
            PLANNER,
            "assess",
            returns=Assessment,
            topic=brief.topic,
            length=brief.length,
            content_type=brief.content_type.replace("_", " "),
            tone=brief.tone,
            depth=brief.depth,
            min_sources=brief.min_sources,
        )
    except StepFailedError as error:
        study.warn(f"The planner could not judge the topic, so rules did: {error.reason}")
        complexity = estimate_complexity(brief)
        return Assessment(complexity=complexity, aspects=[brief.topic], queries=[brief.topic])


async def _limits(study: Study) -> PlanLimits:
    """Return the remaining limits. Recorded, so that a resumed run makes the same plan whatever it has spent
    since."""

    async def read() -> PlanLimits:
        run, brief = study.run, study.brief
        usd = brief.max_usd if run.budget.usd is None else run.budget.usd
        seconds = brief.time_limit if run.budget.seconds is None else run.budget.seconds
        return PlanLimits(max(usd - run.spent.usd, 0.0), max(seconds - run.driven_s, 0.0))

    return await study.run.step("limits", read, returns=PlanLimits)
