"""Planning and optimization rules of `research` as pure functions.

Over a limit, optional workers are removed, the least important first; then workers get cheaper models, the
most expensive first. Critical workers and the last worker of a step are never removed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

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


class PlanLimits(msgspec.Struct, frozen=True):
    """Limits of a plan: the money and the seconds that are left."""

    usd: float
    seconds: float

    def hold(self, usd: float, seconds: float) -> bool:
        return usd <= self.usd + 1e-9 and seconds <= self.seconds + 1e-9

    def helps(self, before: tuple[float, float], after: tuple[float, float]) -> bool:
        """True if a change reduces a value that is over its limit."""
        dear, long = before[0] > self.usd + 1e-9, before[1] > self.seconds + 1e-9
        return (dear and after[0] < before[0]) or (long and after[1] < before[1])


def first_plan(brief: Brief, complexity: float, useful: Collection[str], limits: PlanLimits) -> Plan:
    """Return the plan for a brief: as many workers as the topic needs and the limits allow."""
    required = required_workers(brief.tone, brief.min_sources, brief.preferred_sources)
    count = wanted_count(complexity, brief.depth)
    chosen = choose(count, {*required, "fact_checker"}, useful)
    notes = [
        f"{WORKERS[worker].label}: {why}, but no such source may be used."
        for worker, why in required.items()
        if worker not in chosen and worker in SEARCHES
    ]
    affordable = _within(chosen, limits)
    if out := [name for name in chosen if name not in affordable]:
        notes.append(f"Left out to keep to the limits of the brief: {', '.join(out)}.")
    reasons = {worker: required.get(worker, f"{level_of(complexity)} topic") for worker in affordable}
    return make_plan(1, complexity, affordable, reasons=reasons, notes=notes)


def next_plan(
    plan: Plan, issues: Sequence[str], done: Collection[str], useful: Collection[str], number: int
) -> tuple[Plan, set[str], bool]:
    """Return a plan that addresses the issues of the last one, the workers whose results are kept, and
    whether the searches are extended because no further search worker could be added."""
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
    """Return a plan with the workers in steps by category, parallel if they are independent."""
    steps = [step_of(group) for group in grouped(workers)]
    return with_estimates(
        Plan(
            plan_id=f"plan_{number:03d}",
            complexity=complexity,
            level=level_of(complexity),
            steps=steps,
            estimated_time=0,
            estimated_cost=0,
            reasons=dict(reasons or {}),
            notes=list(notes),
        )
    )


def grouped(workers: Iterable[str]) -> list[list[str]]:
    """Group workers by category, each group ordered by dependencies."""
    groups = [
        [worker for worker in by_priority(set(workers)) if WORKERS[worker].category == kind]
        for kind in CATEGORIES
    ]
    return [ordered(group) for group in groups if group]


def ordered(workers: Sequence[str]) -> list[str]:
    return [worker for wave in waves(workers) for worker in wave]


def waves(workers: Sequence[str]) -> list[list[str]]:
    """Return the minimum number of groups in which no worker needs another one of the same group."""
    remaining, groups = list(workers), list[list[str]]()
    while remaining:
        wave = [
            worker
            for worker in remaining
            if not any(needs(worker, other) for other in remaining if other != worker)
        ]
        groups.append(wave)
        remaining = [worker for worker in remaining if worker not in wave]
    return groups


def step_of(workers: Sequence[str], mode: Mode | None = None) -> PlanStep:
    """Return a step of these workers: parallel if they are independent, unless `mode` is given."""
    category = WORKERS[workers[0]].category
    chosen = mode or ("parallel" if len(workers) > 1 and len(waves(workers)) == 1 else "sequential")
    return PlanStep(
        name=category.capitalize(),
        category=category,
        workers=list(workers),
        mode=chosen,
        estimated_time=0,
        estimated_cost=0,
    )


def with_estimates(plan: Plan, kept: Collection[str] = ()) -> Plan:
    """Return the plan with new estimates. Kept results cost nothing."""
    steps = [_estimated(step, plan.cheaper, kept) for step in plan.steps]
    return plan.model_copy(
        update={
            "steps": steps,
            "estimated_time": round(sum(step.estimated_time for step in steps), 3),
            "estimated_cost": round(sum(step.estimated_cost for step in steps), 6),
        }
    )


def _estimated(step: PlanStep, cheaper: Collection[str], kept: Collection[str]) -> PlanStep:
    working = [worker for worker in step.workers if worker not in kept]
    seconds = [seconds_of(worker, cheaper=worker in cheaper) for worker in working]
    cost = sum(cost_of(worker, cheaper=worker in cheaper) for worker in working)
    together = max(seconds, default=0.0) if step.mode == "parallel" else sum(seconds)
    return step.model_copy(update={"estimated_time": together, "estimated_cost": round(cost, 6)})


def _within(chosen: Sequence[str], limits: PlanLimits) -> list[str]:
    """Remove the least important workers that exceed the limits even with cheap models. At least three stay:
    a search, the writer and the fact checker."""
    workers = list(chosen)
    while len(workers) > FEWEST and not limits.hold(*_least(workers)):
        helping = (
            worker
            for worker in reversed(workers)
            if not _is_needed(worker, workers)
            and limits.helps(_least(workers), _least([other for other in workers if other != worker]))
        )
        out = next(helping, None)
        if out is None:
            break
        workers.remove(out)
    return workers


def _is_needed(worker: str, workers: Sequence[str]) -> bool:
    row = WORKERS[worker]
    if row.criticality == "critical" or worker == "fact_checker":
        return True
    if row.name in SEARCHES:
        return not [other for other in workers if other in SEARCHES and other != worker]
    return False


def _least(workers: Sequence[str]) -> tuple[float, float]:
    """Return the minimum cost and seconds of these workers: with fast models and maximum parallelism."""
    cost = sum(cost_of(worker, cheaper=True) for worker in workers)
    seconds = sum(
        max(seconds_of(worker, cheaper=True) for worker in wave)
        for group in grouped(workers)
        for wave in waves(group)
    )
    return cost, seconds


@dataclass
class Optimized:
    """A plan optimized for its limits, and the changes."""

    plan: Plan
    removed: list[str] = field(default_factory=list[str])
    changes: list[str] = field(default_factory=list[str])
    time_saved: float = 0.0
    cost_saved: float = 0.0


def optimize(plan: Plan, limits: PlanLimits, kept: Collection[str] = ()) -> Optimized:
    """Optimize a plan for its limits. Kept results cost nothing, so they are left alone."""
    optimized = Optimized(plan)
    before = with_estimates(plan, kept)
    _spread(optimized, kept)
    _drop_optional(optimized, limits, kept)
    _make_cheaper(optimized, limits, kept)
    after = with_estimates(optimized.plan, kept)
    optimized.plan = with_estimates(optimized.plan)
    optimized.time_saved = round(before.estimated_time - after.estimated_time, 3)
    optimized.cost_saved = round(before.estimated_cost - after.estimated_cost, 6)
    if not limits.hold(after.estimated_cost, after.estimated_time):
        optimized.changes.append(
            "Nothing more can be left out: the remaining budget or time may not be enough."
        )
    return optimized


def _spread(optimized: Optimized, kept: Collection[str]) -> None:
    """Split steps with dependent workers into parallel steps."""
    steps: list[PlanStep] = []
    for step in optimized.plan.steps:
        parts = waves(step.workers)
        if step.mode == "parallel" or len(step.workers) == 1 or len(parts) == len(step.workers):
            steps.append(step)
            continue
        steps += [step_of(part) for part in parts]
        together = "; then ".join(" and ".join(part) for part in parts)
        optimized.changes.append(f"{step.name}: {together}, in parallel where possible.")
    optimized.plan = optimized.plan.model_copy(update={"steps": steps})


def _drop_optional(optimized: Optimized, limits: PlanLimits, kept: Collection[str]) -> None:
    for worker in reversed(by_priority(optimized.plan.workers)):
        if limits.hold(*_takes(optimized.plan, kept)):
            return
        optional = WORKERS[worker].criticality == "optional" and worker not in kept
        if optional and not _is_last(optimized.plan, worker):
            fewer = without(optimized.plan, worker)
            if limits.helps(_takes(optimized.plan, kept), _takes(fewer, kept)):
                optimized.plan = fewer
                optimized.removed.append(worker)
                optimized.changes.append(
                    f"{worker} is left out: it is optional, and saves ${cost_of(worker):.2f}."
                )


def _make_cheaper(optimized: Optimized, limits: PlanLimits, kept: Collection[str]) -> None:
    dear = [asking for asking in optimized.plan.workers if WORKERS[asking].asks and asking not in kept]
    for worker in sorted(dear, key=lambda asking: -cost_of(asking)):
        now = _takes(optimized.plan, kept)
        if limits.hold(*now):
            return
        cheaper = optimized.plan.model_copy(update={"cheaper": [*optimized.plan.cheaper, worker]})
        if limits.helps(now, _takes(cheaper, kept)):
            optimized.plan = cheaper
            saved = cost_of(worker) - cost_of(worker, cheaper=True)
            faster = seconds_of(worker) - seconds_of(worker, cheaper=True)
            optimized.changes.append(
                f"{worker} uses a fast model: that saves ${saved:.2f} and {faster:.0f} s."
            )


def _takes(plan: Plan, kept: Collection[str]) -> tuple[float, float]:
    estimated = with_estimates(plan, kept)
    return estimated.estimated_cost, estimated.estimated_time


def _is_last(plan: Plan, worker: str) -> bool:
    """True if it is the only worker of its step or of its category."""
    alone = any(step.workers == [worker] for step in plan.steps)
    kind = [other for other in plan.workers if WORKERS[other].category == WORKERS[worker].category]
    return alone or len(kind) == 1


def without(plan: Plan, worker: str) -> Plan:
    steps = [
        step
        if worker not in step.workers
        else step_of([other for other in step.workers if other != worker], step.mode)
        for step in plan.steps
    ]
    return plan.model_copy(update={"steps": steps})


DEPTH = {"light": -0.15, "standard": 0.0, "deep": 0.15}
CONTENT = {"blog_post": -0.1, "article": 0.0, "research_report": 0.1}
BASE = 0.6
DEMANDING = re.compile(
    r"\b(analy\w+|assess\w*|causes?|compar\w+|consequences|controvers\w+|debates?|effects?|ethic\w*|evidence|"
    r"forecasts?|future|impacts?|implications?|mechanisms?|policy|policies|predictions?|quantum|regulat\w+|"
    r"risks?|systematic|trade-?offs?|versus|vs)\b",
    re.IGNORECASE,
)
"""Words that indicate a demanding topic."""
EASY = re.compile(r"^\s*(what (is|are)|who (is|was)|how to|introduction to|basics of)\b", re.IGNORECASE)


def estimate_complexity(brief: Brief) -> float:
    """Estimate the complexity, 0 to 1, from the topic's words and the size of the request."""
    topic = brief.topic
    demanding = min(len({word.lower() for word, *_ in DEMANDING.findall(topic)}), 3) * 0.05
    easy = 0.1 if EASY.search(topic) else 0.0
    long = (brief.length - 1500) / 1500 * 0.05
    many = 0.05 if brief.min_sources >= 15 else 0.0
    value = BASE + DEPTH[brief.depth] + CONTENT[brief.content_type] + demanding - easy + long + many
    return round(min(max(value, 0.0), 1.0), 2)
