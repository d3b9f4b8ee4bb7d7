"""News: a search that answers with a feed, and the feeds that the user reads."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from urllib.parse import parse_qs, quote_plus, urlsplit

from podium.tools.question import share, telling
from podium.tools.sources.asking import SECONDS, Asker
from podium.tools.sources.feeds import Entry, read_feed
from podium.tools.sources.found import Found, Kind
from podium.tools.tool import ToolError

SEARCH = "https://www.bing.com/news/search?q={query}&format=rss"
LEAST_SHARE = 0.3
"""Of the words of a question that an entry of a feed must speak of."""


class NewsSearch:
    """One address that is asked with the question's words and answers with RSS or Atom."""

    kind: Kind = "news"

    def __init__(self, template: str = "", seconds: float = SECONDS) -> None:
        self.name = "Bing News" if not template else f"News ({urlsplit(template).hostname or 'feed'})"
        self._template = template or SEARCH
        self._asker = Asker(self.name, trusted=bool(template), seconds=seconds)

    async def search(self, query: str, limit: int) -> list[Found]:
        words = telling(query, 20)
        if not words or limit < 1:
            return []
        reply = await self._asker.get(self._template.replace("{query}", quote_plus(" ".join(words))))
        entries = read_feed(reply.body, self.name)
        return [_found(entry, self.name) for entry in entries if entry.url][:limit]


class Feeds:
    """The user's feeds: those entries that speak of the question, the closest and newest first."""

    name = "News feeds"
    kind: Kind = "news"

    def __init__(self, addresses: Sequence[str], seconds: float = SECONDS) -> None:
        self._addresses, self._seconds = list(addresses), seconds

    async def search(self, query: str, limit: int) -> list[Found]:
        """A feed that fails is passed over, unless all do."""
        words = telling(query, 20)
        answers = await asyncio.gather(*map(self._read, self._addresses), return_exceptions=True)
        failures = [answer for answer in answers if isinstance(answer, BaseException)]
        for failure in failures:
            if not isinstance(failure, ToolError) or len(failures) == len(answers):
                raise failure
        found = [one for answer in answers if isinstance(answer, list) for one in answer]
        close = [(share(words, f"{one.title} {one.snippet}"), one) for one in found]
        chosen = [pair for pair in close if pair[0] >= LEAST_SHARE]
        chosen.sort(key=lambda pair: (pair[0], pair[1].published), reverse=True)
        return [one for _, one in chosen[: max(limit, 0)]]

    async def _read(self, address: str) -> list[Found]:
        name = f"The feed of {urlsplit(address).hostname or address[:80]}"
        reply = await Asker(name, trusted=True, seconds=self._seconds).get(address)
        return [_found(entry, self.name) for entry in read_feed(reply.body, name) if entry.url]


def _found(entry: Entry, provider: str) -> Found:
    return Found(
        entry.title or entry.url, _unwrapped(entry.url), entry.text, "news", entry.published, entry.authors,
        provider,
    )  # fmt: skip


def _unwrapped(address: str) -> str:
    """The page itself, where the address only counts who clicks."""
    parts = urlsplit(address)
    if (parts.hostname or "").endswith("bing.com") and parts.path.startswith("/news/apiclick"):
        inner = parse_qs(parts.query).get("url", [""])[0]
        return inner if inner.startswith(("http://", "https://")) else address
    return address
