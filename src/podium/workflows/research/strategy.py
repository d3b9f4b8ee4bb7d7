"""The strategy's rules: as much side by side as possible, then within budget and time. Pure.

Over a limit, optional workers go first, the least important one before the others; then workers are given
cheaper models, the most expensive one before the others. Nobody critical goes, and nobody who is the last of
a step.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from podium.workflows.research.contracts import Plan, PlanStep
from podium.workflows.research.planning import Limits, step_of, waves, with_estimates
from podium.workflows.research.policy import WORKERS, by_priority, cost_of, seconds_of


@dataclass
class Optimized:
    """A plan that keeps to its limits as far as it can, and what was done to it."""

    plan: Plan
    removed: list[str] = field(default_factory=list[str])
    changes: list[str] = field(default_factory=list[str])
    time_saved: float = 0.0
    cost_saved: float = 0.0


def optimize(plan: Plan, limits: Limits, kept: Collection[str] = ()) -> Optimized:
    """What is kept from an earlier iteration takes nothing, so it is left alone."""
    found = Optimized(plan)
    before = with_estimates(plan, kept)
    _spread(found, kept)
    _drop_optional(found, limits, kept)
    _make_cheaper(found, limits, kept)
    after = with_estimates(found.plan, kept)
    found.plan = with_estimates(found.plan)
    found.time_saved = round(before.estimated_time - after.estimated_time, 3)
    found.cost_saved = round(before.estimated_cost - after.estimated_cost, 6)
    if not limits.hold(after.estimated_cost, after.estimated_time):
        found.changes.append("Nothing more could be left out: what is left of the limits may not be enough.")
    return found


def _spread(found: Optimized, kept: Collection[str]) -> None:
    """Turn a step whose workers wait for each other into steps whose workers do not."""
    steps: list[PlanStep] = []
    for step in found.plan.steps:
        parts = waves(step.workers)
        if step.mode == "parallel" or len(step.workers) == 1 or len(parts) == len(step.workers):
            steps.append(step)
            continue
        steps += [step_of(part) for part in parts]
        together = "; then ".join(" and ".join(part) for part in parts)
        found.changes.append(f"{step.name}: {together}, side by side where nobody waits.")
    found.plan = found.plan.model_copy(update={"steps": steps})


def _drop_optional(found: Optimized, limits: Limits, kept: Collection[str]) -> None:
    for worker in reversed(by_priority(found.plan.workers)):
        if limits.hold(*_takes(found.plan, kept)):
            return
        optional = WORKERS[worker].criticality == "optional" and worker not in kept
        if optional and not _is_last(found.plan, worker):
            fewer = without(found.plan, worker)
            if limits.helps(_takes(found.plan, kept), _takes(fewer, kept)):
                found.plan = fewer
                found.removed.append(worker)
                found.changes.append(
                    f"{worker} is left out: it is optional, and saves ${cost_of(worker):.2f}."
                )


def _make_cheaper(found: Optimized, limits: Limits, kept: Collection[str]) -> None:
    dear = [one for one in found.plan.workers if WORKERS[one].asks and one not in kept]
    for worker in sorted(dear, key=lambda one: -cost_of(one)):
        now = _takes(found.plan, kept)
        if limits.hold(*now):
            return
        cheaper = found.plan.model_copy(update={"cheaper": [*found.plan.cheaper, worker]})
        if limits.helps(now, _takes(cheaper, kept)):
            found.plan = cheaper
            saved = cost_of(worker) - cost_of(worker, cheaper=True)
            faster = seconds_of(worker) - seconds_of(worker, cheaper=True)
            found.changes.append(f"{worker} uses a fast model: that saves ${saved:.2f} and {faster:.0f} s.")


def _takes(plan: Plan, kept: Collection[str]) -> tuple[float, float]:
    estimated = with_estimates(plan, kept)
    return estimated.estimated_cost, estimated.estimated_time


def _is_last(plan: Plan, worker: str) -> bool:
    """Whether it is the only one of its step, or of its kind of work."""
    alone = any(step.workers == [worker] for step in plan.steps)
    kind = [one for one in plan.workers if WORKERS[one].category == WORKERS[worker].category]
    return alone or len(kind) == 1


def without(plan: Plan, worker: str) -> Plan:
    steps = [
        step
        if worker not in step.workers
        else step_of([one for one in step.workers if one != worker], step.mode)
        for step in plan.steps
    ]
    return plan.model_copy(update={"steps": steps})
