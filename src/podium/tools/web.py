"""Web search and page reading."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Annotated, Any, Protocol, cast
from urllib.parse import urlencode

import msgspec
from ddgs.ddgs import DDGS
from ddgs.exceptions import DDGSException
from msgspec import Meta

from podium.engine.process import offload
from podium.settings import Settings, variable
from podium.tools.documents.child import read_text
from podium.tools.documents.document import Document, kept, line
from podium.tools.documents.reader import Readers
from podium.tools.fetch import READABLE, Fetched, Fetcher, Reply, anywhere, parse_url, request, resolve_name
from podium.tools.tool import (
    MAX_TEXT,
    Arguments,
    Tool,
    ToolError,
    ToolResult,
    bounded,
    read_arguments,
    spec_of,
    succeeded,
    untrusted,
)

SECONDS = 15.0
MAX_BYTES = 5_000_000
TAVILY = "https://api.tavily.com"
BRAVE = "https://api.search.brave.com"


class Hit(msgspec.Struct, frozen=True):
    """One search result, from any engine."""

    title: str
    url: str
    snippet: str


class SearchEngine(Protocol):
    """A web search engine. Failures are raised as `ToolError`."""

    name: str

    async def search(self, query: str, limit: int) -> list[Hit]: ...


class Tavily:
    """Tavily's search API."""

    name = "Tavily"

    def __init__(self, key: str, address: str = "") -> None:
        self._key, self._address = key, (address or TAVILY).rstrip("/")

    async def search(self, query: str, limit: int) -> list[Hit]:
        body = msgspec.json.encode({"query": query, "max_results": limit, "search_depth": "basic"})
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        data = await _ask(self.name, f"{self._address}/search", headers, body)
        return _hits(data.get("results"), "content")


class Brave:
    """Brave's search API."""

    name = "Brave"

    def __init__(self, key: str, address: str = "") -> None:
        self._key, self._address = key, (address or BRAVE).rstrip("/")

    async def search(self, query: str, limit: int) -> list[Hit]:
        url = f"{self._address}/res/v1/web/search?{urlencode({'q': query, 'count': limit})}"
        headers = {"X-Subscription-Token": self._key, "Accept": "application/json"}
        data = await _ask(self.name, url, headers)
        web: Any = data.get("web")
        results: Any = cast("dict[str, Any]", web).get("results") if isinstance(web, dict) else None
        return _hits(results, "description")


class Ddgs:
    """Several public engines through the ddgs package. Needs no key; meant for occasional use."""

    name = "DuckDuckGo and others"

    async def search(self, query: str, limit: int) -> list[Hit]:
        return _hits(await offload(_ask_ddgs, query, limit), "body", "href")


class SearchArguments(Arguments, frozen=True):
    """Arguments of `search_web`."""

    query: Annotated[str, Meta(min_length=1, max_length=400, description="What to look for")]
    limit: Annotated[int, Meta(ge=1, le=20, description="How many results")] = 8


class SearchWeb:
    """The `search_web` tool: results as numbered lines, fenced as untrusted."""

    def __init__(self, engine: SearchEngine, seconds: float = SECONDS) -> None:
        self.spec = spec_of("search_web", "Search the web: titles, addresses and snippets.", SearchArguments)
        self._engine, self._seconds = engine, seconds

    async def call(self, args: dict[str, Any]) -> ToolResult:
        arguments = read_arguments(args, SearchArguments)
        hits = await find(self._engine, arguments.query, arguments.limit, self._seconds)
        if not hits:
            return succeeded(f"{self._engine.name} found nothing for {arguments.query!r}.")
        lines = [f"{n}. {hit.title}\n   {hit.url}\n   {hit.snippet}" for n, hit in enumerate(hits, 1)]
        return succeeded(untrusted("\n".join(lines), f"web search ({self._engine.name})", MAX_TEXT))


async def find(engine: SearchEngine, query: str, limit: int = 8, seconds: float = SECONDS) -> list[Hit]:
    """Query an engine within `seconds`, or raise a `ToolError`."""
    try:
        async with asyncio.timeout(seconds):
            return (await engine.search(query, limit))[:limit]
    except TimeoutError as error:
        raise ToolError(f"Web search ({engine.name}) took longer than {seconds:g} s.") from error
    except ToolError as error:
        raise ToolError(f"Web search ({engine.name}) failed: {error}") from error


def open_engine(settings: Settings | None = None, env: Mapping[str, str] | None = None) -> SearchEngine:
    """Return the best engine that has an API key. `[providers.tavily] base_url` overrides its address."""
    options = settings.providers if settings is not None else {}
    addresses = {name: option.base_url for name, option in options.items()}
    if key := variable("TAVILY_API_KEY", env=env):
        return Tavily(key, addresses.get("tavily", ""))
    if key := variable("BRAVE_API_KEY", env=env):
        return Brave(key, addresses.get("brave", ""))
    return Ddgs()


def _ask_ddgs(query: str, limit: int) -> list[dict[str, Any]]:
    try:
        return DDGS(timeout=8).text(query, max_results=limit)
    except DDGSException as error:
        if "no results" in str(error).lower():
            return []
        raise ToolError(f"No search engine could be reached: {str(error)[:200]}.") from error


