"""What people say: discussions on Hacker News, through the public search of Algolia, which needs no key."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlencode

from podium.tools.documents.document import iso_date, line
from podium.tools.question import telling
from podium.tools.sources.asking import SECONDS, Asker
from podium.tools.sources.feeds import plain
from podium.tools.sources.found import Found, Kind

ADDRESS = "https://hn.algolia.com"
DISCUSSION = "https://news.ycombinator.com/item?id="


class HackerNews:
    """Stories with what was said about them; the source is the discussion, not what it links to."""

    name = "Hacker News"
    kind: Kind = "social"

    def __init__(self, address: str = "", seconds: float = SECONDS) -> None:
        self._address = (address or ADDRESS).rstrip("/")
        self._asker = Asker(self.name, trusted=bool(address), seconds=seconds)

    async def search(self, query: str, limit: int) -> list[Found]:
        words = telling(query, 10)
        if not words or limit < 1:
            return []
        asked = {"query": " ".join(words), "tags": "story", "hitsPerPage": min(limit, 50)}
        data = await self._asker.json(f"{self._address}/api/v1/search?{urlencode(asked)}")
        hits: Any = data.get("hits")
        found = [_found(hit) for hit in (cast("list[Any]", hits) if isinstance(hits, list) else [])]
        return [one for one in found if one is not None][:limit]


def _found(hit: Any) -> Found | None:
    fields = cast("dict[str, Any]", hit) if isinstance(hit, dict) else {}
    number, title = line(fields.get("objectID"), 20), line(plain(str(fields.get("title") or "")), 300)
    if not number.isdecimal() or not title:
        return None
    said = line(plain(str(fields.get("story_text") or "")), 1_000)
    votes = f"{_number(fields.get('points'))} points, {_number(fields.get('num_comments'))} comments."
    author = line(fields.get("author"), 100)
    return Found(
        title, DISCUSSION + number, f"{said} {votes}".strip(), "social",
        iso_date(fields.get("created_at")), (author,) if author else (), HackerNews.name,
    )  # fmt: skip


def _number(value: Any) -> int:
    return value if isinstance(value, int) else 0
