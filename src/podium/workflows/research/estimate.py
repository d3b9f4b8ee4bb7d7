"""What a research run would take: the plan, its time and its cost, from rules alone. Nothing is started."""

from __future__ import annotations

from typing import Any

from podium.engine.workflow import Estimate
from podium.report.words import count, duration
from podium.workflows.research.brief import read_brief
from podium.workflows.research.complexity import estimate_complexity
from podium.workflows.research.contracts import Brief, Plan
from podium.workflows.research.planning import Limits, first_plan
from podium.workflows.research.policy import SEARCH_OF, SEARCHES
from podium.workflows.research.strategy import Optimized, optimize

BESIDES = "A direct draft, an editor's pass and two comparisons come on top (--no-floor, --no-editor)."
NOTE = "The complexity is judged by rules here; in a run the planner's model judges it."


def estimate(request: Any, options: dict[str, Any]) -> Estimate:
    """The plan that a run would begin with."""
    brief, places = read_brief(request, options)
    limits = Limits(brief.max_usd, brief.time_limit)
    plan = first_plan(brief, estimate_complexity(brief), useful_in(brief), limits)
    found = optimize(plan, limits)
    besides = BESIDES if places.get("floor", True) or places.get("editor", True) else ""
    return Estimate(data=_data(brief, found, besides), lines=_lines(brief, found, besides))


def useful_in(brief: Brief) -> list[str]:
    """Those of `NEEDING` that have something to do. A corpus stands behind every search but the social one,
    and its documents are read whole at once; pages of the web want somebody who reads them."""
    online = [SEARCH_OF[kind] for kind in brief.sources if kind in SEARCH_OF]
    local = [one for one in SEARCHES if one != "social_media"] if "corpus" in brief.sources else []
    return list(dict.fromkeys([*local, *online, *(["web_scraper"] if online else [])]))


def _data(brief: Brief, found: Optimized, besides: str) -> dict[str, Any]:
    return {
        "workflow": "research",
        "brief": brief.shown(),
        "plan": found.plan.shown(),
        "estimated_time_s": found.plan.estimated_time,
        "estimated_cost_usd": found.plan.estimated_cost,
        "optimization": {
            "removed": found.removed, "cheaper": found.plan.cheaper, "changes": found.changes,
            "time_saved_s": found.time_saved, "cost_saved_usd": found.cost_saved,
        },
        "note": f"{besides} {NOTE}".strip(),
    }  # fmt: skip


def _lines(brief: Brief, found: Optimized, besides: str) -> list[str]:
    plan = found.plan
    most = max(len(step.name) for step in plan.steps)
    told = [
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
    told += [f"      {line}" for line in [*plan.notes, *found.changes]]
    told += ["", besides] if besides else []
    return [*told, "", f"An estimate: nothing was run. {NOTE}"]


def total(plan: Plan) -> str:
    """`17m 00s, $2.40`, for questions and lines."""
    return f"{duration(plan.estimated_time)}, ${plan.estimated_cost:.2f}"
