"""Rules, numbers, state machine of `research`.

who works            WORKERS, level_of, wanted_count, required_workers, choose
what failing means   ATTEMPTS, WAITS, FALLBACKS
how good it is       WEIGHTS, overall, decide, ANSWERS, improvement

initialized → planning → strategy → executing → evaluating ─┬→ merging → completed
                 ↑                                          │
                 └────────────── re_planning ←──────────────┘          any of these seven → failed
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Literal

import msgspec

from podium.errors import InvalidTransitionError

Category = Literal["research", "analysis", "writing", "quality"]
Criticality = Literal["critical", "standard", "optional"]
Level = Literal["simple", "medium", "complex"]
Decision = Literal["complete", "continue", "force_complete"]


class Worker(msgspec.Struct, frozen=True):
    """One line of the table."""

    name: str
    label: str
    """As the result calls it: `News search unavailable`."""
    category: Category
    cost: float
    """What it is expected to cost, in US dollars."""
    seconds: float
    """What it is expected to take."""
    priority: int
    """1 is chosen first and given up last."""
    inputs: tuple[str, ...]
    output: str
    criticality: Criticality
    asks: bool
    """Whether a model works in it: only then can a cheaper one be used."""


_READ = ("sources", "texts")
_KNOWN = (*_READ, "synthesis", "summary", "insights")
_TEXT = ("introduction", "draft", "conclusion")
_BOTH = (*_TEXT, *_READ)
_NONE: tuple[str, ...] = ()

# name, how the result calls it, category, cost, seconds, priority, inputs, outputs, criticality, asks a model
_ROWS: tuple[tuple[str, str, Category, float, float, int, tuple[str, ...], str, Criticality, bool], ...] = (
    ("web_search", "Web search", "research", 0.15, 180, 1, _NONE, "sources", "standard", False),
    ("academic_search", "Academic search", "research", 0.20, 300, 7, _NONE, "sources", "standard", False),
    ("news_search", "News search", "research", 0.15, 120, 6, _NONE, "sources", "standard", False),
    ("social_media", "Social media search", "research", 0.15, 120, 17, _NONE, "sources", "optional", False),
    ("web_scraper", "Full texts", "research", 0.25, 240, 9, ("sources",), "texts", "standard", False),
    ("content_synthesizer", "Synthesis", "analysis", 0.30, 120, 4, _READ, "synthesis", "standard", True),
    ("summarization", "Summaries", "analysis", 0.20, 90, 11, _READ, "summary", "standard", True),
    ("insight_extractor", "Insights", "analysis", 0.20, 90, 10, _READ, "insights", "standard", True),
    ("introduction_writer", "Opening", "writing", 0.20, 90, 12, _KNOWN, "introduction", "standard", True),
    ("article_writer", "Article writing", "writing", 0.90, 360, 2, _KNOWN, "draft", "critical", True),
    ("conclusion_writer", "Conclusion", "writing", 0.15, 60, 13, ("draft",), "conclusion", "standard", True),
    ("fact_checker", "Fact checking", "quality", 0.35, 240, 5, _BOTH, "claims", "standard", True),
    ("editor", "Editing", "quality", 0.25, 120, 3, _TEXT, "edited", "standard", True),
    ("citation_formatter", "Citations", "quality", 0.10, 120, 8, _BOTH, "citations", "standard", False),
    ("seo_optimizer", "SEO optimization", "quality", 0.10, 60, 16, _TEXT, "seo", "optional", False),
    ("readability_checker", "Readability", "quality", 0.05, 30, 14, _TEXT, "readability", "optional", False),
    ("plagiarism_checker", "Plagiarism", "quality", 0.10, 60, 15, _BOTH, "plagiarism", "optional", False),
)  # fmt: skip

WORKERS = {row[0]: Worker(*row) for row in _ROWS}
"""All 17. The eight with the priorities 1 to 8 cost $2.40 and take 17 minutes."""

CATEGORIES: tuple[Category, ...] = ("research", "analysis", "writing", "quality")
"""The order of the steps of a plan."""
SEARCHES = ("web_search", "academic_search", "news_search", "social_media")
"""Workers that find sources; the scraper only reads what they found."""
NEEDING = (*SEARCHES, "web_scraper")
"""Workers that have nothing to do unless there is something behind them: a provider, or pages to be read."""
SEARCH_OF = {
    "web": "web_search", "academic": "academic_search", "news": "news_search", "social": "social_media",
}  # fmt: skip
"""Which worker finds a kind of source. A corpus is searched by all of them."""

# ── who works ────────────────────────────────────────────────────────────────────────────────────

FEWEST = 3
RANGES: dict[Level, tuple[int, int]] = {"simple": (3, 5), "medium": (6, 10), "complex": (11, 17)}
EDGES: dict[Level, tuple[float, float]] = {"simple": (0.0, 0.4), "medium": (0.4, 0.7), "complex": (0.7, 1.0)}
MANY_SOURCES = 15
"""From here on every research worker helps."""


def level_of(complexity: float) -> Level:
    """[0, .4) simple, [.4, .7) medium, [.7, 1] complex."""
    if complexity < 0.4:
        return "simple"
    return "medium" if complexity < 0.7 else "complex"


def wanted_count(complexity: float, depth: str) -> int:
    """How many workers: within the level's range, the more complex the more; a light depth takes the fewest
    of the range, a deep one the most."""
    level = level_of(complexity)
    fewest, most = RANGES[level]
    if depth != "standard":
        return fewest if depth == "light" else most
    low, high = EDGES[level]
    share = (complexity - low) / (high - low)
    return fewest + math.floor((most - fewest) * share + 1e-9)


def required_workers(tone: str, min_sources: int, preferred: Collection[str]) -> dict[str, str]:
    """Workers that a brief cannot do without, and why; they come on top of the range if they must."""
    wanted = {SEARCH_OF[kind]: f"{kind} sources are preferred" for kind in SEARCH_OF if kind in preferred}
    if min_sources >= MANY_SOURCES:
        for worker in ("academic_search", "news_search", "web_scraper"):
            wanted.setdefault(worker, f"{min_sources} sources are asked for")
    if tone.strip().lower() == "academic":
        wanted.setdefault("citation_formatter", "an academic tone wants tidy citations")
    return wanted


def choose(count: int, required: Collection[str], useful: Collection[str]) -> list[str]:
    """The `count` workers that come first, and whoever is required besides. One of `NEEDING` is only chosen
    if it is `useful`: a source stands behind it."""
    usable = [one for one in by_priority(WORKERS) if one not in NEEDING or one in useful]
    first = set(usable[:count]) | {one for one in required if one in usable}
    if not first & set(SEARCHES):
        first |= set([one for one in usable if one in SEARCHES][:1])
    return [one for one in usable if one in first]


def by_priority(workers: Collection[str]) -> list[str]:
    return sorted(workers, key=lambda name: WORKERS[name].priority)


def needs(worker: str, other: str) -> bool:
    """Whether a worker uses what the other one makes."""
    return WORKERS[other].output in WORKERS[worker].inputs


# ── what it is expected to take ──────────────────────────────────────────────────────────────────

CHEAPER_COST, CHEAPER_TIME = 0.4, 0.6
"""What a fast model takes of a worker's cost and seconds."""


