"""Data passed between the roles: the brief, sources and claims, plans, replies of models, the result.

Fields of the result are named as in its JSON form.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from podium.workflows.research.policy import MIN_SOURCES

Unit = Annotated[float, Field(ge=0, le=1)]
Phrase = Annotated[str, Field(min_length=1, max_length=600)]
SourceKind = Literal["web", "academic", "news", "social", "corpus"]
ContentType = Literal["article", "blog_post", "research_report"]
Depth = Literal["light", "standard", "deep"]
Style = Literal["apa", "mla", "chicago", "numeric"]


class StrictModel(BaseModel):
    """Data that is handed on and never changed."""

    model_config = ConfigDict(frozen=True)

    def shown(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


# ── what is wanted ───────────────────────────────────────────────────────────────────────────────


class Brief(StrictModel):
    """Brief of a run. `brief.py` checks all its limits at once."""

    topic: str
    content_type: ContentType = "article"
    length: int = 1500
    """Words."""
    tone: str = "neutral"
    depth: Depth = "standard"
    min_sources: int = MIN_SOURCES
    preferred_sources: list[SourceKind] = []
    min_quality: float = 0.8
    max_usd: float = 5.0
    time_limit: float = 1200.0
    """Seconds."""
    citation_style: Style = "numeric"
    sources: list[SourceKind] = []
    """The kinds that may be used."""


# ── sources and claims ───────────────────────────────────────────────────────────────────────────


class Source(StrictModel):
    """Something that was really retrieved. Its text is kept as an artifact."""

    id: str
    """`s1`, `s2`, …: how the article cites it."""
    title: str
    url: str
    """`corpus:RELATIVE/PATH` for a document of the corpus."""
    kind: SourceKind
    authors: list[str] = []
    published: str = ""
    """An ISO date, or as much of one as is known."""
    retrieved_at: str = ""
    sha256: str = ""
    """Of the kept text."""
    artifact_id: str = ""
    snippet: str = ""
    provider: str = ""
    relevance: Unit = 0.0
    full_text: bool = True
    """True if the whole text was read, false if only the snippet of a search."""


Verdict = Literal["verified", "unverified", "contradicted"]


class Passage(StrictModel):
    """Some words of a source."""

    source_id: str
    quote: str
    start: int = -1
    end: int = -1


class Claim(StrictModel):
    """A sentence of the article that can be right or wrong, and the passage that it is tied to."""

    id: str
    """`c1`, `c2`, …"""
    text: str
    source_ids: list[str] = []
    """Ids of the cited sources."""
    verdict: Verdict = "unverified"
    quote: str = ""
    """Exact words of the source, not a model's repetition."""
    quote_source: str = ""
    """The source that holds the quote."""
    start: int = -1
    end: int = -1
    """Position of the quote in the source's stored text; -1: not found."""
    reason: str = ""
    also: list[Passage] = []
    """Further passages that it rests on, each with a part of it."""

    @property
    def passages(self) -> list[Passage]:
        """All passages that it rests on; none without a quote."""
        if not self.quote:
            return []
        own = Passage(source_id=self.quote_source, quote=self.quote, start=self.start, end=self.end)
        return [own, *self.also]


class Contradiction(StrictModel):
    """Two sources say what cannot both be true."""

    about: str
    passages: list[Passage]


# ── plans ────────────────────────────────────────────────────────────────────────────────────────

Mode = Literal["parallel", "sequential"]


class PlanStep(StrictModel):
    """Workers that are run together, or one after the other."""

    name: str
    """`Research`, `Analysis`, `Writing`, `Quality`."""
    category: str
    workers: list[str]
    mode: Mode
    estimated_time: float
    """Seconds."""
    estimated_cost: float


class Plan(StrictModel):
    """Workers, their order, and the expected time and cost."""

    plan_id: str
    """`plan_001`, `plan_002`, …"""
    complexity: float
    level: Literal["simple", "medium", "complex"]
    steps: list[PlanStep]
    estimated_time: float
    """Seconds."""
    estimated_cost: float
    reasons: dict[str, str] = {}
    """Reason for each worker."""
    cheaper: list[str] = []
    """Workers that use the fast profile."""
    notes: list[str] = []
    """Workers left out to meet the brief's limits."""

    @property
    def workers(self) -> list[str]:
        return [worker for step in self.steps for worker in step.workers]


# ── answers of models ────────────────────────────────────────────────────────────────────────────


class Assessment(StrictModel):
    """`assess`: how difficult a topic is, and what an article about it must cover."""

    complexity: Unit
    reason: str = ""
    aspects: Annotated[list[Phrase], Field(min_length=1, max_length=8)]
    queries: Annotated[list[Phrase], Field(min_length=1, max_length=6)]


class PickedSources(StrictModel):
    """`find_sources`: the results of its searches that help."""

    urls: Annotated[list[str], Field(max_length=20)]


