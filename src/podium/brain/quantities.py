"""Numbers, measures and dates in a text, so that `180 cm`, `1.80 m` and `5'11"` are the same height."""

from __future__ import annotations

import re
from typing import NamedTuple

_UNITS: dict[str, tuple[str, float]] = {
    unit: (dimension, factor)
    for dimension, factor, units in (
        ("length", 0.001, "mm millimetre millimeter"), ("length", 0.01, "cm centimetre centimeter"),
        ("length", 1.0, "m metre meter"), ("length", 1000.0, "km kilometre kilometer"),
        ("length", 0.0254, "inch inches"), ("length", 0.3048, "ft foot feet"), ("length", 1609.34, "mile"),
        ("mass", 0.001, "g gram gramme"), ("mass", 1.0, "kg kilo kilogram"),
        ("mass", 0.4536, "lb pound"), ("mass", 1000.0, "tonne"),
        ("time", 1.0, "s sec second"), ("time", 60.0, "min minute"), ("time", 3600.0, "h hr hour"),
        ("time", 86_400.0, "day"), ("time", 604_800.0, "week"), ("time", 2_629_800.0, "month"),
        ("time", 31_557_600.0, "year yr"), ("share", 1.0, "% percent"),
    )
    for unit in units.split()
}  # fmt: skip

_ONES = [
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
]  # fmt: skip
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_NUMBER_WORDS = {word: number for number, word in enumerate(_ONES)} | {
    word: number * 10 for number, word in enumerate(_TENS, 2)
}
_SPOKEN = re.compile(
    rf"\b(?:({'|'.join(_TENS)})[\s-]+({'|'.join(_ONES[1:10])})|({'|'.join([*_ONES, *_TENS])}))\b"
)
_FEET = re.compile(r"(\d+)\s*(?:'|ft\b|feet\b|foot\b)\s*(\d+)\s*(?:\"|''|in\b|inch(?:es)?\b)?")
_NUMBER = re.compile(r"(?<![\w.])(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:[.,]\d+)?)\s*-?(%|[a-z]+)?")
_ABOUT = re.compile(
    r"\b(about|around|roughly|circa|ca|approximately|nearly|almost|some|over|early|mid|late)\b"
)

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul",
            "august aug", "september sep sept", "october oct", "november nov", "december dec",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(_MONTHS)
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})(?:-(\d{1,2}))?\b")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\b\.?(?:,?\s+(\d{{4}}))?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\b\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}}))?")
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\b\.?,?\s+(\d{{4}})\b")
_YEAR = re.compile(r"^\s*(?:in\s+|the\s+year\s+|year\s+)?(1\d{3}|2[01]\d{2})\s*$")


class Date(NamedTuple):
    """A day, a month or a year; 0 for what is not told."""

    year: int
    month: int = 0
    day: int = 0

    def fits(self, other: Date) -> bool:
        """Nothing that both tell differs."""
        return all(not mine or not theirs or mine == theirs for mine, theirs in zip(self, other, strict=True))


class Quantity(NamedTuple):
    """A number, with its measure where it has one."""

    number: float
    dimension: str = ""
    amount: float = 0.0
    """In the measure that its dimension is counted in here."""
    about: bool = False

    def fits(self, other: Quantity) -> bool:
        """The same but for rounding; more room where one of them is only about right."""
        room = 0.1 if self.about or other.about else 0.01
        mine, theirs = (
            (self.amount, other.amount) if self.dimension and other.dimension else (self.number, other.number)
        )
        return abs(mine - theirs) <= room * max(abs(mine), abs(theirs), 1e-9)

    def comparable(self, other: Quantity) -> bool:
        return not self.dimension or not other.dimension or self.dimension == other.dimension


class Figures(NamedTuple):
    """The figures of a text, and the text without them."""

    dates: list[Date]
    quantities: list[Quantity]
    rest: str


def figures_of(text: str) -> Figures:
    """Take the dates and numbers out of a text."""
    plain = _SPOKEN.sub(_digits, text.casefold().replace("’", "'").replace("″", '"').replace("′", "'"))
    about = bool(_ABOUT.search(plain))
    dates, plain = _take_dates(plain)
    found: list[Quantity] = []

    def feet(match: re.Match[str]) -> str:
        metres = int(match[1]) * 0.3048 + int(match[2]) * 0.0254
        found.append(Quantity(metres, "length", metres, about))
        return " "

    def number(match: re.Match[str]) -> str:
        raw, unit = match[1], match[2] or ""
        value = (
            float(raw.replace(",", "")) if re.search(r",\d{3}(\D|$)", raw) else float(raw.replace(",", "."))
        )
        dimension, factor = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s")) or ("", 1.0)
        found.append(Quantity(value, dimension, value * factor, about))
        return " " if dimension else f" {unit}"

    rest = _NUMBER.sub(number, _FEET.sub(feet, plain))
    return Figures(dates, found, _ABOUT.sub(" ", rest) if found or dates else rest)


def _digits(match: re.Match[str]) -> str:
    tens, ones, single = match.groups()
    return str(_NUMBER_WORDS[single]) if single else str(_NUMBER_WORDS[tens] + _NUMBER_WORDS[ones])


def _take_dates(text: str) -> tuple[list[Date], str]:
    found: list[Date] = []
    for pattern, order in ((_ISO, "ymd"), (_DAY_FIRST, "dmy"), (_MONTH_FIRST, "mdy"), (_MONTH_YEAR, "my")):
        for match in pattern.finditer(text):
            part = dict(zip(order, match.groups(), strict=True))
            month = part.get("m") or ""
            found.append(
                Date(int(part["y"] or 0), _MONTHS.get(month) or int(month or 0), int(part.get("d") or 0))
            )
        text = pattern.sub(" ", text)
    if not found and (year := _YEAR.match(text)):
        return [Date(int(year[1]))], ""
    return found, text
