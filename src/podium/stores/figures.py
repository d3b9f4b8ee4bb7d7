"""Spent amounts as columns of a database, and back. Both directions accept impossible figures."""

from __future__ import annotations

import math
from typing import Any, LiteralString

from podium.engine.events import Charge
from podium.engine.figures import LARGEST

MOST_USD = 1e15
"""Larger amounts are stored and summed as this one, so that no sum becomes infinite."""
LARGEST_SQL: LiteralString = "9223372036854775807"
"""`LARGEST` in a statement."""
MOST_NANO = 9_000_000_000 * 1_000_000_000
"""The most nano-dollars of an account: several of them are added as 64-bit integers in SQL."""


def count_column(number: Any) -> int:
    """Return a count that fits a 64-bit column: what is negative or no number becomes 0."""
    if not isinstance(number, (int, float)) or number != number:
        return 0
    return int(max(0, min(number, LARGEST)))


def usd_column(usd: Any) -> float:
    """Return an amount of money that is finite and not negative."""
    if not isinstance(usd, (int, float)) or math.isnan(usd):
        return 0.0
    return float(max(0.0, min(usd, MOST_USD)))


def charge_columns(charge: Charge) -> tuple[float, int, int, int, int]:
    """Return the columns `usd, input_tokens, output_tokens, calls, unpriced_calls` of a charge."""
    return (
        usd_column(charge.usd),
        count_column(charge.input_tokens),
        count_column(charge.output_tokens),
        count_column(charge.calls),
        count_column(charge.unpriced_calls),
    )


def charge_of(usd: Any, into: Any, out: Any, calls: Any, unpriced: Any = 0) -> Charge:
    """Return the charge of these columns, or of sums over them."""
    return Charge(
        usd_column(usd), count_column(into), count_column(out), count_column(calls), count_column(unpriced)
    )


def nano_column(nano: int) -> int:
    """Return an amount of nano-dollars that SQL can add to others."""
    return max(-MOST_NANO, min(nano, MOST_NANO))
