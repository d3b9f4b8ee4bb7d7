"""arXiv: preprints, through its public Atom interface."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from podium.tools.question import telling
from podium.tools.sources.asking import SECONDS, Asker
from podium.tools.sources.feeds import Entry, read_feed
from podium.tools.sources.found import Found, Kind
from podium.tools.tool import ToolError

ADDRESS = "https://export.arxiv.org"


class Arxiv:
    """Papers by the words of title, abstract and authors; the full text is their PDF."""

    name = "arXiv"
    kind: Kind = "academic"

    def __init__(self, address: str = "", seconds: float = SECONDS) -> None:
        self._address = (address or ADDRESS).rstrip("/")
        self._asker = Asker(self.name, trusted=bool(address), seconds=seconds)

    async def search(self, query: str, limit: int) -> list[Found]:
        words = telling(query, 10)
        if not words or limit < 1:
            return []
        asked = {
            "search_query": " OR ".join(f"all:{word}" for word in words),
            "start": 0,
            "max_results": min(limit, 100),
            "sortBy": "relevance",
        }
        reply = await self._asker.get(f"{self._address}/api/query?{urlencode(asked)}")
        entries = read_feed(reply.body, self.name)
        for entry in entries:
            if "/api/errors" in entry.id:
                raise ToolError(f"{self.name} refused the question: {entry.text[:200].rstrip('.')}.")
        return [_found(entry) for entry in entries if entry.url][:limit]


def _found(entry: Entry) -> Found:
    page = re.sub(r"^http://arxiv\.org", "https://arxiv.org", entry.url)
    text = re.sub(r"^http://arxiv\.org", "https://arxiv.org", entry.links.get("pdf", ""))
    return Found(
        entry.title, page, entry.text, "academic", entry.published, entry.authors, Arxiv.name, text_url=text
    )