async def _ask(
    name: str, url: str, headers: Mapping[str, str], content: bytes | None = None
) -> dict[str, Any]:
    reply = await request(
        parse_url(url),
        allowed=anywhere,  # the user configured the search engine, not a model
        resolve=resolve_name,
        seconds=SECONDS,
        max_bytes=MAX_BYTES,
        method="POST" if content is not None else "GET",
        headers=headers,
        content=content,
    )
    if reply.status != 200:
        raise ToolError(f"{name} {_reason(reply)}.")
    try:
        return msgspec.json.decode(reply.body, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ToolError(f"{name} sent a response that is not JSON.") from error


def _reason(reply: Reply) -> str:
    reasons = {
        401: "refused the key",
        403: "refused the key",
        402: "has no credit left",
        429: "refused too many requests",
    }
    return reasons.get(reply.status, f"answered {reply.status}")


def _hits(results: Any, snippet: str, url: str = "url") -> list[Hit]:
    """Convert results to hits; entries without an http(s) URL are dropped."""
    hits = list[Hit]()
    for entry in cast("list[Any]", results) if isinstance(results, list) else []:
        fields = cast("dict[str, Any]", entry) if isinstance(entry, dict) else {}
        address = line(fields.get(url), 2_000)
        if address.startswith(("http://", "https://")):
            hits.append(Hit(line(fields.get("title"), 300), address, line(fields.get(snippet), 1_000)))
    return hits


DOCUMENTS = re.compile(
    rf"{READABLE.pattern}|application/(x-)?pdf|(application|binary)/octet-stream", re.IGNORECASE
)
"""Content types that can be read: text, and PDFs under any name that servers use for them."""
_HTML = re.compile(r"\s*(<!--.*?-->\s*)*<(!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)


_READERS = Readers()
"""Shared by the whole process: an untrusted page or PDF can keep a reader busy forever."""


async def read_url(url: str, fetcher: Fetcher | None = None) -> tuple[str, Document]:
    """Fetch a URL and return its media type and text, or raise a `ToolError`."""
    fetched = await (fetcher or Fetcher()).fetch(url, types=DOCUMENTS)
    document = await read_fetched(url, fetched)
    if not document.text:
        raise ToolError(f"{url} has no text.")
    return "application/pdf" if _is_pdf(fetched) else fetched.content_type or "text/plain", document


async def read_fetched(url: str, fetched: Fetched) -> Document:
    """Extract the text of a fetched document, or raise a `ToolError`."""
    is_pdf = _is_pdf(fetched)
    if not is_pdf and (fetched.content_type.endswith(("pdf", "octet-stream"))):
        raise ToolError(f"{url} is {fetched.content_type}, which cannot be read as text.")
    if is_pdf and fetched.cut:
        raise ToolError(f"{url} is a PDF of more than 5 MB, which is not fetched.")
    try:
        return await offload(_read_pdf if is_pdf else _read_page, fetched)
    except ToolError as error:
        raise ToolError(f"{url}: {str(error).rstrip('.')}.") from error


def _is_pdf(fetched: Fetched) -> bool:
    return fetched.body.startswith(b"%PDF-")


def _read_pdf(fetched: Fetched) -> Document:
    return _READERS.read(fetched.body, "application/pdf")


def _read_page(fetched: Fetched) -> Document:
    text = fetched.text
    if "html" in fetched.content_type or _HTML.match(text[:2_000]):
        document = _READERS.read(text.encode("utf-8", "replace"), "text/html")
    else:
        document = read_text(text) if fetched.content_type == "text/plain" else kept(text)
    return msgspec.structs.replace(document, cut=document.cut or fetched.cut)


class FetchArguments(Arguments, frozen=True):
    """Arguments of `fetch_url`."""

    url: Annotated[str, Meta(description="An http or https address on the public internet")]
    offset: Annotated[int, Meta(ge=0, description="Characters of the text to skip")] = 0


class FetchUrl:
    """The `fetch_url` tool: a page or a PDF as text, fenced as untrusted."""

    def __init__(self, fetcher: Fetcher) -> None:
        self.spec = spec_of("fetch_url", "Fetch a web page or a PDF and read its text.", FetchArguments)
        self._fetcher = fetcher

    async def call(self, args: dict[str, Any]) -> ToolResult:
        arguments = read_arguments(args, FetchArguments)
        fetched = await self._fetcher.fetch(arguments.url, types=DOCUMENTS)
        document = await read_fetched(arguments.url, fetched)
        return succeeded(untrusted(_shown(document, arguments.offset, fetched.url), fetched.url, MAX_TEXT))


def _shown(document: Document, offset: int, url: str) -> str:
    """Return the part of the text that fits with its fence, and a note with the next offset."""
    room, text = MAX_TEXT - 1_000, document.text
    if offset and offset >= len(text):
        raise ToolError(f"The text of {url} has only {len(text):,} characters.")
    title = f"Title: {bounded(document.title, 300)}\n\n" if document.title else ""
    end = offset + room - len(title)
    more = f"\n[{len(text) - end:,} characters follow: offset {end}]" if end < len(text) else ""
    cut = "\n[the document is longer than can be fetched]" if document.cut and not more else ""
    return title + (text[offset:end] or "[no text]") + more + cut


def web_tools(settings: Settings | None, fetcher: Fetcher | None) -> list[Tool]:
    """Return the tools for web search and page reading."""
    return [SearchWeb(open_engine(settings)), FetchUrl(fetcher or Fetcher())]
