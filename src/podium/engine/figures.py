"""Bounds for token counts, call counts and costs."""

from __future__ import annotations

import math

from podium.engine.events import Charge

LARGEST = 2**63 - 1
"""The largest integer that a database column holds."""
MOST_TOKENS = 100_000_000
"""More tokens than any model reads or writes in one call."""
MOST_CALLS = 10_000
"""More requests than one call to a model can make."""
MOST_USD = 1_000_000.0
"""More US dollars than one call costs."""


def is_count(value: object, most: int) -> bool:
    """Return whether a value is a whole number from 0 to `most`."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def is_cost(value: object) -> bool:
    """Return whether a value is a finite amount of US dollars that one call can cost."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return math.isfinite(value) and 0 <= value <= MOST_USD


def problem_with(charge: Charge) -> str:
    """Return the first figure of a charge that cannot be true, as `name value`; empty if all can."""
    if not is_cost(charge.usd):
        return f"usd {charge.usd!r}"
    for name, most in (
        ("input_tokens", MOST_TOKENS),
        ("output_tokens", MOST_TOKENS),
        ("calls", MOST_CALLS),
        ("unpriced_calls", MOST_CALLS),
    ):
        value: object = getattr(charge, name)
        if not is_count(value, most):
            return f"{name} {value!r}"
    return ""
