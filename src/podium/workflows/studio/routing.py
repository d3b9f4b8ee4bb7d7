"""Routing of a request to departments, by keywords or by a model."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from podium.agents.ask import Run
from podium.errors import GaveUpError, StepFailedError, UsageError
from podium.settings import nearest
from podium.workflows.studio import agents as roles
from podium.workflows.studio.contracts import Routing
from podium.workflows.studio.policy import mode_of, primary_and_supporting
from podium.workflows.studio.similarity import is_german, is_stop_word, stem, stems_of, words_of
from podium.workflows.studio.team import TeamSpec

NO_KEYWORD = "nothing in the request names a department; the first by priority takes it"
ONLY_A_NAME = "Only {name}, taken for a name, speaks for {department}; --departments chooses others."
_CLAUSE = re.compile(r"[.,;:!?\n]+")
_SENTENCE = re.compile(r"(?<=[.!?:;…])\s+|\n+")
_CALENDAR_TEXT = """
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december christmas easter i
"""
_CALENDAR = frozenset(_CALENDAR_TEXT.split())
_SHOUTED = re.compile(r"[A-Z]{2}|^[A-Z]$")
"""Abbreviations and product names: NASA, MySQL."""
_MOST_CAPITALS = 0.6
"""A sentence with a larger share of capitalised words is a headline, so its capitals do not indicate
names."""


SURE = 0.6
"""A primary department below this relevance is uncertain."""
STRONG = 0.6
"""A keyword of this weight is enough for a supporting department."""
SHORT_REQUEST = 15
"""In a request of at most this many words, one keyword may count for several departments."""
LONG_REQUEST = 9
"""In a request of more words than this, a single keyword is weak evidence."""
_NEGATIONS = frozenset(
    {
        "no",
        "not",
        "without",
        "except",
        "never",
        "skip",
        "exclude",
        "excluding",
        "neither",
        "nor",
        "none",
        "don't",
        "doesn't",
        "avoid",
    }
)
_NEGATION_REACH = 4
"""Maximum distance in words between a negation and the keyword that it negates."""

Evidence = Mapping[str, Sequence[tuple[str, float]]]
"""For each department, its matching words and their weights."""


@dataclass(frozen=True)
class Score:
    """Relevance of one department."""

    department: str
    relevance: float
    priority: int
    reason: str


@dataclass(frozen=True)
class Route:
    """The departments that work on a request, and the reasons."""

    primary: str
    supporting: tuple[str, ...]
    mode: str
    scores: tuple[Score, ...]
    """Scores of all departments, the most relevant first."""
    warnings: tuple[str, ...] = field(default=())
    router: str = "keywords"
    """`keywords`, `model` or `fixed`."""
    doubt: str = ""
    """Reason why keywords alone are not enough. Empty if they are."""
    needs: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """The departments whose output each department needs for this request."""
    parts: Mapping[str, str] = field(default_factory=dict[str, str])
    """Contribution of each department, if the router described it."""

    @property
    def chosen(self) -> tuple[str, ...]:
        return (self.primary, *self.supporting)

    def relevance(self, department: str) -> float:
        return next((score.relevance for score in self.scores if score.department == department), 0.0)


def route_by_keywords(team: TeamSpec, request: str, known_names: Collection[str] = ()) -> Route:
    """Route by weighted keywords and names. Without any match, choose the first department by priority."""
    evidence = evidence_in(team, request, known_names)
    scores = [
        Score(
            key,
            relevance([weight for _, weight in evidence[key]]),
            department.priority,
            _reason([word for word, _ in evidence[key]]),
        )
        for key, department in team.departments.items()
    ]
    route = routed(team, scores, dependencies(team, request, known_names))
    doubt = doubt_of(team, request, route, evidence, known_names)
    route = replace(route, doubt=doubt)
    name = _only_a_name(team, route, evidence, known_names)
    if name:
        return replace(route, warnings=(ONLY_A_NAME.format(name=name, department=route.primary),))
    return route


def evidence_in(team: TeamSpec, request: str, known_names: Collection[str] = ()) -> Evidence:
    """Return the matching keywords and the name for each department."""
    matched = keywords_in(team, request)
    named = names_in(team, request, known_names)
    evidence: dict[str, list[tuple[str, float]]] = {}
    for key, department in team.departments.items():
        own = [word for word in matched if word in department.keywords]
        once = {tuple(stems_of(word)): word for word in reversed(own)}  # `effect` and `effects` count once
        evidence[key] = [(word, department.keywords[word]) for word in own if word in once.values()]
        if named and department.names:
            evidence[key].append((named[0], department.names))
    return evidence


def _only_a_name(team: TeamSpec, route: Route, evidence: Evidence, known_names: Collection[str]) -> str:
    """Return the name that is the only evidence for the primary department, unless the project knows it."""
    own = team.departments[route.primary].keywords
    words = [word for word, _ in evidence[route.primary]]
    if len(words) != 1 or words[0] in own or _knows(known_names, words[0]):
        return ""
    return words[0]


def doubt_of(
    team: TeamSpec, request: str, route: Route, evidence: Evidence, known_names: Collection[str] = ()
) -> str:
    """Return the reason why keywords cannot decide this request, or an empty string."""
    primary, words = route.primary, words_of(request)
    if route.relevance(primary) == 0:
        return "no keyword names a department"
    name = _only_a_name(team, route, evidence, known_names)
    if name:
        return f"only {name}, perhaps a name, speaks for {primary}"
    own = [word for word, _ in evidence[primary]]
    known = _knows(known_names, own[0])
    if route.relevance(primary) < SURE and not known:
        return f"only {_quoted(own)} speaks for {primary}, and weakly"
    negated = _negated(team, request)
    if negated:
        return f"“{negated}” may be excluded by the request"
    if _is_foreign(words, {part for word in own for part in stems_of(word)}):
        return "the request seems to be in another language than the keywords"
    for key in route.supporting:
        matches = evidence[key]
        if len(matches) != 1 or matches[0][1] >= STRONG or _knows(known_names, matches[0][0]):
            continue
        shared = matches[0][0] in team.departments[primary].keywords
        if not shared or len(words) > SHORT_REQUEST:
            return f"only “{matches[0][0]}” speaks for {key}"
    if len(words) > LONG_REQUEST and len(own) == 1:
        return f"only “{own[0]}” speaks for {primary}"
    if len(words) > SHORT_REQUEST and not route.supporting:
        return f"in a longer request, only {primary} is named"
    return ""


def _negated(team: TeamSpec, request: str) -> str:
    """Return the first keyword that follows closely after a negation, or an empty string."""
    for clause in _CLAUSE.split(request):
        words = [word.lower().replace("’", "'") for word in words_of(clause)]
        for place, word in enumerate(words):
            if word in _NEGATIONS:
                matched = keywords_in(team, " ".join(words[place + 1 : place + 1 + _NEGATION_REACH]))
                if matched:
                    return matched[0]
    return ""


def _is_foreign(words: Sequence[str], keywords: Collection[str]) -> bool:
    """Return whether a request has no English stop words and few keywords."""
    letters = [word for word in words if word.isalpha()]
    if len(letters) < 4 or any(is_stop_word(word) for word in letters):
        return False
    return 2 * sum(stem(word) in keywords for word in letters) < len(letters)


def dependencies(
    team: TeamSpec, request: str | None = None, known_names: Collection[str] = ()
) -> dict[str, list[str]]:
    """Return the dependencies of each department for a request; without a request, all possible ones."""
    needs: dict[str, list[str]] = {}
    stems = set(stems_of(request or ""))
    named = request is not None and bool(names_in(team, request, known_names))
    for key, department in team.departments.items():
        needed = [
            other
            for other, words in department.depends_when.items()
            if request is None or any(set(stems_of(word)) <= stems for word in words)
        ]
        unnamed = () if named else department.depends_unless_named
        needs[key] = list(dict.fromkeys([*department.depends_on, *needed, *unnamed]))
    return needs


def _knows(names: Collection[str], name: str) -> bool:
    return name.casefold() in {known.casefold() for known in names}


def routed(
    team: TeamSpec, scores: Sequence[Score], needs: Mapping[str, Sequence[str]] | None = None
) -> Route:
    """Return a route from the departments' relevance."""
    order = team.by_priority()
    ranked = sorted(scores, key=lambda score: (-score.relevance, order.index(score.department)))
    warnings: tuple[str, ...] = ()
    if not any(score.relevance > 0 for score in ranked):
        warnings = (f"{NO_KEYWORD}: {order[0]}.".capitalize(),)
        ranked.sort(key=lambda score: order.index(score.department))
    primary, supporting = primary_and_supporting([(score.department, score.relevance) for score in ranked])
    needs = dependencies(team) if needs is None else needs
    mode = mode_of([primary, *supporting], needs)
    return Route(primary, tuple(supporting), mode, tuple(ranked), warnings, needs=needs)


