"""Online search providers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import parse_qs, quote_plus, urlencode, urljoin, urlsplit

import msgspec

from podium.settings import Settings, variable
from podium.tools.corpus.search import query_words, share
from podium.tools.documents.document import iso_date, line
from podium.tools.fetch import Reply, Target, anywhere, parse_url, public_only, request, resolve_name
from podium.tools.sources.feeds import FeedEntry, plain, read_feed
from podium.tools.sources.providers import Found, Kind, Provider
from podium.tools.tool import ToolError
from podium.tools.web import SECONDS as WEB_SECONDS
from podium.tools.web import SearchEngine, find, open_engine

SECONDS = 15.0
MAX_BYTES = 5_000_000
MAX_REDIRECTS = 3


class ProviderClient:
    """HTTP client for one provider. An address that the user configured may be anywhere, also on the local
    network; redirect targets are untrusted and must be public."""

    def __init__(self, name: str, *, trusted: bool = False, seconds: float = SECONDS) -> None:
        self._name, self._trusted, self._seconds = name, trusted, seconds

    async def get(self, url: str, headers: Mapping[str, str] | None = None) -> Reply:
        """Return the complete response, or raise a one-sentence `ToolError`."""
        try:
            async with asyncio.timeout(self._seconds):
                return await self._follow(parse_url(url), headers or {})
        except TimeoutError as error:
            raise ToolError(f"{self._name} took longer than {self._seconds:g} s.") from error
        except ToolError as error:
            reason = str(error)
            raise ToolError(reason if reason.startswith(self._name) else f"{self._name}: {reason}") from error

    async def json(self, url: str) -> dict[str, Any]:
        """Return the response as a JSON object."""
        reply = await self.get(url, {"Accept": "application/json"})
        try:
            return msgspec.json.decode(reply.body, type=dict[str, Any])
        except (msgspec.DecodeError, RecursionError) as error:
            raise ToolError(f"{self._name} sent a response that is not JSON.") from error

    async def _follow(self, target: Target, headers: Mapping[str, str]) -> Reply:
        home = (target.host, target.port)
        for _ in range(MAX_REDIRECTS + 1):
            at_home = (target.host, target.port) == home
            reply = await request(
                target,
                allowed=anywhere if self._trusted and at_home else public_only,
                resolve=resolve_name,
                seconds=self._seconds,
                max_bytes=MAX_BYTES,
                headers=headers,
            )
            if reply.status not in (301, 302, 303, 307, 308):
                return self._checked(reply)
            target = parse_url(urljoin(target.url, reply.headers.get("location", "")))
        raise ToolError(f"{self._name} redirects more than {MAX_REDIRECTS} times.")

    def _checked(self, reply: Reply) -> Reply:
        if reply.status == 429 or (reply.status == 503 and "retry-after" in reply.headers):
            wait = reply.headers.get("retry-after", "")
            after = f"; wait {wait} s" if wait.isdecimal() and len(wait) < 6 else ""
            raise ToolError(f"{self._name} refused too many requests{after}.")
        if reply.status != 200:
            raise ToolError(f"{self._name} answered {reply.status}.")
        if reply.cut:
            raise ToolError(f"{self._name} sent more than {MAX_BYTES // 1_000_000} MB.")
        return reply


class _Api:
    """A search API whose address the user may override."""

    name: str
    home: str

    def __init__(self, address: str = "", seconds: float = SECONDS) -> None:
        self._address = (address or self.home).rstrip("/")
        self._client = ProviderClient(self.name, trusted=bool(address), seconds=seconds)


class Arxiv(_Api):
    """arXiv search over title, abstract and authors; the full text is the PDF."""

    name = "arXiv"
    kind: Kind = "academic"
    home = "https://export.arxiv.org"

    async def search(self, query: str, limit: int) -> list[Found]:
        words = query_words(query, 10)
        if not words or limit < 1:
            return []
        parameters = {
            "search_query": " OR ".join(f"all:{word}" for word in words),
            "start": 0,
            "max_results": min(limit, 100),
            "sortBy": "relevance",
        }
        reply = await self._client.get(f"{self._address}/api/query?{urlencode(parameters)}")
        entries = read_feed(reply.body, self.name)
        for entry in entries:
            if "/api/errors" in entry.id:
                raise ToolError(f"{self.name} refused the query: {entry.text[:200].rstrip('.')}.")
        return [_from_arxiv(entry) for entry in entries if entry.url][:limit]


def _from_arxiv(entry: FeedEntry) -> Found:
    page = re.sub(r"^http://arxiv\.org", "https://arxiv.org", entry.url)
    text = re.sub(r"^http://arxiv\.org", "https://arxiv.org", entry.links.get("pdf", ""))
    return _from_feed(entry, Arxiv.name, "academic", page, text)


DISCUSSION = "https://news.ycombinator.com/item?id="


class HackerNews(_Api):
    """Hacker News stories; the source is the discussion, not the linked page."""

    name = "Hacker News"
    kind: Kind = "social"
    home = "https://hn.algolia.com"

    async def search(self, query: str, limit: int) -> list[Found]:
        words = query_words(query, 10)
        if not words or limit < 1:
            return []
        parameters = {"query": " ".join(words), "tags": "story", "hitsPerPage": min(limit, 50)}
        data = await self._client.json(f"{self._address}/api/v1/search?{urlencode(parameters)}")
        results = map(_from_hackernews, _list(data.get("hits")))
        return [result for result in results if result is not None][:limit]


def _from_hackernews(hit: Any) -> Found | None:
    fields = _table(hit)
    number, title = line(fields.get("objectID"), 20), line(plain(str(fields.get("title") or "")), 300)
    if not number.isdecimal() or not title:
        return None
    text = line(plain(str(fields.get("story_text") or "")), 1_000)
    votes = f"{_number(fields.get('points'))} points, {_number(fields.get('num_comments'))} comments."
    author = line(fields.get("author"), 100)
    return Found(
        title,
        DISCUSSION + number,
        f"{text} {votes}".strip(),
        kind="social",
        published=iso_date(fields.get("created_at")),
        authors=(author,) if author else (),
        provider=HackerNews.name,
    )


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0


SEARCH = "https://www.bing.com/news/search?q={query}&format=rss"
LEAST_SHARE = 0.3
"""Minimum share of the query's words that a feed entry must contain."""


