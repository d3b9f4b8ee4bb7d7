"""The providers on the web, together; only here are the packages of the extra `research` needed."""

from __future__ import annotations

from collections.abc import Mapping

from podium.settings import Settings, variable
from podium.tools.sources.arxiv import Arxiv
from podium.tools.sources.found import Provider
from podium.tools.sources.hackernews import HackerNews
from podium.tools.sources.news import Feeds, NewsSearch
from podium.tools.sources.openalex import OpenAlex
from podium.tools.sources.web import open_web


def online(worker: str, settings: Settings, env: Mapping[str, str] | None = None) -> list[Provider]:
    """Who is asked for a worker. `[providers.NAME] base_url` names another address of arxiv, openalex,
    hackernews, tavily and brave; `[news]` the feeds."""
    addresses = {name: option.base_url for name, option in settings.providers.items()}
    if worker == "web_search":
        return [open_web(settings, env)]
    if worker == "academic_search":
        key = variable("OPENALEX_API_KEY", env=env)
        return [Arxiv(addresses.get("arxiv", "")), OpenAlex(addresses.get("openalex", ""), key)]
    if worker == "news_search":
        return _news(settings)
    return [HackerNews(addresses.get("hackernews", ""))]


def _news(settings: Settings) -> list[Provider]:
    found: list[Provider] = []
    if settings.news.search != "":
        found.append(NewsSearch(settings.news.search or ""))
    if settings.news.feeds:
        found.append(Feeds(settings.news.feeds))
    return found
