"""Rules, limits and state machine of `research`.

workers    WORKERS, level_of, wanted_count, required_workers, choose
failures   ATTEMPTS, WAITS, FALLBACKS
searcher   finds_too_little, SEARCHER_TURNS, SEARCHER_CALLS
quality    WEIGHTS, overall, decide, ANSWERS, improvement

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
    """One row of the worker table."""

    name: str
    label: str
    """Name in the result: `News search unavailable`."""
    category: Category
    cost: float
    """Expected cost in US dollars."""
    seconds: float
    """Expected duration in seconds."""
    priority: int
    """1 is chosen first and removed last."""
    inputs: tuple[str, ...]
    output: str
    criticality: Criticality
    asks: bool
    """True if it asks a model. Only then can a cheaper model be used."""


_READ = ("sources", "texts")
_KNOWN = (*_READ, "synthesis", "summary", "insights")
_TEXT = ("introduction", "draft", "conclusion")
_BOTH = (*_TEXT, *_READ)
_NONE: tuple[str, ...] = ()

# name, label, category, cost, seconds, priority, inputs, output, criticality, asks a model
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
"""All 17 workers. The eight with priorities 1 to 8 cost $2.40 and take 17 minutes."""

CATEGORIES: tuple[Category, ...] = ("research", "analysis", "writing", "quality")
"""Order of the steps of a plan."""
SEARCHES = ("web_search", "academic_search", "news_search", "social_media")
"""Workers that find sources. The scraper only reads what they found."""
NEEDING = (*SEARCHES, "web_scraper")
"""Workers that are useful only with a provider, or with pages to read."""
SEARCH_OF = {
    "web": "web_search",
    "academic": "academic_search",
    "news": "news_search",
    "social": "social_media",
}
"""Search worker of each kind of source. All of them search a corpus."""

# ── choice of workers ────────────────────────────────────────────────────────────────────────────

FEWEST = 3
RANGES: dict[Level, tuple[int, int]] = {"simple": (3, 5), "medium": (6, 10), "complex": (11, 17)}
EDGES: dict[Level, tuple[float, float]] = {"simple": (0.0, 0.4), "medium": (0.4, 0.7), "complex": (0.7, 1.0)}
MIN_SOURCES = 10
"""Number of sources if the request does not say it."""
MANY_SOURCES = 15
"""Number of requested sources from which all research workers are used."""


def level_of(complexity: float) -> Level:
    """[0, .4) simple, [.4, .7) medium, [.7, 1] complex."""
    if complexity < 0.4:
        return "simple"
    return "medium" if complexity < 0.7 else "complex"


def wanted_count(complexity: float, depth: str) -> int:
    """Return the number of workers within the level's range, by complexity. A light depth takes the minimum
    of the range, a deep one the maximum."""
    level = level_of(complexity)
    fewest, most = RANGES[level]
    if depth != "standard":
        return fewest if depth == "light" else most
    low, high = EDGES[level]
    share = (complexity - low) / (high - low)
    return fewest + math.floor((most - fewest) * share + 1e-9)


def required_workers(tone: str, min_sources: int, preferred: Collection[str]) -> dict[str, str]:
    """Return the workers that a brief requires, with the reason. They may exceed the range."""
    wanted = {SEARCH_OF[kind]: f"{kind} sources are preferred" for kind in SEARCH_OF if kind in preferred}
    if min_sources >= MANY_SOURCES:
        for worker in ("academic_search", "news_search", "web_scraper"):
            wanted.setdefault(worker, f"{min_sources} sources are asked for")
    if tone.strip().lower() == "academic":
        wanted.setdefault("citation_formatter", "an academic tone wants tidy citations")
    return wanted


def choose(count: int, required: Collection[str], useful: Collection[str]) -> list[str]:
    """Return the first `count` workers by priority, plus the required ones. A worker of `NEEDING` is chosen
    only if it is `useful`: it has a source."""
    usable = [worker for worker in by_priority(WORKERS) if worker not in NEEDING or worker in useful]
    first = set(usable[:count]) | {worker for worker in required if worker in usable}
    if not first & set(SEARCHES):
        first |= set([worker for worker in usable if worker in SEARCHES][:1])
    return [worker for worker in usable if worker in first]


def by_priority(workers: Collection[str]) -> list[str]:
    return sorted(workers, key=lambda name: WORKERS[name].priority)


def needs(worker: str, other: str) -> bool:
    """True if a worker uses the output of the other."""
    return WORKERS[other].output in WORKERS[worker].inputs


# ── estimates ────────────────────────────────────────────────────────────────────────────────────

CHEAPER_COST, CHEAPER_TIME = 0.4, 0.6
"""Factors for a worker's cost and seconds with a fast model."""


def cost_of(worker: str, *, cheaper: bool = False) -> float:
    row = WORKERS[worker]
    return row.cost * (CHEAPER_COST if cheaper and row.asks else 1)


def seconds_of(worker: str, *, cheaper: bool = False) -> float:
    row = WORKERS[worker]
    return row.seconds * (CHEAPER_TIME if cheaper and row.asks else 1)


# ── failures ─────────────────────────────────────────────────────────────────────────────────────

ATTEMPTS = 3
WAITS = (2.0, 4.0)
"""Seconds before the second and the third attempt."""