class NewsSearch:
    """A news search URL with a `{query}` placeholder that returns RSS or Atom."""

    kind: Kind = "news"

    def __init__(self, template: str = "", seconds: float = SECONDS) -> None:
        self.name = "Bing News" if not template else f"News ({urlsplit(template).hostname or 'feed'})"
        self._template = template or SEARCH
        self._client = ProviderClient(self.name, trusted=bool(template), seconds=seconds)

    async def search(self, query: str, limit: int) -> list[Found]:
        words = query_words(query, 20)
        if not words or limit < 1:
            return []
        reply = await self._client.get(self._template.replace("{query}", quote_plus(" ".join(words))))
        entries = read_feed(reply.body, self.name)
        return [_from_feed(entry, self.name) for entry in entries if entry.url][:limit]


class Feeds:
    """The user's news feeds: matching entries, closest and newest first."""

    name = "News feeds"
    kind: Kind = "news"

    def __init__(self, addresses: Sequence[str], seconds: float = SECONDS) -> None:
        self._addresses, self._seconds = list(addresses), seconds

    async def search(self, query: str, limit: int) -> list[Found]:
        """Search all feeds. A failing feed is skipped, unless all fail."""
        words = query_words(query, 20)
        answers = await asyncio.gather(*map(self._read, self._addresses), return_exceptions=True)
        failures = [answer for answer in answers if isinstance(answer, BaseException)]
        for failure in failures:
            if not isinstance(failure, ToolError) or len(failures) == len(answers):
                raise failure
        results = [result for answer in answers if isinstance(answer, list) for result in answer]
        close = [(share(words, f"{result.title} {result.snippet}"), result) for result in results]
        chosen = [pair for pair in close if pair[0] >= LEAST_SHARE]
        chosen.sort(key=lambda pair: (pair[0], pair[1].published), reverse=True)
        return [result for _, result in chosen[: max(limit, 0)]]

    async def _read(self, address: str) -> list[Found]:
        name = f"The feed of {urlsplit(address).hostname or address[:80]}"
        reply = await ProviderClient(name, trusted=True, seconds=self._seconds).get(address)
        return [_from_feed(entry, self.name) for entry in read_feed(reply.body, name) if entry.url]


def _from_feed(
    entry: FeedEntry, provider: str, kind: Kind = "news", url: str = "", text_url: str = ""
) -> Found:
    return Found(
        entry.title or entry.url,
        url or _unwrapped(entry.url),
        entry.text,
        kind,
        entry.published,
        entry.authors,
        provider,
        text_url,
    )


