"""How a time limit is divided, and what a step, a fix cycle and a sub-plan may take of it."""

from __future__ import annotations

import msgspec

DEFAULT_LIMIT_S = 7200.0
PLANNING_SHARE, PLANNING_MOST_S = 0.10, 900.0
EXECUTION_SHARE = 0.80
VERIFICATION_SHARE, VERIFICATION_MOST_S = 0.10, 600.0
FIX_CYCLE_SHARE = 0.30
"""Of a step's own time."""
SHUTDOWN_SHARE = 1 / 60
"""What committing and reporting may take when time is up: two minutes of two hours …"""
SHUTDOWN_LEAST_S, SHUTDOWN_MOST_SHARE = 5.0, 0.10
"""… five seconds at least, but never more than a tenth."""
FINISHING_S = 15.0
"""How long a commit or a report that was begun may take although time is up: neither is left half done."""


class Allocation(msgspec.Struct, frozen=True):
    """A time limit, divided. All in seconds."""

    total: float
    planning: float
    execution: float
    verification: float
    reserve: float
    """What the caps of planning and verification leave over."""

    @property
    def shutdown(self) -> float:
        least = min(SHUTDOWN_LEAST_S, SHUTDOWN_MOST_SHARE * self.total)
        return max(SHUTDOWN_SHARE * self.total, least)

    @property
    def shutdown_comes_out_of(self) -> str:
        """The reserve where there is enough of it; otherwise verification gives way."""
        return "reserve" if self.reserve >= self.shutdown else "verification"

    @property
    def verification_left(self) -> float:
        """Verification, less the shutdown if that comes out of it."""
        taken = self.shutdown if self.shutdown_comes_out_of == "verification" else 0.0
        return self.verification - taken


def allocate(total: float) -> Allocation:
    """Divide a limit: a tenth (at most 15 minutes) to plan, 80 % to work, a tenth (at most 10 minutes) to
    verify. A later iteration divides what is left in the same way."""
    planning = min(PLANNING_SHARE * total, PLANNING_MOST_S)
    execution = EXECUTION_SHARE * total
    verification = min(VERIFICATION_SHARE * total, VERIFICATION_MOST_S)
    return Allocation(total, planning, execution, verification, total - planning - execution - verification)


def execution_window(allocation: Allocation, elapsed: float) -> float:
    """How long execution may still take when it begins `elapsed` seconds into the iteration: its share, and
    never what verification and shutdown need."""
    kept = allocation.verification_left + allocation.shutdown
    return max(min(allocation.execution, allocation.total - elapsed - kept), 0.0)


def step_budget(execution: float, steps: int) -> float:
    """Every step of a plan may take as long as every other."""
    return execution / max(steps, 1)


def fix_cycle_budget(step: float) -> float:
    return FIX_CYCLE_SHARE * step


def subplan_budget(step: float, unused: float) -> float:
    """One fresh step's worth for all steps of a sub-plan together, out of execution time not used yet."""
    return max(min(step, unused), 0.0)