def find_department(team: TeamSpec, text: str) -> str:
    """Return the key of the department with this key or name, or an empty string."""
    return find_key(text, {key: (department.name,) for key, department in team.departments.items()})


def find_key(text: str, known: Mapping[str, Sequence[str]]) -> str:
    """Return the key that equals the text or has it as a name, ignoring case and punctuation; else an empty
    string."""
    if text in known:
        return text
    wanted = _plain(text)
    for key, names in known.items():
        if wanted and wanted in {_plain(candidate) for candidate in (key, *names)}:
            return key
    return ""


def _plain(text: str) -> str:
    """Normalize a name: `Image-Quality Department` becomes `image quality`."""
    words = re.sub(r"[\W_]+", " ", text.casefold()).split()
    return " ".join(word for word in words if word not in ("the", "department", "specialist", "of"))


def checked_departments(text: str, team: TeamSpec) -> list[str]:
    """Parse department keys such as `story, audio`, without duplicates. Raise `UsageError` for an unknown or
    empty list."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    named = list(dict.fromkeys(find_department(team, part) or part for part in parts))
    known = f"The team {team.name} has: {', '.join(team.departments)}."
    if text and not named:
        raise UsageError(f"{text!r} names no department.", hint=known)
    for key in named:
        if key not in team.departments:
            meant = nearest(key, list(team.departments))
            hint = f"Did you mean {meant}? {known}" if meant else known
            raise UsageError(f"There is no department {key}.", hint=hint)
    return named


def route_fixed(team: TeamSpec, departments: Sequence[str]) -> Route:
    """Return the route that the user fixed. The first department is the primary one."""
    scores = [
        Score(
            key,
            float(key in departments),
            spec.priority,
            "chosen by hand" if key in departments else "not chosen",
        )
        for key, spec in team.departments.items()
    ]
    places = [*departments, *(key for key in team.departments if key not in departments)]
    ranked = sorted(scores, key=lambda score: places.index(score.department))
    needs, mode = dependencies(team), mode_of(departments, dependencies(team))
    return Route(departments[0], tuple(departments[1:]), mode, tuple(ranked), router="fixed", needs=needs)


def relevance(weights: Sequence[float]) -> float:
    """Combine the weights as independent evidence: 1 minus the product of (1 - weight). Never above 1."""
    doubt = 1.0
    for weight in weights:
        doubt *= 1 - weight
    return round(1 - doubt, 4)


# ── keywords and names in a request ──────────────────────────────────────────────────────────────


def keywords_in(team: TeamSpec, request: str) -> list[str]:
    """Return the keywords of all departments in the request, without duplicates. A longer phrase hides its
    words: `sound design` does not match the keyword `design`."""
    phrases: dict[str, list[tuple[tuple[str, ...], str]]] = {}
    for department in team.departments.values():
        for keyword in department.keywords:
            parts = tuple(stems_of(keyword))
            if parts:
                phrases.setdefault(parts[0], []).append((parts, keyword))
    text = stems_of(request)
    matched: dict[str, None] = {}
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
        matched |= dict.fromkeys(keyword for parts, keyword in here if len(parts) == longest)
    return list(matched)


def names_in(team: TeamSpec, request: str, known: Collection[str] = ()) -> list[str]:
    """Return people's names: names that the project knows, and capitalised words in mid-sentence."""
    low = f" {' '.join(words_of(request)).lower()} "
    names = {name: None for name in known if f" {' '.join(words_of(name)).lower()} " in low}
    keywords = {
        part
        for department in team.departments.values()
        for word in department.keywords
        for part in stems_of(word)
    }
    if is_german(request):  # German capitalises every noun, so capitals do not indicate names
        return list(names)
    for sentence in _SENTENCE.split(request):
        names |= dict.fromkeys(word for word in _capitalised(sentence) if stem(word) not in keywords)
    return list(names)


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