class Point(StrictModel):
    """Something that sources say."""

    text: str
    source_ids: list[str]


class Section(StrictModel):
    """A part of the article that is to be written."""

    heading: str
    points: list[str]
    source_ids: list[str] = []


class Synthesis(StrictModel):
    """`synthesize`: what the sources say together, and an outline."""

    points: Annotated[list[Point], Field(min_length=1)]
    outline: Annotated[list[Section], Field(min_length=1)]
    disagreements: list[str] = []

    @property
    def source_ids(self) -> list[str]:
        return [source for part in (*self.points, *self.outline) for source in part.source_ids]


class SourceSummary(StrictModel):
    source_id: str
    summary: str


class Summaries(StrictModel):
    """`summarize`: each source in a few sentences."""

    summaries: Annotated[list[SourceSummary], Field(min_length=1)]

    @property
    def source_ids(self) -> list[str]:
        return [summary.source_id for summary in self.summaries]


class Insights(StrictModel):
    """`extract_insights`: what is worth knowing, and who says so."""

    insights: Annotated[list[Point], Field(min_length=1)]

    @property
    def source_ids(self) -> list[str]:
        return [source for insight in self.insights for source in insight.source_ids]


class FoundPassage(StrictModel):
    source_id: str
    quote: str


class Check(StrictModel):
    """Verdict of the fact checker on one claim."""

    claim_id: str
    verdict: Verdict
    source_id: str = ""
    quote: str = ""
    reason: str = ""
    also: list[FoundPassage] = []
    """Further passages that the claim rests on, each with a part of it."""


class FoundContradiction(StrictModel):
    about: str
    first: FoundPassage
    second: FoundPassage


class PointCheck(StrictModel):
    """Passages of the sources about a point that a complete answer contains."""

    point_id: str
    """`p1`, `p2`, …"""
    source_id: str = ""
    quote: str = ""
    """Empty: no source does."""


class FactCheck(StrictModel):
    """`fact_check`: a verdict for every claim, where sources disagree, and which points they cover."""

    checks: list[Check]
    contradictions: list[FoundContradiction] = []
    points: list[PointCheck] = []


class Edit(StrictModel):
    """`edit`: the whole article, mended, and how good its language was."""

    article: Annotated[str, Field(min_length=1)]
    grammar: Unit
    changes: list[str] = []


class Judgement(StrictModel):
    """`judge`: what no program can measure."""

    coverage: Unit
    tone: Unit
    missing: list[str] = []
    """Aspects that the article leaves out."""
    issues: list[str] = []


# ── the result ───────────────────────────────────────────────────────────────────────────────────


class Article(StrictModel):
    title: str
    content: str
    """Markdown with its citations rendered and a list of references."""
    html: str
    """The same, complete and safe to show."""
    word_count: int
    reading_time: int
    """Minutes."""
    cited: list[str] = []
    """Ids of the sources that it cites."""
    unsourced: list[str] = []
    """Its sentences of general knowledge: no source supports them, and they were not checked."""


class QualityScore(StrictModel):
    """Unrounded. A component without workers is `None` and its weight is spread over the others."""

    overall: float
    article_quality: float | None = None
    source_quality: float | None = None
    factual_quality: float | None = None
    writing_quality: float | None = None
    parts: dict[str, dict[str, float]] = {}
    threshold: float = 0.0
    coverage: float | None = None
    """Share of the brief that the article covers; `None`: unknown."""
    missing: list[str] = []
    """Aspects of the brief that the article leaves out."""


class Metrics(StrictModel):
    duration: float
    """Seconds that the run was driven."""
    cost: float
    tokens: int
    iteration_count: int
    improvement: str = ""
    tasks: dict[str, int] = {}
    """Number of completed, kept, skipped and failed tasks."""
    retries: int = 0
    verified_claims: int = 0
    claims: int = 0


class PhaseEntry(StrictModel):
    """One transition, as in the log."""

    from_: str = Field(serialization_alias="from")
    to: str
    timestamp: str


class PlanEntry(StrictModel):
    """A plan and what came of it."""

    plan: Plan
    quality: float | None
    feedback: list[str] = []


class FinalOutput(StrictModel):
    request_id: str
    execution_id: str
    article: Article | None
    quality: QualityScore | None
    sources: list[Source]
    claims: list[Claim] = []
    contradictions: list[Contradiction] = []
    metrics: Metrics
    status: Literal["completed", "partial"]
    system_notes: list[str] = []
    phase_history: list[PhaseEntry] = []
    plan_history: list[PlanEntry] = []
    warnings: list[str] = []
    coverage: float | None = None
    """Same as in `quality`."""
    missing: list[str] = []
    """Parts of the request that the article leaves out."""
    unsupported: list[str] = []
    """Points of a complete answer that the sources do not cover; the article says nothing of them."""
    comparison: dict[str, Any] | None = None
    """The article beside one direct draft, judged blind: `preferred` (`team`, `draft`, `equal`) and `why`."""
