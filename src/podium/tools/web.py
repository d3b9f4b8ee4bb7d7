"""The tools for the web, together; only here are the packages of the extra `web` needed."""

from __future__ import annotations

from podium.settings import Settings
from podium.tools.fetch import Fetcher
from podium.tools.reading import FetchUrl
from podium.tools.search import SearchWeb, open_engine
from podium.tools.tool import Tool


def web_tools(settings: Settings | None, fetcher: Fetcher | None) -> list[Tool]:
    """Searching, and reading what was found."""
    return [SearchWeb(open_engine(settings)), FetchUrl(fetcher or Fetcher())]