def _quoted(words: Sequence[str]) -> str:
    return " and ".join(f"“{word}”" for word in words)


UNABLE = "Unable to generate content"
ALL_ZERO = "The model finds no department relevant for this request; keywords decide."


async def choose_route(
    run: Run, team: TeamSpec, request: str, fixed: Sequence[str], router: str, names: list[str]
) -> Route:
    """Return the route: fixed by the user, by keywords, or by a model.

    With `auto`, keywords decide unless they are in doubt. A rehearsal has no model to ask, so keywords
    decide.
    """
    if fixed:
        return route_fixed(team, fixed)
    by_words = route_by_keywords(team, request, names)
    rehearsed = bool(run.config.get("rehearsal"))
    if router == "keywords" or (router == "auto" and (rehearsed or not by_words.doubt)):
        return by_words
    try:
        answer = await _ask(run, team, request, by_words)
    except StepFailedError as error:
        if router == "model":
            raise GaveUpError(f"{UNABLE}: routing failed: {error.reason}") from error
        note = f"Routing by a model failed, so keywords decide ({by_words.doubt}): {error.reason}"
        return replace(by_words, warnings=(*by_words.warnings, note))
    return _route_of(team, answer, by_words)


async def _ask(run: Run, team: TeamSpec, request: str, by_words: Route) -> Routing:
    def check(answer: Routing) -> str:
        keys = {score.department: find_department(team, score.department) for score in answer.scores}
        unknown = ", ".join(sorted(name for name, key in keys.items() if not key))
        if unknown:
            return f"there is no department {unknown}; there are {', '.join(team.departments)}"
        twice = [
            key for key, n in Counter(keys[score.department] for score in answer.scores).items() if n > 1
        ]
        return f"these departments are scored more than once: {', '.join(twice)}" if twice else ""

    offered = [
        {
            "key": key,
            "name": department.name,
            "skills": [spec.specialization for spec in department.specialists.values()],
        }
        for key, department in team.departments.items()
    ]
    signs = [
        {"department": score.department, "relevance": f"{score.relevance:g}", "reason": score.reason}
        for score in by_words.scores
        if score.relevance > 0
    ]
    return await run.ask(
        roles.ROUTER,
        "route",
        returns=Routing,
        check=check,
        request=request,
        departments=offered,
        signs=signs,
        doubt=by_words.doubt,
    )


def _route_of(team: TeamSpec, answer: Routing, by_words: Route) -> Route:
    scored = {find_department(team, score.department): score for score in answer.scores}
    if not any(score.relevance > 0 for score in scored.values()):
        return replace(by_words, warnings=(*by_words.warnings, ALL_ZERO))
    scores = [
        Score(key, scored[key].relevance, spec.priority, scored[key].reason or "scored by the model")
        if key in scored
        else Score(key, 0.0, spec.priority, "not scored by the model")
        for key, spec in team.departments.items()
    ]
    route = routed(team, scores, dependencies(team))
    parts = {key: score.part for key, score in scored.items() if score.part}
    return replace(route, router="model", doubt=by_words.doubt, parts=parts)
