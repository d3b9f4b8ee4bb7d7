"""OpenAlex: scholarly works of all fields, through its public JSON interface."""

from __future__ import annotations

from typing import Any, cast
from urllib.parse import urlencode

from podium.tools.documents.document import iso_date, line
from podium.tools.question import telling
from podium.tools.sources.asking import SECONDS, Asker
from podium.tools.sources.feeds import plain
from podium.tools.sources.found import Found, Kind

ADDRESS = "https://api.openalex.org"
_FIELDS = (
    "id,doi,display_name,publication_date,authorships,abstract_inverted_index,primary_location,"
    "best_oa_location"
)
MAX_ABSTRACT_WORDS = 1_000


class OpenAlex:
    """Works by relevance; the full text is the best free copy that OpenAlex knows."""

    name = "OpenAlex"
    kind: Kind = "academic"

    def __init__(self, address: str = "", key: str = "", seconds: float = SECONDS) -> None:
        self._address, self._key = (address or ADDRESS).rstrip("/"), key
        self._asker = Asker(self.name, trusted=bool(address), seconds=seconds)

    async def search(self, query: str, limit: int) -> list[Found]:
        words = telling(query, 20)
        if not words or limit < 1:
            return []
        asked = {"search": " ".join(words), "per-page": min(limit, 100), "select": _FIELDS}
        asked |= {"api_key": self._key} if self._key else {}
        data = await self._asker.json(f"{self._address}/works?{urlencode(asked)}")
        works: Any = data.get("results")
        found = [
            _found(_table(work)) for work in (cast("list[Any]", works) if isinstance(works, list) else [])
        ]
        return [one for one in found if one.url and one.title][:limit]


def _found(work: dict[str, Any]) -> Found:
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
    """OpenAlex gives the places of each word instead of the text."""
    placed: list[tuple[int, str]] = []
    for word, places in _table(index).items():
        if isinstance(places, list):
            placed += [(place, word) for place in cast("list[Any]", places) if isinstance(place, int)]
    return " ".join(word for _, word in sorted(placed)[:MAX_ABSTRACT_WORDS])


def _authors(authorships: Any) -> tuple[str, ...]:
    entries = cast("list[Any]", authorships) if isinstance(authorships, list) else []
    names = (line(_table(_table(entry).get("author")).get("display_name"), 200) for entry in entries[:50])
    return tuple(dict.fromkeys(name for name in names if name))


def _address(value: Any) -> str:
    text = value if isinstance(value, str) else ""
    return text[:2_000] if text.startswith(("http://", "https://")) else ""


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
