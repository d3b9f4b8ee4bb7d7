"""What happens when an agent cannot answer at all: three tries, then something that keeps the run honest."""

from __future__ import annotations

TRIES = 3
FIRST_WAIT_S, FACTOR = 1.0, 2.0

FALLBACKS = {
    "planner": "a plan of one step: the goal itself",
    "coder": "the attempt fails",
    "tester": "the bare result of the tests",
    "supervisor": "unverified: a step completes on passing tests only, a goal is never called achieved",
}
"""What stands in for whom."""


def wait_after(attempt: int, first_wait_s: float = FIRST_WAIT_S) -> float:
    """Seconds to wait after the given try (1, 2) has failed."""
    return first_wait_s * FACTOR ** (attempt - 1)
