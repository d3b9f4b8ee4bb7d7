"""Comparison of one test before and after a change: does it still check as much?"""

from __future__ import annotations

import re
from collections.abc import Sequence

from podium.tools.testing.cases import Case

CHANGED = "expects something else than before"
"""The only reason that may be what the goal asks for."""

_STRICT = re.compile(
    r"==|toBe\(|toEqual|toStrictEqual|assertEqual|assert_eq|deepEqual|strictEqual|\bis (?!not)"
)
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
_LARGER = re.compile(r"(?:<=?|\b(?:rel|abs|delta|r?tol|atol|rel_tol|abs_tol|eps|epsilon|tolerance)\s*=)\s*$")
_SMALLER = re.compile(r"\b(?:places|decimal|decimals|significant)\s*=\s*$|>=?\s*$")
_TOLERANT = re.compile(r"approx|AlmostEqual|isclose|allclose|toBeCloseTo|InDelta|InEpsilon|assert_relative")
_RAISES = re.compile(r"(?:raises|assertRaises\w*|rejects|toThrow\w*)\(([^()]*(?:\([^()]*\))?[^()]*)\)")


def weakened(old: Case, new: Case) -> str:
    """Return how the test is weaker, as a phrase; `CHANGED` if it is only different, empty if it is not."""
    lost = [check for check in old.asserts if check not in new.asserts]
    gained = [check for check in new.asserts if check not in old.asserts]
    if len(new.rows) < len(old.rows):
        return f"has {len(new.rows)} rows of data; it had {len(old.rows)}"
    if not lost:
        return CHANGED if any(row not in new.rows for row in old.rows) else ""
    if len(new.asserts) < len(old.asserts):
        return f"checks {len(new.asserts)} things; it checked {len(old.asserts)}"
    if _strict(new.asserts) < _strict(old.asserts):
        return "compares less strictly than before"
    for check in gained:
        for reason in (_any_exception(lost, check), _alternative(lost, check), _tolerance(lost, check)):
            if reason:
                return reason
    return CHANGED


def _strict(checks: Sequence[str]) -> int:
    return sum(1 for check in checks if _STRICT.search(check))


def _any_exception(lost: Sequence[str], check: str) -> str:
    """Find a wider exception, or one whose message is not compared any more."""
    match = _RAISES.search(check)
    before = [_RAISES.search(other) for other in lost]
    if match is None or not any(before):
        return ""
    wider = re.search(r"\b(?:Base)?Exception\b", match[1]) or match[1].startswith("(")
    unmatched = "match=" not in match[1] and any(other and "match=" in other[1] for other in before)
    same = any(other and other[1] == match[1] for other in before)
    return "accepts more exceptions than before" if (wider or unmatched) and not same else ""


def _alternative(lost: Sequence[str], check: str) -> str:
    """Find a check that got an alternative: `a == 1` became `a == 1 or b`."""
    core = [other.removeprefix("assert ") for other in lost]
    return (
        "has an alternative that it had not before"
        if " or " in check and any(other in check for other in core)
        else ""
    )


def _tolerance(lost: Sequence[str], check: str) -> str:
    """Find a larger tolerance than before."""
    shape = _NUMBER.sub("#", check)
    for other in lost:
        if _NUMBER.sub("#", other) != shape:
            continue
        for before, after in zip(_NUMBER.finditer(other), _NUMBER.finditer(check), strict=True):
            try:
                change = float(after[0]) - float(before[0])
            except ValueError:
                continue
            start = check[: after.start()]
            if (change > 0 and _LARGER.search(start)) or (change < 0 and _SMALLER.search(start)):
                return "allows a larger difference than before"
    if _TOLERANT.search(check) and not any(_TOLERANT.search(other) for other in lost):
        return CHANGED
    return ""
