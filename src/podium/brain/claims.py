"""Comparable claims in facts: numbers, units, dates, colours, life and death."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from podium.brain.vocabulary import (
    COLOURS,
    DESCRIPTION,
    SPELLINGS,
    STATUS,
    predicate_key,
    singular,
    word_set,
    words_of,
)
from podium.engine.store_parts import Fact

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

_ONES = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen
    """.split()
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_NUMBER_WORDS = {word: number for number, word in enumerate(_ONES)} | {
    word: number * 10 for number, word in enumerate(_TENS, 2)
}
_SPOKEN = re.compile(
    rf"\b(?:({'|'.join(_TENS)})[\s-]+({'|'.join(_ONES[1:10])})|({'|'.join([*_ONES, *_TENS])}))\b"
)
_FEET = re.compile(r"(\d+)\s*(?:'|ft\b|feet\b|foot\b)\s*(\d+)\s*(?:\"|''|in\b|inch(?:es)?\b)?")
_ENDLESS = re.compile(r"\d{16}")
"""An identifier rather than a number."""
_HOURS = re.compile(r"\b(\d+)\s*h(?:ours?|rs?)?\s*(?:and\s+)?(\d{1,2})\s*(?:m|min|mins|minutes?)?\b")
_METRES = re.compile(r"\b(\d)\s*m\s*(\d{2})\b")
_SCALES = {"hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9}
_DECADE = re.compile(r"\b(\d+0)'?s\b")
_NUMBER = re.compile(r"(?<![\w.])(-?\d{1,3}(?:,\d{3})+(?:\.\d+)?|-?\d+(?:[.,]\d+)?)\s*-?(%|[a-z]+)?")
_ABOUT = re.compile(
    r"\b(about|around|roughly|circa|ca|approximately|nearly|almost|some|over|early|mid|late)\b"
)

_MONTHS = {
    name: number
    for number, names in enumerate(
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
_MONTH = "|".join(_MONTHS)
_ISO = re.compile(r"\b(\d{4})-(\d{1,2})(?:-(\d{1,2}))?\b")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH})\b\.?(?:,?\s+(\d{{4}}))?")
_MONTH_FIRST = re.compile(rf"\b({_MONTH})\b\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(\d{{4}}))?")
_MONTH_YEAR = re.compile(rf"\b({_MONTH})\b\.?,?\s+(\d{{4}})\b")
_SLASHED = re.compile(r"\b\d{1,2}[/.]\d{1,2}[/.](\d{4})\b")
"""Day and month may be in either order: only the year is certain."""
_YEAR = re.compile(r"^\s*(?:in\s+|the\s+year\s+|year\s+)?(1\d{3}|2[01]\d{2})\s*$")


class Date(NamedTuple):
    """A day, a month or a year; 0 for unknown parts."""

    year: int
    month: int = 0
    day: int = 0

    def fits(self, other: Date) -> bool:
        """Return whether all parts known to both are equal."""
        return all(not mine or not theirs or mine == theirs for mine, theirs in zip(self, other, strict=True))


class Quantity(NamedTuple):
    """A number, with its unit if there is one."""

    number: float
    dimension: str = ""
    amount: float = 0.0
    """The number in the base unit of its dimension."""
    about: bool = False
    unit: float = 1.0
    """Factor of its unit; 0 for two units together, as in feet and inches."""
    span: float = 0.0
    """Length of the range that starts at the number: 9 for the 1920s."""

    def fits(self, other: Quantity) -> bool:
        """Return whether both are equal, with tolerance for conversions and more for approximate numbers."""
        if self.span or other.span:
            return self.number <= other.number + other.span and other.number <= self.number + self.span
        measured = self.dimension and other.dimension
        mine, theirs = (self.amount, other.amount) if measured else (self.number, other.number)
        room = 0.1 if self.about or other.about else 0.01 if measured and self.unit != other.unit else 1e-9
        return abs(mine - theirs) <= room * max(abs(mine), abs(theirs), 1e-9)

    def comparable(self, other: Quantity) -> bool:
        return not self.dimension or not other.dimension or self.dimension == other.dimension


class Figures(NamedTuple):
    """The dates and quantities of a text, and the text without them."""

    dates: list[Date]
    quantities: list[Quantity]
    rest: str


@lru_cache(maxsize=8192)
def figures_of(text: str) -> Figures:
    """Extract the dates and numbers of a text."""
    if _ENDLESS.search(text):
        return Figures([], [], text)
    plain = _SPOKEN.sub(_digits, text.casefold().replace("’", "'").replace("″", '"').replace("′", "'"))
    about = bool(_ABOUT.search(plain))
    dates, plain = _take_dates(plain)
    quantities: list[Quantity] = []

    def both(dimension: str, first: float, second: float) -> Callable[[re.Match[str]], str]:
        def take(match: re.Match[str]) -> str:
            amount = int(match[1]) * first + int(match[2]) * second
            quantities.append(Quantity(amount, dimension, amount, about, unit=0))
            return " "

        return take

    def decade(match: re.Match[str]) -> str:
        quantities.append(Quantity(float(match[1]), "", float(match[1]), about, span=9))
        return " "

    def number(match: re.Match[str]) -> str:
        raw, unit = match[1], match[2] or ""
        value = (
            float(raw.replace(",", "")) if re.search(r",\d{3}(\D|$)", raw) else float(raw.replace(",", "."))
        )
        dimension, factor = _UNITS.get(unit) or _UNITS.get(unit.removesuffix("s")) or ("", 1.0)
        quantities.append(Quantity(value, dimension, value * factor, about, unit=factor if dimension else 1))
        return " " if dimension else f" {unit}"

    plain = _FEET.sub(both("length", 0.3048, 0.0254), _scaled(plain))
    plain = _METRES.sub(both("length", 1.0, 0.01), _HOURS.sub(both("time", 3600.0, 60.0), plain))
    rest = _NUMBER.sub(number, _DECADE.sub(decade, plain))
    return Figures(dates, quantities, _ABOUT.sub(" ", rest) if quantities or dates else rest)


def _scaled(text: str) -> str:
    """Replace `5 million` and `1 hundred 99` by one number each."""
    for word, factor in _SCALES.items():
        pattern = rf"\b(\d+(?:\.\d+)?)\s+{word}s?\b(?:\s+(?:and\s+)?(\d+)\b)?"
        text = re.sub(
            pattern,
            lambda match, factor=factor: f"{round(float(match[1]) * factor + int(match[2] or 0))}",
            text,
        )
    return text


def _digits(match: re.Match[str]) -> str:
    tens, ones, single = match.groups()
    return str(_NUMBER_WORDS[single]) if single else str(_NUMBER_WORDS[tens] + _NUMBER_WORDS[ones])


def _take_dates(text: str) -> tuple[list[Date], str]:
    dates: list[Date] = []
    for pattern, order in ((_ISO, "ymd"), (_DAY_FIRST, "dmy"), (_MONTH_FIRST, "mdy"), (_MONTH_YEAR, "my")):
        for match in pattern.finditer(text):
            part = dict(zip(order, match.groups(), strict=True))
            month = part.get("m") or ""
            dates.append(
                Date(int(part["y"] or 0), _MONTHS.get(month) or int(month or 0), int(part.get("d") or 0))
            )
        text = pattern.sub(" ", text)
    dates += [Date(int(match[1])) for match in _SLASHED.finditer(text)]
    text = _SLASHED.sub(" ", text)
    if not dates and (year := _YEAR.match(text)):
        return [Date(int(year[1]))], ""
    return dates, text


_OPEN = frozenset({"is", "has", DESCRIPTION, "eye", "hair", "skin"})
"""Predicates whose values may contain several claims."""
_PARTS = {"eye": "eye colour", "hair": "hair colour", "skin": "skin colour"}
_AGED = re.compile(r"\b(?:years?[\s-]old|years of age|aged)\b", re.IGNORECASE)
_NEAR = 4
"""Maximum number of words between a colour and `eyes`."""


class Claim(NamedTuple):
    """One statement of a fact, with a normalized predicate."""

    predicate: str
    value: str


def claims_of(fact: Fact) -> list[Claim]:
    """Return all claims of a fact; the first is the fact itself."""
    predicate = predicate_key(fact.predicate)
    if predicate == "born":
        dated = bool(figures_of(fact.value).dates)
        predicate = "birth date" if dated else "birthplace"
    claims = [Claim(predicate, fact.value)]
    if predicate in _OPEN:
        claims += _coloured(predicate, fact.value)
    if predicate == "is" and _AGED.search(fact.value):
        claims.append(Claim("age", fact.value))
    if predicate == "is" and {SPELLINGS.get(word, word) for word in words_of(fact.value)} & {"dead", "alive"}:
        claims.append(Claim(STATUS, fact.value))
    return claims


def _coloured(predicate: str, value: str) -> list[Claim]:
    """Return colour claims: `tall, with green eyes and black hair` has two."""
    words = [singular(SPELLINGS.get(word, word)) for word in words_of(value)]
    claims: list[Claim] = []
    begin = 0
    for place, word in enumerate(words):
        if word in _PARTS:
            colours = [near for near in words[max(begin, place - _NEAR) : place] if near in COLOURS]
            begin = place + 1
            if colours:
                claims.append(Claim(_PARTS[word], " ".join(colours)))
    if not claims and predicate in _PARTS:
        colours = [word for word in words if word in COLOURS]
        if colours:
            claims.append(Claim(_PARTS[predicate], " ".join(colours)))
    return claims


DeadNames = dict[str, list[tuple[tuple[str, ...], str]]]
"""Names of dead subjects as words, with the key of each subject, by their first word."""

_DEATHS = word_set(
    "die dies died death killed murdered executed drowned drowns perished perishes dead deceased slain"
)
_DEATH_WORDS = word_set("death cause of date day year place manner time the his her how")
_TAKEN = word_set("killed murdered executed drowned slain")
"""Words that need a passive form: `killed | the captain` is about another person's death."""
_PASSIVE = word_set("is was were gets got been by in at during")
_ALIVE = word_set("alive survives survived living revived resurrected")
_UNSURE = word_set(
    "almost nearly fake fakes faked presumed believed rumoured rumored supposedly thought not no never false "
    "unknown threatens fears feared wants tries plans may might could undead will someone somebody"
)
"""Words with which a death is not certain."""

_SPEECH = "say speak tell ask answer shout whisper talk reply call sing laugh narrate warn argue explain cry"
_DEEDS = (
    "walk run enter fight arrive leave drive kill meet visit attend climb open close take give hold sit "
    "stand eat drink write read look watch smile kiss hug dance ride sail travel return appear join lead "
    "follow grab throw search find hide escape attack save rescue confront help"
)
_PAST = (
    "said spoke told asked answered shouted whispered talked replied called sang laughed warned walked ran "
    "entered fought arrived left drove met visited attended climbed appeared returned joined"
)


def _forms(verbs: str) -> frozenset[str]:
    forms: set[str] = set()
    for verb in verbs.split():
        forms |= {verb, f"{verb}s", f"{verb}es", f"{verb.removesuffix('e')}ing", f"{verb}{verb[-1]}ing"}
    return frozenset(forms) | {"cries", "replies", "carries"}


_SCRIPT = word_set("dialogue line lines says speech script exchange")
"""Predicates with which `Marcus: …` means that Marcus speaks."""
ACTS = _forms(f"{_SPEECH} {_DEEDS}") | {"dialogue", "line", "lines"}
PAST_ACTS = word_set(_PAST)

_APART = re.compile(
    r"\b(flash\s?backs?|memor(y|ies)|remembers?|remembered|ghosts?|spirits?|dreams?|visions?|recordings?|letters?"
    r"|photographs?|photos?|portraits?|corpse|dead body|funeral|grave|tomb|years ago|earlier|hallucinat\w+"
    r"|imagin\w+|before (his|her|their|the) death|undead|haunts?|resurrect\w*|diary|will and testament)\b",
    re.IGNORECASE,
)
"""Contexts in which the dead may speak."""
_ADVERBS = word_set("then now still slowly quietly softly suddenly also again finally calmly angrily")


_LIFE = re.compile(
    "|".join(
        rf"\b{word}\b"
        for word in sorted(
            {*_DEATHS, *_ALIVE, "dead", "alive"}
            | {word for word, same in SPELLINGS.items() if same in ("dead", "alive")}
        )
    ),
    re.IGNORECASE,
)


def speaks_of_life(fact: Fact) -> bool:
    """Return whether `tells_death` or `tells_life` can be true. Much faster than both, and most facts are not
    about life and death."""
    text = f"{fact.predicate} {fact.value}"
    return not text.isascii() or _LIFE.search(text) is not None


def tells_death(fact: Fact) -> bool:
    """Return whether a fact states with certainty that its subject is dead."""
    words = set(words_of(f"{fact.predicate} {fact.value}"))
    if words & _UNSURE:
        return False
    if _is_death(words_of(fact.predicate)):
        return True
    return any(_is_state(claim, "dead") for claim in claims_of(fact))


def _is_death(predicate: list[str]) -> bool:
    """Return True for `dies in`, `was killed by` and `cause of death`, but not for `killed` or `father's
    death`."""
    if "death" in predicate:
        return set(predicate) <= _DEATH_WORDS
    if set(predicate) & _TAKEN:
        return bool(set(predicate) & _PASSIVE)
    head = next((word for word in predicate if word not in _PASSIVE), "")
    return head in _DEATHS


def tells_life(fact: Fact) -> bool:
    """Return whether a fact states that its subject is alive."""
    if set(words_of(fact.value)) & _UNSURE:
        return False
    if set(words_of(fact.predicate)) & _ALIVE and "no" not in words_of(fact.value):
        return True
    return any(_is_state(claim, "alive") for claim in claims_of(fact))


def act_of(fact: Fact) -> str:
    """Return the verb with which a fact's subject acts; empty if it does not, or only in a memory."""
    if is_apart(fact):
        return ""
    return _verb([word for word in words_of(fact.predicate) if word not in ("is", "are", "was")])


def acts_of_others(fact: Fact, names: DeadNames) -> dict[str, str]:
    """Return which of these act in a fact about another subject, by key, with the verb: `Scene 7 | action |
    Marcus walks in`."""
    words = words_of(fact.value)
    verbs: dict[str, str] = {}
    for place, word in enumerate(words):
        for name, key in names.get(word, ()):
            if tuple(words[place : place + len(name)]) == name:
                verb = _verb(words[place + len(name) :]) or _spoken(fact, name)
                if verb:
                    verbs.setdefault(key, verb)
    return {} if not verbs or is_apart(fact) else verbs


def _spoken(fact: Fact, name: tuple[str, ...]) -> str:
    """Return `dialogue` for a script line such as `Marcus: We should go.`"""
    if not set(words_of(fact.predicate)) & _SCRIPT:
        return ""
    line = rf"\b{re.escape(' '.join(name))}\b\s*(\([^)]*\))?\s*:"
    return "dialogue" if re.search(line, fact.value.lower()) else ""


def is_apart(fact: Fact) -> bool:
    """Return whether a fact is about a memory, a ghost, a letter: nothing that happens now."""
    return bool(_APART.search(f"{fact.subject} {fact.predicate} {fact.value} {fact.quote}"))


def _verb(words: list[str]) -> str:
    for word in words[:2]:
        if word in ACTS or word in PAST_ACTS:
            return word
        if word not in _ADVERBS:
            return ""
    return ""


def _is_state(claim: Claim, state: str) -> bool:
    if claim.predicate != STATUS:
        return False
    words = {SPELLINGS.get(word, word) for word in words_of(claim.value)}
    return state in words or (state == "dead" and bool(words & _DEATHS))
