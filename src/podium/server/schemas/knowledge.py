"""Models for the cache, document folders, files of facts, and test calls of models."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from podium.server.schemas.shared import RequestModel, ResponseModel, Usage
from podium.server.schemas.system import Rated

MOST_LINES = 3_500_000
"""Maximum characters of a file of facts; the request size has a separate limit."""


class CacheFigures(ResponseModel):
    """Contents and savings of the cache."""

    entries: int
    bytes: int
    hits: int
    """Calls served from the cache since it was created."""
    saved_calls: int
    saved_usd: float
    saved_tokens: int
    oldest: str | None
    newest: str | None


class CacheShare(CacheFigures):
    """Share of one model."""

    model: str


class Cache(CacheFigures):
    """The cache of model calls."""

    limit_bytes: int
    models: list[CacheShare]


class Cleared(ResponseModel):
    """Entries removed from the cache."""

    entries: int
    bytes: int


class Corpus(ResponseModel):
    """Indexed document folder."""

    name: str
    folder: str
    documents: int
    unreadable: int
    characters: int
    indexed_at: str


class CorpusList(ResponseModel):
    corpora: list[Corpus]


class AddCorpus(RequestModel):
    """Folder on the server's machine whose index is created or updated."""

    folder: Annotated[str, Field(min_length=1, max_length=4000)]
    name: Annotated[str, Field(max_length=60)] = ""
    """Name of the corpus; default: the folder's name."""


class CorpusAdded(Corpus):
    """Changes made by indexing."""

    added: int
    changed: int
    removed: int
    troubles: list[str]
    """Unreadable files, one sentence each."""


class CorpusRemoved(ResponseModel):
    """Deleted index; the documents stay."""

    removed: str
    folder: str


class Passage(ResponseModel):
    """Best passage of a document."""

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
    """One JSON object per line."""
    accept: bool = False
    """Accept facts that wait for a review."""


class FactsImported(ResponseModel):
    imported: int
    known: int
    """Facts with known ids, left unchanged."""


class FactsEmbedded(ResponseModel):
    """Result of embedding facts."""

    embedded: int
    model: str
    calls: int
    """Total of all calls so far."""
    cost_usd: float
    unpriced_calls: int


class TryModel(RequestModel):
    """One small paid call to a model."""

    model: Annotated[str, Field(min_length=1, max_length=300)]
    """A model or a profile."""


class Tried(ResponseModel):
    """Result of the test call."""

    ok: bool
    asked: str
    model: str | None
    """Model that answered."""
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
    """Destination of a trace."""

    otlp: Annotated[str, Field(min_length=1, max_length=2000)]
    """A collector's address, for OTLP over HTTP."""
    content: bool = False
    """Include prompts, replies and error messages."""


class TraceSent(ResponseModel):
    run_id: str
    trace_id: str
    spans: int
    to: str
