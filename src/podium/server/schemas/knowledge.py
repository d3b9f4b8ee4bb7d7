"""What lies beside runs: the cache of model calls, folders of documents, files of facts, trials of models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from podium.server.schemas.shared import RequestModel, ResponseModel, Usage
from podium.server.schemas.system import Rated

MOST_LINES = 3_500_000
"""Characters of a file of facts; a request has its own limit beside this one."""


class CacheFigures(ResponseModel):
    """What the cache holds and has saved."""

    entries: int
    bytes: int
    hits: int
    """Calls that were not made, in the whole life of the cache."""
    saved_calls: int
    saved_usd: float
    saved_tokens: int
    oldest: str | None
    newest: str | None


class CacheShare(CacheFigures):
    """The part of one model."""

    model: str


class Cache(CacheFigures):
    """The cache of model calls."""

    limit_bytes: int
    models: list[CacheShare]


class Cleared(ResponseModel):
    """What was taken out of the cache."""

    entries: int
    bytes: int


class Corpus(ResponseModel):
    """A folder of documents that has an index."""

    name: str
    folder: str
    documents: int
    unreadable: int
    characters: int
    indexed_at: str


class CorpusList(ResponseModel):
    corpora: list[Corpus]


class AddCorpus(RequestModel):
    """A folder of the server's machine, to be indexed or brought up to date."""

    folder: Annotated[str, Field(min_length=1, max_length=4000)]
    name: Annotated[str, Field(max_length=60)] = ""
    """How to call it; not given: as the folder."""


class CorpusAdded(Corpus):
    """What indexing has changed."""

    added: int
    changed: int
    removed: int
    troubles: list[str]
    """What could not be read, one sentence each."""


class CorpusRemoved(ResponseModel):
    """Its index is gone; the documents are where they were."""

    removed: str
    folder: str


class Passage(ResponseModel):
    """The most telling passage of a document."""

    corpus: str
    url: str
    path: str
    title: str
    published: str
    authors: list[str]
    media_type: str
    snippet: str
    start: int
    end: int
    score: float


class PassageList(ResponseModel):
    query: str
    results: list[Passage]


class ImportFacts(RequestModel):
    """Facts as `podium brain export` writes them."""

    lines: Annotated[str, Field(max_length=MOST_LINES)]
    """One JSON object a line."""
    accept: bool = False
    """Make canon of facts that wait for a review."""


class FactsImported(ResponseModel):
    imported: int
    known: int
    """Facts whose ids were there already; they were left as they are."""


class FactsEmbedded(ResponseModel):
    """Facts that can be found by meaning from now on."""

    embedded: int
    model: str
    calls: int
    """All so far, also of earlier times."""
    cost_usd: float
    unpriced_calls: int


class TryModel(RequestModel):
    """One small question to a model: it costs what such a call costs."""

    model: Annotated[str, Field(min_length=1, max_length=300)]
    """A model or a profile."""


class Tried(ResponseModel):
    """What came back."""

    ok: bool
    asked: str
    model: str | None
    """Which one has answered."""
    rehearsal: bool
    latency_ms: float | None
    mode: str | None
    attempts: int
    repairs: int
    fell_back_from: list[str]
    usage: Usage
    reply: Any
    error: str | None
    hint: str | None


class ProviderModels(ResponseModel):
    """Models of a provider whose prices are known."""

    provider: str
    models: list[Rated]


class SendTrace(RequestModel):
    """Where a trace goes."""

    otlp: Annotated[str, Field(min_length=1, max_length=2000)]
    """A collector's address, for OTLP over HTTP."""
    content: bool = False
    """With prompts, replies and errors' messages."""


class TraceSent(ResponseModel):
    run_id: str
    trace_id: str
    spans: int
    to: str
