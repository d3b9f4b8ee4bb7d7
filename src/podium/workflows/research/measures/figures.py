"""Numbers, dates, units and words of a sentence, normalized over their spellings."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from podium.brain.vocabulary import word_set

_ONES = tuple(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen
    """.split()
)
_SMALL = {word: value for value, word in enumerate(_ONES)} | {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}
_LARGE = {"hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
MONTHS = {
    name: nth
    for nth, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        1,
    )
    for name in names.split()
}
_UNITS = {
    spelling: spellings.split()[0]
    for spellings in (
        "% percent pct", "$ usd dollar dollars", "€ eur euro euros", "£ gbp pound pounds sterling",
        "¥ yen jpy", "second seconds sec secs", "minute minutes min mins", "hour hours hr hrs", "day days",
        "week weeks", "month months", "quarter quarters", "year years yr yrs", "decade decades",
        "century centuries", "mg milligram milligrams", "µg microgram micrograms mcg",
        "g gram grams gramme grammes", "kg kilogram kilograms kilo kilos", "tonne tonnes ton tons",
        "ml millilitre millilitres milliliter milliliters", "l litre litres liter liters",
        "mm millimetre millimetres", "cm centimetre centimetres centimeter centimeters",
        "m metre metres meter meters", "km kilometre kilometres kilometer kilometers", "mile miles",
        "ft foot feet", "inch inches", "°c celsius", "°f fahrenheit", "k kelvin", "byte bytes",
        "kb kilobyte kilobytes", "mb megabyte megabytes", "gb gigabyte gigabytes", "tb terabyte terabytes",
        "hz hertz", "khz", "mhz", "ghz", "w watt watts", "kw", "mw", "kwh", "v volt volts", "bar", "ms",
        "cent cents", "point points", "degree degrees",
    )
    for spelling in spellings.split()
}  # fmt: skip
_ADJECTIVES = re.compile(r"^(?:business|calendar|working|consecutive|full|statement|billing|us|american)$")
_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[%$€£¥]|°[CFcf]|µg|[^\W\d_]+(?:['’][^\W\d_]+)*", re.UNICODE)
_NAMES_OF_MONTHS = (
    r"(Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?|July?|Aug(?:ust|\.)?"
    r"|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)"
)
_DATES = (
    re.compile(rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_NAMES_OF_MONTHS}(?:,? (?P<y>\d{{4}}))?\b"),
    re.compile(
        rf"\b{_NAMES_OF_MONTHS} (?P<d>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d|[.,]\d)(?:,? (?P<y>\d{{4}})\b)?"
    ),
    re.compile(rf"\b{_NAMES_OF_MONTHS}(?:,| of)? (?P<y>\d{{4}})\b"),
    re.compile(r"\b(?P<y>\d{4})-(?P<m>\d{2})-(?P<d>\d{2})\b"),
)
_LONE_MONTH = re.compile(
    r"\b(?:January|February|April|June|July|August|September|October|November|December"
    r"|(?<=\bin )(?:March|May)|(?<=\bsince )(?:March|May)|(?<=\buntil )(?:March|May))\b"
)
_COUNTS = frozenset(_ONES[2:13])
"""Number words that may count listed things."""
_GLUED = re.compile(
    r"(?<=[^\W\d_])(\d+)(seconds?|minutes?|hours?|days?|weeks?|months?|years?|percent|bytes|bits)(?=[^\W\d_])"
)
"""A number with its unit among run-together words, as in text from PDF files."""
_ORDINAL = re.compile(r"(\d)(?:st|nd|rd|th)\b")
NEGATORS = word_set(
    "not no never neither nor none nobody nothing without cannot can't won't don't doesn't didn't isn't"
    " aren't wasn't weren't hasn't haven't hadn't shouldn't wouldn't couldn't mustn't needn't nowhere hardly"
    " rarely nicht kein keine keinen keiner keinem nie niemals ohne ne pas jamais sans aucun aucune ni nunca"
    " sin ningún ninguna non mai senza nessun nessuna nie bez"
)
_ANTONYMS = (
    ("always", "never"), ("increase", "decrease"), ("increases", "decreases"), ("increased", "decreased"),
    ("rises", "falls"), ("rose", "fell"), ("more", "less"), ("more", "fewer"), ("higher", "lower"),
    ("above", "below"), ("before", "after"), ("minimum", "maximum"), ("least", "most"),
    ("allowed", "prohibited"), ("permitted", "prohibited"), ("required", "optional"),
    ("include", "exclude"), ("includes", "excludes"), ("included", "excluded"), ("all", "no"),
    ("eligible", "ineligible"), ("available", "unavailable"), ("limited", "unlimited"),
    ("possible", "impossible"), ("safe", "unsafe"), ("able", "unable"), ("valid", "invalid"),
    ("accept", "reject"), ("enabled", "disabled"), ("first", "last"), ("earlier", "later"),
    ("faster", "slower"), ("largest", "smallest"), ("highest", "lowest"), ("longer", "shorter"),
)  # fmt: skip
OPPOSITES: dict[str, set[str]] = {}
for _one, _other in _ANTONYMS:
    OPPOSITES.setdefault(_one, set()).add(_other)
    OPPOSITES.setdefault(_other, set()).add(_one)


class Quantity(NamedTuple):
    """A number and its unit. An empty unit means none that is known."""

    value: str
    unit: str


class Date(NamedTuple):
    """A date, as far as the text gives it. 0 for missing parts."""

    year: int
    month: int
    day: int

    def covers(self, other: Date) -> bool:
        """True if every part that `other` gives is the same here."""
        return all(part in (0, own) for own, part in zip(self, other, strict=True))


class Figures(NamedTuple):
    """The figures of a text."""

    quantities: Counter[Quantity]
    dates: tuple[Date, ...]
    counts: tuple[tuple[str, frozenset[str]], ...] = ()
    """Small number words of a claim, such as `the two keyrings`, with the words that follow them."""
    counted: tuple[frozenset[str], ...] = ()
    """The words that follow each number."""

    @property
    def values(self) -> Counter[str]:
        totals: Counter[str] = Counter()
        for quantity, times in self.quantities.items():
            totals[quantity.value] += times
        return totals


def tokens_of(text: str) -> list[str]:
    """Return the words, numbers and signs of a text as written."""
    return _TOKEN.findall(text)


def figures_of(text: str, *, claim: bool = False) -> Figures:
    """Return the dates, and all other numbers with their units.

    In a claim the word `one` is not a number, and a small number word without a unit is a count, because it
    may sum up what the passage lists.
    """
    dates, rest = _dates(_GLUED.sub(r" \1 \2 ", text))
    tokens = tokens_of(_ORDINAL.sub(r"\1", rest))
    quantities: Counter[Quantity] = Counter()
    counts, counted = list[tuple[str, frozenset[str]]](), list[frozenset[str]]()
    at = 0
    while at < len(tokens):
        value, length = _number(tokens, at)
        if not length:
            at += 1
            continue
        lone = claim and length == 1 and tokens[at].lower() in ("one", "hundred", "thousand", "million")
        unit, things = _unit(tokens, at, length), _things(tokens[at + length :])
        counted.append(things)
        if claim and not unit and length == 1 and tokens[at].lower() in _COUNTS:
            counts.append((value, things))
        elif not lone:
            quantities[Quantity(value, unit)] += 1
        at += length
    return Figures(quantities, tuple(dates), tuple(counts), tuple(counted))


def _things(following: list[str]) -> frozenset[str]:
    """Return the words after a number, lower-cased, without a plural ending."""
    return frozenset(word.lower().removesuffix("s")[:6] for word in following[:3] if len(word) > 3)


def _dates(text: str) -> tuple[list[Date], str]:
    dates: list[Date] = []

    def take(match: re.Match[str]) -> str:
        parts = match.groupdict()
        name = next((group for group in match.groups() if group and group[0].isalpha()), "")
        month = int(parts.get("m") or 0) or MONTHS.get(name.lower().rstrip("."), 0)
        dates.append(Date(int(parts.get("y") or 0), month, int(parts.get("d") or 0)))
        return " ; "

    for pattern in _DATES:
        text = pattern.sub(take, text)
    for lone in _LONE_MONTH.finditer(text):
        dates.append(Date(0, MONTHS[lone[0].lower()], 0))
    return dates, text


def _number(tokens: list[str], at: int) -> tuple[str, int]:
    """Return the value that starts at a token and its length in tokens; 0 if there is none."""
    word = tokens[at].lower()
    if word[0].isdigit():
        value, length = _digits(word), 1
    elif word in _SMALL or word in _LARGE:
        return _written(tokens, at)
    else:
        return "", 0
    following = tokens[at + 1].lower() if at + 1 < len(tokens) else ""
    if following in _LARGE:
        return _plain(float(value) * _LARGE[following]), 2
    return value, length


def _digits(word: str) -> str:
    plain = re.sub(r",(?=\d{3}(?!\d))", "", word)
    plain = plain.replace(",", ".") if plain.count(",") == 1 and "." not in plain else plain
    try:
        return _plain(float(plain))
    except ValueError:  # a version or an address: compared as written
        return plain


def _plain(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _written(tokens: list[str], at: int) -> tuple[str, int]:
    total = current = length = 0
    for token in tokens[at:]:
        word = token.lower()
        if word in _SMALL and (current % 100 == 0 or (current % 10 == 0 and 0 < _SMALL[word] < 10)):
            current += _SMALL[word]
        elif word == "hundred":
            current = max(current, 1) * 100
        elif word in _LARGE:
            total, current = total + max(current, 1) * _LARGE[word], 0
        else:
            break
        length += 1
    return str(total + current), length


def _unit(tokens: list[str], at: int, length: int) -> str:
    before = tokens[at - 1].lower() if at else ""
    after = [token.lower() for token in tokens[at + length : at + length + 3]]
    if after[:2] == ["per", "cent"]:
        return "%"
    currency = _UNITS[before] if before and before in "$€£¥" else ""
    for word in after:
        if word in _UNITS:
            return f"{currency} {_UNITS[word]}".strip() if _UNITS[word] != currency else currency
        if not _ADJECTIVES.match(word):
            break
    return currency
