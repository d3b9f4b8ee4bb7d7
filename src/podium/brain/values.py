"""When two values of the same thing differ, and when they are only put in other words."""

from __future__ import annotations

from collections.abc import Callable

from podium.brain.quantities import Date, Figures, figures_of
from podium.brain.words import COLOURS, value_words

LONGEST = 8
"""Values of more words than this are prose: whether they contradict is for a model to say."""
ALIKE = 0.5
"""Longer values that share so much of their words are taken as the same thing said twice."""

_NOISE = frozenset({"old", "age", "aged", "year", "born", "tall", "high", "long", "dark", "light", "bright",
                    "deep", "pale", "very", "quite", "eye", "hair"})  # fmt: skip
"""Words that only shade a value."""
_OPPOSITES = (
    ("short", "long"), ("short", "tall"), ("young", "old"), ("left", "right"), ("high", "low"),
    ("open", "closed"), ("straight", "curly"), ("rich", "poor"), ("alive", "dead"), ("married", "single"),
    ("east", "west"), ("north", "south"), ("inside", "outside"), ("indoors", "outdoors"),
)  # fmt: skip
OPPOSITE = "the opposite"
_NOT = frozenset({"not", "no"})


def difference(new: str, canon: str, name: Callable[[str], str] = lambda text: "") -> str:
    """Why two values contradict each other; empty: they do not, or only a model could tell. `name` gives
    the name that a value stands for, so that a nickname is no other person."""
    if new.casefold().strip() == canon.casefold().strip() or (name(new) and name(new) == name(canon)):
        return ""
    mine, theirs = figures_of(new), figures_of(canon)
    figures = _figures(mine, theirs)
    if figures is not None:
        return figures or _words(mine.rest, theirs.rest, figured=True)
    return _words(new, canon)


def _figures(mine: Figures, theirs: Figures) -> str | None:
    """`None`: there is nothing to compare."""
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
    if colours or others:  # a colour beside something else may tell of something else
        return "" if colours <= others or others <= colours else "another colour"
    mine, theirs = mine - _NOISE or mine, theirs - _NOISE or theirs
    if not mine or not theirs or mine <= theirs or theirs <= mine:
        return ""
    if figured or max(len(mine), len(theirs)) > LONGEST:
        return ""
    if min(len(mine), len(theirs)) >= 4 and len(mine & theirs) / len(mine | theirs) >= ALIKE:
        return ""
    return "another value"
