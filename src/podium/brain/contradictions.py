"""Contradiction rules.

Cases that these rules cannot decide are skipped; a model may be asked about them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import msgspec

from podium.brain.canon import Canon
from podium.brain.claims import Claim, Date, Figures, claims_of, figures_of
from podium.brain.life import PAST_ACTS, act_of, acts_of_others, tells_death, tells_life
from podium.brain.vocabulary import COLOURS, FIXED, LOCATION, STATUS, is_single, value_words
from podium.engine.store_parts import Fact

LONGEST = 8
"""Values with more words than this are prose: only a model can tell whether they contradict."""
ALIKE = 0.5
"""Share of common words from which longer values count as the same."""

_NOISE = frozenset({"old", "age", "aged", "year", "born", "tall", "high", "long", "dark", "light", "bright",
                    "deep", "pale", "very", "quite", "eye", "hair"})  # fmt: skip
"""Words that only qualify a value."""
_OPPOSITES = (
    ("short", "long"), ("short", "tall"), ("young", "old"), ("left", "right"), ("high", "low"),
    ("open", "closed"), ("straight", "curly"), ("rich", "poor"), ("alive", "dead"), ("married", "single"),
    ("east", "west"), ("north", "south"), ("inside", "outside"), ("indoors", "outdoors"),
)  # fmt: skip
OPPOSITE = "the opposite"
_NOT = frozenset({"not", "no"})


def difference(new: str, canon: str, name: Callable[[str], str] = lambda text: "") -> str:
    """Return why two values contradict each other; empty if they do not, or if only a model could tell.
    `name` returns the subject that a value refers to, so that a nickname is not another person."""
    if new.casefold().strip() == canon.casefold().strip() or (name(new) and name(new) == name(canon)):
        return ""
    mine, theirs = figures_of(new), figures_of(canon)
    figures = _figures(mine, theirs)
    if figures is not None:
        return figures or _words(mine.rest, theirs.rest, figured=True)
    return _words(new, canon)


def _figures(mine: Figures, theirs: Figures) -> str | None:
    """Compare dates and quantities; `None` if there is nothing to compare."""
    if mine.dates and theirs.dates:
        return "" if _any_fits(mine.dates, theirs.dates) else "another date"
    pairs = [(a, b) for a in mine.quantities for b in theirs.quantities if a.comparable(b)]
    if not pairs:  # figures beside words, or figures of different things: only a model could tell
        return "" if any((*mine[:2], *theirs[:2])) else None
    return "" if any(a.fits(b) for a, b in pairs) else "another number"


def _parted(mine: frozenset[str], theirs: frozenset[str], one: str, other: str) -> bool:
    return one in mine and other in theirs and other not in mine and one not in theirs


def _any_fits(mine: list[Date], theirs: list[Date]) -> bool:
    return any(a.fits(b) for a in mine for b in theirs)


def _words(new: str, canon: str, *, figured: bool = False) -> str:
    mine, theirs = value_words(new), value_words(canon)
    denied = bool(mine & _NOT) != bool(theirs & _NOT)
    mine, theirs = mine - _NOT, theirs - _NOT
    if denied and mine and theirs:
        return "one denies the other" if mine <= theirs or theirs <= mine else ""
    if denied:
        return "another value"
    if any(_parted(mine, theirs, one, other) for pair in _OPPOSITES for one, other in (pair, pair[::-1])):
        return OPPOSITE
    colours, others = mine & COLOURS, theirs & COLOURS
    if colours or others:  # a colour beside something else may refer to something else
        return "" if colours <= others or others <= colours else "another colour"
    mine, theirs = mine - _NOISE or mine, theirs - _NOISE or theirs
    if not mine or not theirs or mine <= theirs or theirs <= mine:
        return ""
    if figured or max(len(mine), len(theirs)) > LONGEST:
        return ""
    if min(len(mine), len(theirs)) >= 4 and len(mine & theirs) / len(mine | theirs) >= ALIKE:
        return ""
    return "another value"


Severity = Literal["low", "medium", "high", "critical"]
SEVERITIES: tuple[Severity, ...] = ("low", "medium", "high", "critical")


class Contradiction(msgspec.Struct, frozen=True, kw_only=True):
    """A new fact that contradicts a fact of the project."""

    new: Fact
    canon: Fact
    reason: str
    """One sentence."""
    severity: Severity


def find_contradictions(facts: Sequence[Fact], canon: Canon) -> list[Contradiction]:
    """Return all contradictions, each pair of facts once, with the highest severity."""
    found: dict[tuple[int, str], Contradiction] = {}
    for place, fact in enumerate(facts):
        for clash in (*_life(fact, canon), *_values(fact, canon)):
            key = (place, clash.canon.id)
            known = found.get(key)
            if known is None or SEVERITIES.index(clash.severity) > SEVERITIES.index(known.severity):
                found[key] = clash
    return list(found.values())


# ── different values ──

_SHORT = 3
"""Maximum number of words of a value that leaves little room for interpretation."""


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