def cost_of(worker: str, *, cheaper: bool = False) -> float:
    row = WORKERS[worker]
    return row.cost * (CHEAPER_COST if cheaper and row.asks else 1)


def seconds_of(worker: str, *, cheaper: bool = False) -> float:
    row = WORKERS[worker]
    return row.seconds * (CHEAPER_TIME if cheaper and row.asks else 1)


# ── what failing means ───────────────────────────────────────────────────────────────────────────

ATTEMPTS = 3
WAITS = (2.0, 4.0)
"""Seconds before the second and the third attempt."""

FALLBACKS = {"academic_search": "web_search", "web_scraper": "snippets", "fact_checker": "warning"}
"""What stands in for a worker that failed for good."""

# ── how good it is ───────────────────────────────────────────────────────────────────────────────

MAX_ITERATIONS = 3
ABOUT_IT = 0.5
"""How many of the topic's words the best source should hold; with fewer a warning says so."""
WEIGHTS = {"article": 0.30, "source": 0.25, "factual": 0.25, "writing": 0.20}
PARTS = {
    "article": ("coverage", "length", "structure"),
    "source": ("count", "diversity", "citations"),
    "factual": ("verified",),
    "writing": ("grammar", "readability", "tone"),
}
"""Each component is the plain mean of its parts."""
WORKERS_OF: dict[str, tuple[str, ...]] = {
    "article": ("introduction_writer", "article_writer", "conclusion_writer"),
    "source": (*SEARCHES, "web_scraper", "citation_formatter"),
    "factual": ("fact_checker",),
    "writing": ("editor", "readability_checker"),
}
"""Without any of its workers a component is left out."""


def components(parts: Mapping[str, float], worked: Collection[str]) -> dict[str, float]:
    """The component scores out of those parts that are known."""
    found: dict[str, float] = {}
    for component, names in PARTS.items():
        known = [parts[name] for name in names if name in parts]
        if known and set(WORKERS_OF[component]) & set(worked):
            found[component] = sum(known) / len(known)
    return found


def overall(scores: Mapping[str, float]) -> float:
    """The weighted mean of the components that there are, unrounded."""
    weights = {name: WEIGHTS[name] for name in scores}
    total = sum(weights.values())
    return sum(scores[name] * weight for name, weight in weights.items()) / total if total else 0.0


LEAST_COVERAGE = 0.7
"""An article that covers less of the brief is not complete, however good the rest is."""


def target_of(part: str, threshold: float) -> float:
    """What a part of the quality has to reach: the threshold, and for coverage at least its minimum."""
    return max(threshold, LEAST_COVERAGE) if part == "coverage" else threshold


LEAST_GAIN = 0.02
"""Quality that an iteration has to bring, or a newly covered aspect; otherwise it was the last."""


def decide(
    quality: float,
    threshold: float,
    iteration: int,
    coverage: float | None = None,
    *,
    stalled: bool = False,
) -> Decision:
    covered = coverage is None or coverage >= LEAST_COVERAGE
    if quality >= threshold and covered:
        return "complete"
    return "continue" if iteration < MAX_ITERATIONS and not stalled else "force_complete"


