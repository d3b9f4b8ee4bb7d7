"""Contradictions with canon that need no model: another value of the same thing, and the dead who act.

Everything that these rules cannot decide is left alone; a model may be asked about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from podium.brain.canon import Canon
from podium.brain.claims import Claim, claims_of
from podium.brain.life import PAST_ACTS, act_of, acts_of_others, tells_death, tells_life
from podium.brain.predicates import FIXED, LOCATION, STATUS, is_single
from podium.brain.values import OPPOSITE, difference
from podium.brain.words import value_words
from podium.engine.facts import Fact

Severity = Literal["low", "medium", "high", "critical"]
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high", "critical")


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """A new fact that does not go with what a project knows."""

    new: Fact
    canon: Fact
    reason: str
    """One sentence."""
    severity: Severity


def find_contradictions(facts: Sequence[Fact], canon: Canon) -> list[Contradiction]:
    """All of them, each pair of facts once, with what weighs most."""
    found: dict[tuple[int, str], Contradiction] = {}
    for place, fact in enumerate(facts):
        for clash in (*_life(fact, canon), *_values(fact, canon)):
            key = (place, clash.canon.id)
            known = found.get(key)
            if known is None or SEVERITIES.index(clash.severity) > SEVERITIES.index(known.severity):
                found[key] = clash
    return list(found.values())


# ── another value ──

_SHORT = 3
"""Words of a value that leaves little room for interpretation."""


def _values(fact: Fact, canon: Canon) -> Iterator[Contradiction]:
    key = canon.resolve(fact.subject)
    for claim in claims_of(fact):
        movable = claim.predicate == LOCATION and fact.kind == "object"
        if not movable and not is_single(claim.predicate, fact.kind):
            continue
        for known, said in canon.claims(key, claim.predicate):
            if known.id and known.id == fact.id:
                continue
            why = difference(claim.value, said.value, canon.is_named)
            if why and (why == OPPOSITE or not movable):
                yield Contradiction(
                    new=fact,
                    canon=known,
                    severity=_severity(fact, known, claim, said),
                    reason=f"{known.subject}, {known.predicate}: {why}: "
                    f"“{fact.value}” instead of “{known.value}”.",
                )


def _severity(fact: Fact, known: Fact, claim: Claim, said: Claim) -> Severity:
    if claim.predicate == STATUS and tells_life(known) and tells_death(fact):
        return "medium"  # people die as a story goes on
    if claim.predicate in FIXED or "rule" in (fact.kind, known.kind):
        return "high"
    short = max(len(value_words(claim.value)), len(value_words(said.value))) <= _SHORT
    return "medium" if short else "low"


# ── life and death ──


def _life(fact: Fact, canon: Canon) -> Iterator[Contradiction]:
    if not canon.dead:
        return
    key = canon.resolve(fact.subject)
    death = canon.dead.get(key)
    if death is not None:
        if tells_life(fact):
            yield _undead(fact, death, "lives", "critical")
        elif not tells_death(fact) and (verb := act_of(fact)):
            yield _undead(fact, death, f"acts (“{verb}”)", "high" if verb in PAST_ACTS else "critical")
    for dead, verb in acts_of_others(fact, canon.names_of_the_dead()).items():
        if dead != key:
            yield _undead(
                fact, canon.dead[dead], f"acts (“{verb}”)", "high" if verb in PAST_ACTS else "critical"
            )


def _undead(fact: Fact, death: Fact, what: str, severity: Severity) -> Contradiction:
    said = f"{death.predicate}: {death.value}"
    reason = f"{death.subject} is dead in canon ({said}) and {what} here."
    return Contradiction(new=fact, canon=death, reason=reason, severity=severity)
