"""Which departments a request is for, found without a model: weighted words, and names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from podium.errors import UsageError
from podium.models.german import is_german
from podium.settings import nearest
from podium.workflows.studio.matching import stem, stems_of, words_of
from podium.workflows.studio.policy import mode_of, primary_and_supporting
from podium.workflows.studio.team import TeamSpec

NO_KEYWORD = "nothing in the request names a department; the first by priority takes it"
ONLY_A_NAME = "Only {name}, taken for a name, speaks for {department}; --departments chooses others."
_SENTENCE = re.compile(r"(?<=[.!?:;…])\s+|\n+")
_CALENDAR_TEXT = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter i
"""
_CALENDAR = frozenset(_CALENDAR_TEXT.split())
_SHOUTED = re.compile(r"[A-Z]{2}|^[A-Z]$")
"""Abbreviations and products: NASA, MySQL."""
_MOST_CAPITALS = 0.6
"""With a larger share of capitalised words a sentence is a headline, and tells nothing about names."""


@dataclass(frozen=True)
class Score:
    """How relevant one department is."""

    department: str
    relevance: float
    priority: int
    reason: str


@dataclass(frozen=True)
class Route:
    """Who works on a request."""

    primary: str
    supporting: tuple[str, ...]
    mode: str
    scores: tuple[Score, ...]
    """Of all departments, the most relevant first."""
    warnings: tuple[str, ...] = field(default=())

    @property
    def chosen(self) -> tuple[str, ...]:
        return (self.primary, *self.supporting)

    def relevance(self, department: str) -> float:
        return next((one.relevance for one in self.scores if one.department == department), 0.0)


def route_by_keywords(team: TeamSpec, request: str, known_names: Collection[str] = ()) -> Route:
    """Weighted keywords and names decide; nothing at all: the first department by priority."""
    said = keywords_said(team, request)
    named = names_in(team, request, known_names)
    scores: list[Score] = []
    for key, department in team.departments.items():
        own = [word for word in said if word in department.keywords]
        once = {tuple(stems_of(word)): word for word in reversed(own)}  # `effect` and `effects` are one sign
        found = [(word, department.keywords[word]) for word in own if word in once.values()]
        if named and department.names:
            found.append((named[0], department.names))
        strength = relevance([weight for _, weight in found])
        reason = _reason([word for word, _ in found])
        scores.append(Score(key, strength, department.priority, reason))
    route = routed(team, scores)
    own = team.departments[route.primary].keywords
    by_name = named and route.relevance(route.primary) > 0 and not any(word in own for word in said)
    if by_name and not _knows(known_names, named[0]):
        return replace(route, warnings=(ONLY_A_NAME.format(name=named[0], department=route.primary),))
    return route


def _knows(names: Collection[str], name: str) -> bool:
    return name.casefold() in {one.casefold() for one in names}


def routed(team: TeamSpec, scores: Sequence[Score]) -> Route:
    """Primary, supporting and mode from the departments' relevance."""
    order = team.by_priority()
    ranked = sorted(scores, key=lambda one: (-one.relevance, order.index(one.department)))
    warnings: tuple[str, ...] = ()
    if not any(one.relevance > 0 for one in ranked):
        warnings = (f"{NO_KEYWORD}: {order[0]}.".capitalize(),)
        ranked.sort(key=lambda one: order.index(one.department))
    primary, supporting = primary_and_supporting([(one.department, one.relevance) for one in ranked])
    needs = {key: one.depends_on for key, one in team.departments.items()}
    return Route(primary, tuple(supporting), mode_of([primary, *supporting], needs), tuple(ranked), warnings)


def checked_departments(given: str, team: TeamSpec) -> list[str]:
    """The keys in `story, audio`, each once; refused if one is nobody's, or if there is none."""
    named = list(dict.fromkeys(part.strip() for part in given.split(",") if part.strip()))
    known = f"The team {team.name} has: {', '.join(team.departments)}."
    if given and not named:
        raise UsageError(f"{given!r} names no department.", hint=known)
    for key in named:
        if key not in team.departments:
            meant = nearest(key, list(team.departments))
            hint = f"Did you mean {meant}? {known}" if meant else known
            raise UsageError(f"There is no department {key}.", hint=hint)
    return named


def route_fixed(team: TeamSpec, departments: Sequence[str]) -> Route:
    """Somebody has chosen: the first one is the primary."""
    scores = [
        Score(key, float(key in departments), one.priority,
              "chosen by hand" if key in departments else "not chosen")
        for key, one in team.departments.items()
    ]  # fmt: skip
    places = [*departments, *(one.department for one in scores if one.department not in departments)]
    ranked = sorted(scores, key=lambda one: places.index(one.department))
    needs = {key: one.depends_on for key, one in team.departments.items()}
    return Route(departments[0], tuple(departments[1:]), mode_of(departments, needs), tuple(ranked))


def relevance(weights: Sequence[float]) -> float:
    """Each sign takes its share of the doubt that the others leave: never above 1, never by counting."""
    doubt = 1.0
    for weight in weights:
        doubt *= 1 - weight
    return round(1 - doubt, 4)


# ── what a request says ──────────────────────────────────────────────────────────────────────────


def keywords_said(team: TeamSpec, request: str) -> list[str]:
    """The keywords of all departments that occur, each once. A longer phrase hides the words in it: `sound
    design` does not speak for whoever does design."""
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for department in team.departments.values():
        for keyword in department.keywords:
            parts = tuple(stems_of(keyword))
            if parts:
                phrases.setdefault(parts[0], []).append((parts, keyword))
    text = stems_of(request)
    found: dict[str, None] = {}
    hidden_until = 0
    for place, word in enumerate(text):
        here = [
            (parts, keyword)
            for parts, keyword in phrases.get(word, ())
            if tuple(text[place : place + len(parts)]) == parts and place + len(parts) > hidden_until
        ]
        if not here or place < hidden_until:
            continue
        longest = max(len(parts) for parts, _ in here)
        hidden_until = place + longest
        found |= dict.fromkeys(keyword for parts, keyword in here if len(parts) == longest)
    return list(found)


def names_in(team: TeamSpec, request: str, known: Collection[str] = ()) -> list[str]:
    """Names of people: those that the project knows, and capitalised words in mid-sentence."""
    low = f" {' '.join(words_of(request)).lower()} "
    found = {name: None for name in known if f" {' '.join(words_of(name)).lower()} " in low}
    keywords = {part for one in team.departments.values() for word in one.keywords for part in stems_of(word)}
    if is_german(request):  # every noun has a capital: none of them tells a name
        return list(found)
    for sentence in _SENTENCE.split(request):
        found |= dict.fromkeys(word for word in _capitalised(sentence) if stem(word) not in keywords)
    return list(found)


def _capitalised(sentence: str) -> Iterator[str]:
    words = words_of(sentence)
    if sum(word[:1].isupper() for word in words) > _MOST_CAPITALS * len(words) and len(words) > 3:
        return
    for word in words[1:]:
        if word[:1].isupper() and not _SHOUTED.search(word) and word.lower() not in _CALENDAR:
            yield word


def _reason(words: Sequence[str]) -> str:
    shown = ", ".join(words[:6]) + (", …" if len(words) > 6 else "")
    return f"keywords: {shown}" if words else "no keyword"