def _unwrapped(address: str) -> str:
    """Return the target of a Bing click-tracking URL; return other URLs unchanged."""
    parts = urlsplit(address)
    if (parts.hostname or "").endswith("bing.com") and parts.path.startswith("/news/apiclick"):
        inner = parse_qs(parts.query).get("url", [""])[0]
        return inner if inner.startswith(("http://", "https://")) else address
    return address


_FIELDS = (
    "id,doi,display_name,publication_date,authorships,abstract_inverted_index,primary_location,"
    "best_oa_location"
)
MAX_ABSTRACT_WORDS = 1_000


class OpenAlex(_Api):
    """OpenAlex works by relevance; the full text is the best open-access copy that it knows."""

    name = "OpenAlex"
    kind: Kind = "academic"
    home = "https://api.openalex.org"

    def __init__(self, address: str = "", key: str = "", seconds: float = SECONDS) -> None:
        super().__init__(address, seconds)
        self._key = key

    async def search(self, query: str, limit: int) -> list[Found]:
        words = query_words(query, 20)
        if not words or limit < 1:
            return []
        parameters = {"search": " ".join(words), "per-page": min(limit, 100), "select": _FIELDS}
        parameters |= {"api_key": self._key} if self._key else {}
        data = await self._client.json(f"{self._address}/works?{urlencode(parameters)}")
        results = [_from_openalex(_table(work)) for work in _list(data.get("results"))]
        return [result for result in results if result.url and result.title][:limit]


def _from_openalex(work: dict[str, Any]) -> Found:
    free, first = _table(work.get("best_oa_location")), _table(work.get("primary_location"))
    pages = (work.get("doi"), first.get("landing_page_url"), free.get("landing_page_url"), work.get("id"))
    texts = (free.get("pdf_url"), free.get("landing_page_url"))
    url = next((page for page in map(_address, pages) if page), "")
    text = next((page for page in map(_address, texts) if page), "")
    return Found(
        title=line(plain(str(work.get("display_name") or "")), 300),
        url=url,
        snippet=line(plain(_abstract(work.get("abstract_inverted_index"))), 4_000),
        kind="academic",
        published=iso_date(work.get("publication_date")),
        authors=_authors(work.get("authorships")),
        provider=OpenAlex.name,
        text_url=text if text != url else "",
    )


def _abstract(index: Any) -> str:
    """Rebuild the abstract from OpenAlex's inverted index of word positions."""
    placed: list[tuple[int, str]] = []
    for word, places in _table(index).items():
        placed += [(place, word) for place in _list(places) if isinstance(place, int)]
    return " ".join(word for _, word in sorted(placed)[:MAX_ABSTRACT_WORDS])


def _authors(authorships: Any) -> tuple[str, ...]:
    authors = (_table(_table(entry).get("author")) for entry in _list(authorships)[:50])
    names = (line(author.get("display_name"), 200) for author in authors)
    return tuple(dict.fromkeys(name for name in names if name))


def _address(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    return text[:2_000] if text.startswith(("http://", "https://")) else ""


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


class WebSearch:
    """Web search with Tavily or Brave (with a key), or DuckDuckGo and others (without)."""

    kind: Kind = "web"

    def __init__(self, engine: SearchEngine, seconds: float = WEB_SECONDS) -> None:
        self.name = engine.name
        self._engine, self._seconds = engine, seconds

    async def search(self, query: str, limit: int) -> list[Found]:
        hits = await find(self._engine, query, limit, self._seconds)
        return [Found(hit.title or hit.url, hit.url, hit.snippet, "web", provider=self.name) for hit in hits]


def online(worker: str, settings: Settings, env: Mapping[str, str] | None = None) -> list[Provider]:
    """Return the online providers of a worker. `[providers.NAME] base_url` overrides the address of arxiv,
    openalex, hackernews, tavily and brave; `[news]` configures the feeds."""
    addresses = {name: option.base_url for name, option in settings.providers.items()}
    if worker == "web_search":
        return [WebSearch(open_engine(settings, env))]
    if worker == "academic_search":
        key = variable("OPENALEX_API_KEY", env=env)
        return [Arxiv(addresses.get("arxiv", "")), OpenAlex(addresses.get("openalex", ""), key)]
    if worker == "news_search":
        return _news(settings)
    return [HackerNews(addresses.get("hackernews", ""))]


def _news(settings: Settings) -> list[Provider]:
    providers: list[Provider] = []
    if settings.news.search != "":
        providers.append(NewsSearch(settings.news.search or ""))
    if settings.news.feeds:
        providers.append(Feeds(settings.news.feeds))
    return providers