FALLBACKS = {"academic_search": "web_search", "web_scraper": "snippets", "fact_checker": "warning"}
"""Fallback of a worker that has finally failed."""

# ── searching on ─────────────────────────────────────────────────────────────────────────────────

LEAST_FOUND = 2
"""A search worker whose queries find fewer sources, all together, asks the searcher."""
SEARCHER_TURNS, SEARCHER_CALLS = 4, 6
"""Maximum turns and tool calls of one searcher."""


def finds_too_little(found: int) -> bool:
    return found < LEAST_FOUND


# ── quality ──────────────────────────────────────────────────────────────────────────────────────

MAX_ITERATIONS = 3
ABOUT_IT = 0.5
"""Minimum share of the topic's words in the best source. Below it, a warning is added."""
WEIGHTS = {"article": 0.30, "source": 0.25, "factual": 0.25, "writing": 0.20}
PARTS = {
    "article": ("coverage", "length", "structure"),
    "source": ("count", "diversity", "citations"),
    "factual": ("verified",),
    "writing": ("grammar", "readability", "tone"),
}
"""Each component is the unweighted mean of its parts."""
WORKERS_OF: dict[str, tuple[str, ...]] = {
    "article": ("introduction_writer", "article_writer", "conclusion_writer"),
    "source": (*SEARCHES, "web_scraper", "citation_formatter"),
    "factual": ("fact_checker",),
    "writing": ("editor", "readability_checker"),
}
"""A component without any of its workers is left out."""


def components(parts: Mapping[str, float], worked: Collection[str]) -> dict[str, float]:
    """Return the component scores from the known parts."""
    scores: dict[str, float] = {}
    for component, names in PARTS.items():
        known = [parts[name] for name in names if name in parts]
        if known and set(WORKERS_OF[component]) & set(worked):
            scores[component] = sum(known) / len(known)
    return scores


def overall(scores: Mapping[str, float]) -> float:
    """Return the weighted mean of the given components, unrounded."""
    weights = {name: WEIGHTS[name] for name in scores}
    total = sum(weights.values())
    return sum(scores[name] * weight for name, weight in weights.items()) / total if total else 0.0


LEAST_COVERAGE = 0.7
"""An article that covers less of the brief is not complete, whatever its other scores."""


def target_of(part: str, threshold: float) -> float:
    """Return the target of a part: the threshold, and for coverage at least its minimum."""
    return max(threshold, LEAST_COVERAGE) if part == "coverage" else threshold


LEAST_GAIN = 0.02
"""Minimum gain in quality, unless an aspect is newly covered. With less, the iteration is the last."""


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
    """True if the last iteration gained too little for another one. `covered` are the newly covered
    aspects."""
    if len(qualities) < 2 or covered:
        return False
    return qualities[-1] - max(qualities[:-1]) < LEAST_GAIN


def count_score(actual: int, wanted: int) -> float:
    return min(actual / wanted, 1.0) if wanted else 1.0


def diversity_score(kinds: Collection[str], enabled: Collection[str]) -> float:
    """Score the number of source kinds: up to three, or as many as are enabled."""
    wanted = max(min(3, len(set(enabled))), 1)
    return min(len(set(kinds)) / wanted, 1.0)


def improvement(qualities: Sequence[float]) -> str:
    """Return the gain in points: `+23 points (0.65 → 0.88)`. Empty with fewer than two values."""
    if len(qualities) < 2:
        return ""
    first, last = qualities[0], qualities[-1]
    points = round(last * 100) - round(first * 100)
    return f"{points:+d} points ({first:.2f} → {last:.2f})"


# ── remedies ─────────────────────────────────────────────────────────────────────────────────────


class Remedy(msgspec.Struct, frozen=True):
    """Changes of the next plan for a part that is too low."""

    adds: tuple[str, ...] = ()
    """Workers to add, if they are not in the plan yet."""
    redoes: tuple[str, ...] = ()
    """Workers whose results are not kept."""
    deepens: bool = False
    """If no search worker can be added, the searches are extended."""


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
"""Remedy by part of the quality."""


def redone(workers: Collection[str], done: Collection[str], again: Collection[str]) -> set[str]:
    """Return the workers of a plan that must run: those without a result, those to be repeated, and all that
    depend on these. The results of the others are kept."""
    working = {worker for worker in workers if worker not in done or worker in again}
    while True:
        more = {worker for worker in set(workers) - working if any(needs(worker, other) for other in working)}
        if not more:
            return working
        working |= more


class Phase(StrEnum):
    """Phase of a run. Events and reports use these values."""

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
"""Allowed transitions. A forced completion goes through merging like any other."""

FINAL = frozenset(phase for phase, after in TRANSITIONS.items() if not after)
"""Phases without a successor."""


def is_allowed(current: Phase | None, new: Phase) -> bool:
    """True if `new` may follow. `None` is the state before the start."""
    if current is None:
        return new is Phase.INITIALIZED
    return new in TRANSITIONS[current]


def check_transition(current: Phase | None, new: Phase) -> None:
    """Raise `InvalidTransitionError`, with the allowed phases, unless the transition is allowed."""
    if is_allowed(current, new):
        return
    after = TRANSITIONS[current] if current is not None else frozenset({Phase.INITIALIZED})
    raise InvalidTransitionError(
        str(current or "nothing"), str(new), [str(phase) for phase in Phase if phase in after]
    )