def has_stalled(qualities: Sequence[float], covered: Collection[str]) -> bool:
    """Whether the last iteration brought too little for another one. `covered`: what it newly covered."""
    if len(qualities) < 2 or covered:
        return False
    return qualities[-1] - max(qualities[:-1]) < LEAST_GAIN


def count_score(found: int, wanted: int) -> float:
    return min(found / wanted, 1.0) if wanted else 1.0


def diversity_score(kinds: Collection[str], enabled: Collection[str]) -> float:
    """Up to three kinds of sources, as far as so many may be used."""
    wanted = max(min(3, len(set(enabled))), 1)
    return min(len(set(kinds)) / wanted, 1.0)


def improvement(qualities: Sequence[float]) -> str:
    """In points: `+23 points (0.65 → 0.88)`."""
    if len(qualities) < 2:
        return ""
    first, last = qualities[0], qualities[-1]
    points = round(last * 100) - round(first * 100)
    return f"{points:+d} points ({first:.2f} → {last:.2f})"


# ── what is done about it ────────────────────────────────────────────────────────────────────────


class Remedy(msgspec.Struct, frozen=True):
    """What the next plan does about a part that is too low."""

    adds: tuple[str, ...] = ()
    """Workers that it takes on, if they are not there yet."""
    redoes: tuple[str, ...] = ()
    """Workers whose work is not kept."""
    deepens: bool = False
    """If there was nobody to add, the searches look further."""


ANSWERS: dict[str, Remedy] = {
    "count": Remedy(
        ("academic_search", "web_scraper", "news_search", "web_search", "citation_formatter"), deepens=True
    ),
    "diversity": Remedy(("academic_search", "news_search"), deepens=True),
    "citations": Remedy(("citation_formatter",), ("article_writer",)),
    "coverage": Remedy(
        ("insight_extractor", "content_synthesizer"),
        ("content_synthesizer", "insight_extractor", "article_writer"),
        deepens=True,
    ),
    "length": Remedy(("introduction_writer", "conclusion_writer"), ("article_writer",)),
    "structure": Remedy(("content_synthesizer",), ("article_writer",)),
    "verified": Remedy(("fact_checker", "web_scraper"), ("article_writer",)),
    "grammar": Remedy(("editor",), ("editor",)),
    "readability": Remedy(("readability_checker", "editor"), ("article_writer",)),
    "tone": Remedy(("editor",), ("article_writer",)),
}
"""Part of the quality -> what answers it."""


def redone(workers: Collection[str], done: Collection[str], again: Collection[str]) -> set[str]:
    """Which of a plan's workers have to work: those who have not, those who are to do it again, and whoever
    uses what these make. Everybody else's work is kept."""
    working = {worker for worker in workers if worker not in done or worker in again}
    while True:
        more = {worker for worker in set(workers) - working if any(needs(worker, other) for other in working)}
        if not more:
            return working
        working |= more


class Phase(StrEnum):
    """Where a run is. The values are what events and reports say."""

    INITIALIZED = "initialized"
    PLANNING = "planning"
    STRATEGY = "strategy"
    EXECUTING = "executing"
    EVALUATING = "evaluating"
    RE_PLANNING = "re_planning"
    MERGING = "merging"
    COMPLETED = "completed"
    FAILED = "failed"


TRANSITIONS: Mapping[Phase, frozenset[Phase]] = {
    Phase.INITIALIZED: frozenset({Phase.PLANNING, Phase.FAILED}),
    Phase.PLANNING: frozenset({Phase.STRATEGY, Phase.FAILED}),
    Phase.STRATEGY: frozenset({Phase.EXECUTING, Phase.FAILED}),
    Phase.EXECUTING: frozenset({Phase.EVALUATING, Phase.FAILED}),
    Phase.EVALUATING: frozenset({Phase.RE_PLANNING, Phase.MERGING, Phase.FAILED}),
    Phase.RE_PLANNING: frozenset({Phase.PLANNING, Phase.FAILED}),
    Phase.MERGING: frozenset({Phase.COMPLETED, Phase.FAILED}),
    Phase.COMPLETED: frozenset(),
    Phase.FAILED: frozenset(),
}
"""What may follow each phase. A forced completion goes through merging like any other."""

FINAL = frozenset(phase for phase, after in TRANSITIONS.items() if not after)
"""Phases in which nothing follows."""


def is_allowed(current: Phase | None, new: Phase) -> bool:
    """Whether `new` may follow; `None` is the time before a run has begun."""
    if current is None:
        return new is Phase.INITIALIZED
    return new in TRANSITIONS[current]


def check_transition(current: Phase | None, new: Phase) -> None:
    """Refuse what the table does not hold, and say what it does."""
    if is_allowed(current, new):
        return
    after = TRANSITIONS[current] if current is not None else frozenset({Phase.INITIALIZED})
    raise InvalidTransitionError(
        str(current or "nothing"), str(new), [str(phase) for phase in Phase if phase in after]
    )
