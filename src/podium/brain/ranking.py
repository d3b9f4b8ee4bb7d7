"""Which facts come first: about whom a text names, with the words that it uses, with the same meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from podium.engine.facts import Fact

_K = 60
"""How much a first place is worth beside a tenth; the usual figure of reciprocal rank fusion."""


def fuse(named: Iterable[Fact], *ranked: Sequence[Fact]) -> list[Fact]:
    """One order out of several: a fact gets points for its place in each list, and the points of a first
    place for being about somebody who is named."""
    points: dict[str, float] = {}
    facts: dict[str, Fact] = {}
    for fact in named:
        facts.setdefault(fact.id, fact)
        points[fact.id] = 1 / (_K + 1)
    for order in ranked:
        for place, fact in enumerate(order, 1):
            facts.setdefault(fact.id, fact)
            points[fact.id] = points.get(fact.id, 0.0) + 1 / (_K + place)
    return sorted(facts.values(), key=lambda fact: -points[fact.id])
