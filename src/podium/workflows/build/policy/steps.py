"""Attempts and fix cycles, the order of steps, and what a failed step means for the others."""

from __future__ import annotations

from collections.abc import Sequence

from podium.workflows.build.state import PlanStep

MAX_ATTEMPTS = 3
MAX_FIX_CYCLES = 3
"""Per attempt."""
MAX_LOOK_UPS = 10
"""How often the coder may read a file or search, per step."""
ACCEPTABLE_FAILURES = 0.20
"""Share of a plan's steps that may fail without the goal being out of reach."""


def may_attempt(attempts: int) -> bool:
    return attempts < MAX_ATTEMPTS


def may_fix(cycles: int) -> bool:
    return cycles < MAX_FIX_CYCLES


def next_step(steps: Sequence[PlanStep]) -> PlanStep | None:
    """The first step that is still to do and whose dependencies are done."""
    done = {step.id for step in steps if step.status == "completed"}
    return next(
        (step for step in steps if step.status == "pending" and done.issuperset(step.depends_on)), None
    )


def doomed_by(failed: PlanStep, steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Every step that needs the failed one, directly or through others, in the plan's order."""
    lost = {failed.id}
    while more := {s.id for s in steps if s.id not in lost and lost.intersection(s.depends_on)}:
        lost |= more
    return [step for step in steps if step.id in lost and step.id != failed.id]


def blocked_reason(failed: PlanStep) -> str:
    return f"needs step {failed.number}, which failed"


def are_done_or_acceptable(steps: Sequence[PlanStep]) -> bool:
    """All steps are done; or at most a fifth failed, and none that others needed."""
    failed = [step for step in steps if step.status == "failed"]
    if any(step.status not in ("completed", "failed") for step in steps):
        return False
    needed = {key for step in steps for key in step.depends_on}
    few = len(failed) <= ACCEPTABLE_FAILURES * len(steps)
    return few and not any(step.id in needed for step in failed)
