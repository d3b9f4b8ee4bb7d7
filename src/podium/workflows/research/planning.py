"""The planner's rules: who works, in which steps, and what that is expected to take. All of it is pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from podium.workflows.research.contracts import Brief, Mode, Plan, PlanStep
from podium.workflows.research.policy import (
    ANSWERS,
    CATEGORIES,
    FEWEST,
    NEEDING,
    SEARCHES,
    WORKERS,
    by_priority,
    choose,
    cost_of,
    level_of,
    needs,
    redone,
    required_workers,
    seconds_of,
    wanted_count,
)


class Limits(NamedTuple):
    """What a plan may take: money and seconds that are left."""

    usd: float
    seconds: float

    def hold(self, usd: float, seconds: float) -> bool:
        return usd <= self.usd + 1e-9 and seconds <= self.seconds + 1e-9

    def helps(self, before: tuple[float, float], after: tuple[float, float]) -> bool:
        """Whether a change makes less of what is too much."""
        dear, long = before[0] > self.usd + 1e-9, before[1] > self.seconds + 1e-9
        return (dear and after[0] < before[0]) or (long and after[1] < before[1])


def first_plan(brief: Brief, complexity: float, useful: Collection[str], limits: Limits) -> Plan:
    """The plan for a brief: as many workers as the topic needs and the limits allow."""
    required = required_workers(brief.tone, brief.min_sources, brief.preferred_sources)
    count = wanted_count(complexity, brief.depth)
    chosen = choose(count, {*required, "fact_checker"}, useful)
    notes = [
        f"{WORKERS[worker].label}: {why}, but no such source may be used."
        for worker, why in required.items()
        if worker not in chosen and worker in SEARCHES
    ]
    kept = _within(chosen, limits)
    if out := [one for one in chosen if one not in kept]:
        notes.append(f"Left out to keep to the limits of the brief: {', '.join(out)}.")
    reasons = {worker: required.get(worker, f"{level_of(complexity)} topic") for worker in kept}
    return make_plan(1, complexity, kept, reasons=reasons, notes=notes)


def next_plan(
    plan: Plan, issues: Sequence[str], done: Collection[str], useful: Collection[str], number: int
) -> tuple[Plan, set[str], bool]:
    """A plan that answers what the last one left wanting; whose work it keeps; whether the searches look
    further, because nobody could be added who finds more."""
    remedies = {issue: ANSWERS[issue] for issue in issues if issue in ANSWERS}
    adds: dict[str, str] = {}
    for issue, remedy in remedies.items():
        for worker in remedy.adds:
            if worker not in plan.workers and (worker not in NEEDING or worker in useful):
                adds.setdefault(worker, f"answers: {issue}")
    deeper = any(
        remedy.deepens and not {worker for worker in remedy.adds if worker in adds} & set(SEARCHES)
        for remedy in remedies.values()
    )
    again = {worker for remedy in remedies.values() for worker in remedy.redoes}
    again |= {worker for worker in plan.workers if deeper and worker in SEARCHES}
    workers = by_priority({*plan.workers, *adds})
    kept = set(workers) - redone(workers, done, again)
    reasons = {**plan.reasons, **adds}
    return make_plan(number, plan.complexity, workers, reasons=reasons), kept, deeper


def make_plan(
    number: int,
    complexity: float,
    workers: Sequence[str],
    *,
    reasons: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Plan:
    """Workers in steps of their categories: side by side where nobody waits for another."""
    steps = [step_of(group) for group in grouped(workers)]
    return with_estimates(
        Plan(
            plan_id=f"plan_{number:03d}", complexity=complexity, level=level_of(complexity), steps=steps,
            estimated_time=0, estimated_cost=0, reasons=dict(reasons or {}), notes=list(notes),
        )
    )  # fmt: skip


def grouped(workers: Iterable[str]) -> list[list[str]]:
    """Workers by category, each group in an order in which everybody has what it needs."""
    groups = [
        [one for one in by_priority(set(workers)) if WORKERS[one].category == kind] for kind in CATEGORIES
    ]
    return [ordered(group) for group in groups if group]


def ordered(workers: Sequence[str]) -> list[str]:
    return [worker for wave in waves(workers) for worker in wave]


def waves(workers: Sequence[str]) -> list[list[str]]:
    """The fewest groups such that nobody is in the same group as somebody whose work it needs."""
    left, found = list(workers), list[list[str]]()
    while left:
        wave = [one for one in left if not any(needs(one, other) for other in left if other != one)]
        found.append(wave)
        left = [one for one in left if one not in wave]
    return found


def step_of(workers: Sequence[str], mode: Mode | None = None) -> PlanStep:
    """A step of these workers: side by side if they are independent, or as it is told."""
    category = WORKERS[workers[0]].category
    chosen = mode or ("parallel" if len(workers) > 1 and len(waves(workers)) == 1 else "sequential")
    return PlanStep(
        name=category.capitalize(), category=category, workers=list(workers), mode=chosen,
        estimated_time=0, estimated_cost=0,
    )  # fmt: skip


def with_estimates(plan: Plan, kept: Collection[str] = ()) -> Plan:
    """The plan with its figures worked out anew; kept work takes nothing."""
    steps = [_estimated(step, plan.cheaper, kept) for step in plan.steps]
    return plan.model_copy(
        update={
            "steps": steps,
            "estimated_time": round(sum(step.estimated_time for step in steps), 3),
            "estimated_cost": round(sum(step.estimated_cost for step in steps), 6),
        }
    )


def _estimated(step: PlanStep, cheaper: Collection[str], kept: Collection[str]) -> PlanStep:
    working = [one for one in step.workers if one not in kept]
    seconds = [seconds_of(one, cheaper=one in cheaper) for one in working]
    cost = sum(cost_of(one, cheaper=one in cheaper) for one in working)
    together = max(seconds, default=0.0) if step.mode == "parallel" else sum(seconds)
    return step.model_copy(update={"estimated_time": together, "estimated_cost": round(cost, 6)})


def _within(chosen: Sequence[str], limits: Limits) -> list[str]:
    """Leave out whoever could not even be afforded with cheap models, the least important first; three stay:
    a search, the writer, and the fact checker."""
    kept = list(chosen)
    while len(kept) > FEWEST and not limits.hold(*_least(kept)):
        helping = (
            one
            for one in reversed(kept)
            if not _is_needed(one, kept)
            and limits.helps(_least(kept), _least([other for other in kept if other != one]))
        )
        out = next(helping, None)
        if out is None:
            break
        kept.remove(out)
    return kept


def _is_needed(worker: str, workers: Sequence[str]) -> bool:
    row = WORKERS[worker]
    if row.criticality == "critical" or worker == "fact_checker":
        return True
    if row.name in SEARCHES:
        return not [one for one in workers if one in SEARCHES and one != worker]
    return False


def _least(workers: Sequence[str]) -> tuple[float, float]:
    """What these workers take at least: fast models, and everybody as early as possible."""
    cost = sum(cost_of(one, cheaper=True) for one in workers)
    seconds = sum(
        max(seconds_of(one, cheaper=True) for one in wave)
        for group in grouped(workers)
        for wave in waves(group)
    )
    return cost, seconds
