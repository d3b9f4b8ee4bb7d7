"""The dimensions of a budget, one row each.

Ceilings, reservations, flags, settings and messages are derived from these rows. Only typed declarations name
a dimension again: the fields of `Budget`, `Settings`, `BudgetFlags`, `ViewBudget` and the server's schemas.
`tests/engine/test_dimensions.py` says which of them is missing. A dimension also needs a column in the stores
and a row in the browser's table, `ui/src/parts/dimensions.ts`.
"""

from __future__ import annotations

from typing import NamedTuple


class Dimension(NamedTuple):
    """A quantity that a budget can limit."""

    name: str
    """Field of `Budget`, and `kind` of an exhausted budget in the log."""
    word: str
    """Its name in sentences: "The money budget is used up"."""
    charge: str = ""
    """Attribute of `Charge` with the amount of one call. Empty: not reserved before a call, but checked in
    its own way, as time and depth are."""
    scale: int = 1
    """Amounts are counted in this fraction of the unit, as integers, so that sums are exact."""
    whole: bool = True
    """Only whole numbers are valid."""
    unit: str = ""
    """Singular noun after an amount ("6 calls"). Empty: the amount is money or time, with its own format."""
    foreseen: bool = False
    """The next call's worst case is worth naming when the budget is exhausted."""
    setting: str = ""
    """Key in settings files and option of a workflow; with dashes, the flag. Empty: only for code."""
    metavar: str = "N"
    help: str = ""
    """Description of the flag."""
    expected: str = "a whole number from 0 to 1,000,000,000,000,000"
    """Valid values of the setting."""
    example: str = ""
    """Value in the settings file that `podium init` writes."""

    @property
    def flag(self) -> str:
        return f"--{self.setting.replace('_', '-')}"

    @property
    def is_time(self) -> bool:
        return self.name == "seconds"

    def amount(self, number: float) -> str:
        """Return an amount for a message, with the unit of money and time."""
        if self.name == "usd":
            return f"${number:,.2f}" if number == 0 or number >= 0.1 else f"${number:.4f}"
        return f"{number:g} s" if self.is_time else f"{number:,.0f}"


DIMENSIONS = {
    dimension.name: dimension
    for dimension in (
        Dimension(
            "usd",
            "money",
            charge="usd",
            scale=1_000_000_000,
            whole=False,
            foreseen=True,
            setting="max_usd",
            metavar="USD",
            help="Maximum cost in US dollars.",
            expected="an amount from 0 to 1,000,000,000,000",
            example="1.00",
        ),
        Dimension(
            "tokens",
            "tokens",
            charge="tokens",
            unit="token",
            foreseen=True,
            setting="max_tokens",
            help="Maximum tokens, input and output together.",
            example="200_000",
        ),
        Dimension(
            "calls",
            "calls",
            charge="calls",
            unit="call",
            setting="max_calls",
            help="Maximum number of model calls.",
            example="100",
        ),
        Dimension(
            "seconds",
            "time",
            whole=False,
            setting="time_limit",
            metavar="TIME",
            help="Maximum working time: 90s, 15m, 2h.",
            expected="a duration such as 90s, 15m or 2h",
            example='"30m"',
        ),
        Dimension("depth", "depth", unit="level"),
    )
}
"""All dimensions by name."""

RESERVED = tuple(dimension for dimension in DIMENSIONS.values() if dimension.charge)
"""Dimensions that are reserved before a call."""

SETTABLE = {dimension.setting: dimension for dimension in DIMENSIONS.values() if dimension.setting}
"""Dimensions that users can limit, by setting."""


def dimension_word(name: str) -> str:
    """Return the word for a dimension in a sentence; for one of another version, its name."""
    return DIMENSIONS[name].word if name in DIMENSIONS else name


def dimension_amount(name: str, number: float) -> str:
    """Return an amount of a dimension for a message."""
    return DIMENSIONS[name].amount(number) if name in DIMENSIONS else f"{number:,.0f}"
