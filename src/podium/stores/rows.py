"""Shared columns, `RunRow` building, lookup by id, CJK tokens."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from typing import Any, LiteralString

from podium.engine.budget import LARGEST
from podium.engine.codec import decode
from podium.engine.events import Charge
from podium.engine.log import DAMAGED, UNREADABLE
from podium.errors import StoreError, UnknownRunError

SHORTEST_BEGINNING = 4
"""Minimum length of an id prefix that names a run."""


def unknown(run_id: str) -> UnknownRunError:
    hint = "`podium runs` lists them."
    if len(run_id) < SHORTEST_BEGINNING:
        hint = f"Give at least {SHORTEST_BEGINNING} characters of an id; {hint}"
    return UnknownRunError(f"There is no run {run_id} in this store.", hint=hint)


def the_one(rows: Sequence[tuple[Any, ...]], run_id: str) -> tuple[Any, ...]:
    """Return the only summary among those whose id is or begins with `run_id`; ids are in the second
    column."""
    if len(rows) > 1:
        raise UnknownRunError(
            f"More than one run begins with {run_id}: {rows[0][1]}, {rows[1][1]} and perhaps more.",
            hint="Give more characters of the id.",
        )
    if not rows:
        raise unknown(run_id)
    return rows[0]


_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f])")
"""Letters of scripts without spaces between words; each is a token of its own."""


def spaced(text: str) -> str:
    """Return a text with spaces around each of these letters."""
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)


_LAST_US = 253_402_300_799_000_000
"""The end of the year 9999 in microseconds: the latest time that Python can represent."""


def intact(data: bytes, digest: str) -> bytes:
    """Return a blob; raise if its content does not match its digest."""
    if hashlib.sha256(data).hexdigest() != digest.lower():
        raise StoreError(f"The blob {digest} is damaged.", hint=DAMAGED)
    return data


def message_data(message_id: int, data: bytes) -> Any:
    """Decode the data of an inbox message."""
    try:
        return decode(data)
    except UNREADABLE as error:
        raise StoreError(f"Message {message_id} in the inbox cannot be read.", hint=DAMAGED) from error


def fact_data(fact_id: str, text: Any) -> Any:
    """Decode one side of a change of a fact."""
    try:
        return decode(text.encode() if isinstance(text, str) else text)
    except UNREADABLE as error:
        raise StoreError(f"The history of the fact {fact_id} cannot be read.", hint=DAMAGED) from error


def time_of(micros: Any) -> int:
    """Return a stored time; 0 if it cannot be represented."""
    return micros if isinstance(micros, int) and 0 <= micros <= _LAST_US else 0


MOST_USD = 1e15
"""Larger amounts are stored and summed as this one, so that no sum becomes infinite."""
LARGEST_SQL: LiteralString = "9223372036854775807"
"""`LARGEST` in a statement."""
MOST_NANO = 9_000_000_000 * 1_000_000_000
"""Maximum nano-dollars of an account: several of them are added as 64-bit integers in SQL."""


def count_column(number: Any) -> int:
    """Return a count that fits a 64-bit column: negative values and non-numbers become 0."""
    if not isinstance(number, (int, float)) or number != number:
        return 0
    return int(max(0, min(number, LARGEST)))


def usd_column(usd: Any) -> float:
    """Return a finite, non-negative amount of money."""
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
    """Return the charge for these columns, or for sums over them."""
    return Charge(
        usd_column(usd), count_column(into), count_column(out), count_column(calls), count_column(unpriced)
    )


def nano_column(nano: int) -> int:
    """Return an amount of nano-dollars that SQL can add to others without overflow."""
    return max(-MOST_NANO, min(nano, MOST_NANO))
