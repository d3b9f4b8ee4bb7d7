"""The web, through the engines of `tools/search.py`."""

from __future__ import annotations

from collections.abc import Mapping

from podium.settings import Settings
from podium.tools.search import SECONDS, Engine, find, open_engine
from podium.tools.sources.found import Found, Kind


class WebSearch:
    """Tavily or Brave with a key, DuckDuckGo and others without."""

    kind: Kind = "web"

    def __init__(self, engine: Engine, seconds: float = SECONDS) -> None:
        self.name = engine.name
        self._engine, self._seconds = engine, seconds

    async def search(self, query: str, limit: int) -> list[Found]:
        hits = await find(self._engine, query, limit, self._seconds)
        return [Found(hit.title or hit.url, hit.url, hit.snippet, "web", provider=self.name) for hit in hits]


def open_web(settings: Settings, env: Mapping[str, str] | None = None) -> WebSearch:
    return WebSearch(open_engine(settings, env))
