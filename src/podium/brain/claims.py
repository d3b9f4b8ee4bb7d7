"""A fact as it can be compared: `has | green eyes` claims the same as `eye colour | green`."""

from __future__ import annotations

import re
from typing import NamedTuple

from podium.brain.predicates import DESCRIPTION, STATUS, predicate_key
from podium.brain.quantities import figures_of
from podium.brain.words import COLOURS, SPELLINGS, singular, words_of
from podium.engine.facts import Fact

_OPEN = frozenset({"is", "has", DESCRIPTION, "eye", "hair", "skin"})
"""Predicates whose values may tell several things at once."""
_PARTS = {"eye": "eye colour", "hair": "hair colour", "skin": "skin colour"}
_AGED = re.compile(r"\b(?:years?[\s-]old|years of age|aged)\b", re.IGNORECASE)
_NEAR = 4
"""So many words before `eyes` may hold their colour."""


class Claim(NamedTuple):
    """One thing that a fact says, in words that other facts share."""

    predicate: str
    value: str


def claims_of(fact: Fact) -> list[Claim]:
    """Everything that a fact says; the first is the fact itself."""
    predicate = predicate_key(fact.predicate)
    if predicate == "born":
        dated = bool(figures_of(fact.value).dates)
        predicate = "birth date" if dated else "birthplace"
    found = [Claim(predicate, fact.value)]
    if predicate in _OPEN:
        found += _coloured(predicate, fact.value)
    if predicate == "is" and _AGED.search(fact.value):
        found.append(Claim("age", fact.value))
    if predicate == "is" and {SPELLINGS.get(word, word) for word in words_of(fact.value)} & {"dead", "alive"}:
        found.append(Claim(STATUS, fact.value))
    return found


def _coloured(predicate: str, value: str) -> list[Claim]:
    """`tall, with green eyes and black hair`: the colours, each with what it is the colour of."""
    words = [singular(SPELLINGS.get(word, word)) for word in words_of(value)]
    found: list[Claim] = []
    begin = 0
    for place, word in enumerate(words):
        if word in _PARTS:
            colours = [near for near in words[max(begin, place - _NEAR) : place] if near in COLOURS]
            begin = place + 1
            if colours:
                found.append(Claim(_PARTS[word], " ".join(colours)))
    if not found and predicate in _PARTS:
        colours = [word for word in words if word in COLOURS]
        if colours:
            found.append(Claim(_PARTS[predicate], " ".join(colours)))
    return found
