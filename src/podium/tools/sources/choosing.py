"""Which providers stand behind a worker of research."""

from __future__ import annotations

from collections.abc import Mapping

from podium.settings import Settings
from podium.tools.corpus.corpus import Corpus
from podium.tools.sources.found import Found, Kind, Provider
from podium.tools.sources.library import CorpusSearch
from podium.tools.tool import ToolError

WORKERS: dict[str, Kind] = {
    "web_search": "web",
    "academic_search": "academic",
    "news_search": "news",
    "social_media": "social",
}
"""The workers that search, and what they look for."""

MISSING = "Searching the web needs an extra that is not installed: pip install 'podium[research]'."


class Missing:
    """Stands in for providers that are not installed: the worker fails, and says why."""

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
    """Who is asked for this worker. A corpus is asked alone, so that a run with one needs no network, unless
    `online` is true; without a corpus the web is asked, unless `online` is false. Nothing is connected."""
    if worker not in WORKERS:
        raise ValueError(f"{worker!r} does not search; those that do: {', '.join(WORKERS)}")
    found: list[Provider] = [CorpusSearch(corpus)] if corpus is not None else []
    if corpus is None if online is None else online:
        found += _load_online(worker, settings, env)
    return found


def _load_online(worker: str, settings: Settings, env: Mapping[str, str] | None) -> list[Provider]:
    try:
        from podium.tools.sources.online import online  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError:  # told by the worker that needs it
        return [Missing(WORKERS[worker])]
    return online(worker, settings, env)
