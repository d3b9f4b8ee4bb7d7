"""Search results, provider selection and retrieval."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

from podium.settings import Settings
from podium.tools.corpus.corpus import SCHEME, Corpus, path_of, url_of
from podium.tools.documents.document import Document
from podium.tools.tool import ToolError

if TYPE_CHECKING:
    from podium.tools.fetch import Fetcher


Kind = Literal["web", "academic", "news", "social", "corpus"]


class Found(msgspec.Struct, frozen=True):
    """One search result, not yet retrieved."""

    title: str
    url: str
    """`https://…`, or `corpus:RELATIVE/PATH` for a document of the user's folder."""
    snippet: str
    kind: Kind
    published: str = ""
    """ISO date, as precise as known (`2024`, `2024-05`, `2024-05-17`); empty if unknown."""
    authors: tuple[str, ...] = ()
    provider: str = ""
    """Display name of the provider that found it."""
    text_url: str = ""
    """URL of the full text if it is not at `url`, such as the PDF of a paper."""
    start: int = -1
    """Start of the snippet in the text of a corpus document, in characters; -1 if unknown."""
    end: int = -1


class Retrieved(msgspec.Struct, frozen=True):
    """A source that was retrieved, with its full text."""

    url: str
    title: str
    text: str
    kind: Kind
    published: str = ""
    authors: tuple[str, ...] = ()
    retrieved_at: str = ""
    """Passed by the caller, which records the time as a step."""
    sha256: str = ""
    """Hash of `text` as UTF-8."""
    media_type: str = ""
    cut: bool = False
    """The document was longer and is truncated."""


class Provider(Protocol):
    """A search provider. Failures are raised as one-sentence `ToolError`s."""

    @property
    def name(self) -> str: ...

    @property
    def kind(self) -> Kind: ...

    async def search(self, query: str, limit: int) -> list[Found]: ...


class CorpusSearch:
    """Search in a corpus; results carry the position of the passage."""

    kind: Kind = "corpus"

    def __init__(self, corpus: Corpus) -> None:
        self.name = f"Corpus {corpus.folder.name or corpus.folder}"
        self._corpus = corpus

    async def search(self, query: str, limit: int) -> list[Found]:
        return [
            Found(
                passage.title,
                url_of(passage.path),
                passage.snippet,
                "corpus",
                published=passage.published,
                authors=passage.authors,
                provider=self.name,
                start=passage.start,
                end=passage.end,
            )
            for passage in await self._corpus.search(query, limit)
        ]


WORKERS: dict[str, Kind] = {
    "web_search": "web",
    "academic_search": "academic",
    "news_search": "news",
    "social_media": "social",
}
"""The search workers, and the kind of source each looks for."""

MISSING = "Searching the web needs an extra that is not installed: pip install 'podium[research]'."


class Missing:
    """Placeholder for providers whose packages are not installed: a search fails and says why."""

    def __init__(self, kind: Kind) -> None:
        self.name = "Web search"
        self.kind: Kind = kind

    async def search(self, query: str, limit: int) -> list[Found]:
        raise ToolError(MISSING)


def providers_for(
    worker: str,
    settings: Settings,
    corpus: Corpus | None = None,
    *,
    online: bool | None = None,
    env: Mapping[str, str] | None = None,
) -> list[Provider]:
    """Return the providers of a worker. A corpus is searched alone, so that such a run needs no network,
    unless `online` is true; without a corpus the web is searched, unless `online` is false. Nothing is
    connected yet."""
    if worker not in WORKERS:
        raise ValueError(f"{worker!r} is not a search worker; known ones: {', '.join(WORKERS)}")
    providers: list[Provider] = [CorpusSearch(corpus)] if corpus is not None else []
    if corpus is None if online is None else online:
        providers += _load_online(worker, settings, env)
    return providers


def _load_online(worker: str, settings: Settings, env: Mapping[str, str] | None) -> list[Provider]:
    try:
        from podium.tools.sources.online import online  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError:  # reported when the worker searches
        return [Missing(WORKERS[worker])]
    return online(worker, settings, env)


LEAST_TEXT = 200
"""Characters below which a text counts as a mere notice, and another URL of the same source is tried."""


async def retrieve(
    result: Found, *, at: str, corpus: Corpus | None = None, fetcher: Fetcher | None = None
) -> Retrieved:
    """Retrieve the text of a source, or raise a one-sentence `ToolError`. `at` is the time to record.

    The source keeps the URL under which it was found. Title, date and authors of the document fill in what
    the search did not return. A corpus document is read from the index, so that positions of passages match.
    """
    if result.url.startswith(SCHEME):
        if corpus is None:
            raise ToolError(f"{result.url} is in a corpus, and this run has none.")
        stored = await corpus.read(path_of(result.url))
        return _retrieved(result, stored.document, stored.media_type, at)
    media_type, document = await _from_web(result, fetcher)
    return _retrieved(result, document, media_type, at)


async def _from_web(result: Found, fetcher: Fetcher | None) -> tuple[str, Document]:
    """Return the first text of sufficient length, or the longest one if none is."""
    try:
        from podium.tools.web import read_url  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError as error:
        raise ToolError(MISSING) from error
    best: tuple[str, Document] | None = None
    failure: ToolError | None = None
    for url in dict.fromkeys(address for address in (result.text_url, result.url) if address):
        try:
            read = await read_url(url, fetcher)
        except ToolError as error:
            failure = error
            continue
        if best is None or len(read[1].text) > len(best[1].text):
            best = read
        if len(best[1].text) >= LEAST_TEXT:
            break
    if best is None:
        raise failure or ToolError(f"{result.title!r} has no address.")
    return best


def _retrieved(result: Found, document: Document, media_type: str, at: str) -> Retrieved:
    return Retrieved(
        url=result.url,
        title=result.title or document.title,
        text=document.text,
        kind=result.kind,
        published=result.published or document.published,
        authors=result.authors or document.authors,
        retrieved_at=at,
        sha256=hashlib.sha256(document.text.encode()).hexdigest(),
        media_type=media_type,
        cut=document.cut,
    )
