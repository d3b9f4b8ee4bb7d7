"""Sources of a research run: a corpus, the web, or both.

Opened on first use, because a replay needs neither.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol
from urllib.parse import urlsplit

import msgspec

from podium.settings import Settings
from podium.tools.corpus.corpus import SCHEME, Corpus, open_corpus
from podium.tools.sources.providers import Found, Provider, Retrieved, providers_for, retrieve
from podium.tools.tool import ToolError

if TYPE_CHECKING:
    from podium.tools.fetch import Fetcher


AT_ONCE = 6
"""Maximum texts that are read in parallel, to limit the request rate."""


class SearchAnswer(msgspec.Struct, frozen=True):
    """Result of a search."""

    found: list[Found]
    troubles: list[str] = []
    """Errors of the providers that could not answer."""


class Shelf(msgspec.Struct, frozen=True):
    """Contents of a corpus."""

    documents: int
    troubles: list[str] = []


class Library(Protocol):
    """Interface of the research workers. All methods are called inside recorded steps; failures are
    `ToolError`s."""

    async def look(self, at: str) -> Shelf:
        """Update the corpus index, if there is a corpus."""
        ...

    async def search(self, worker: str, query: str, limit: int) -> SearchAnswer: ...

    async def read(self, hit: Found, at: str) -> Retrieved:
        """Return the whole text of a search result."""
        ...


OpenLibrary = Callable[[Settings, str, bool], Library]
"""Opens a library. Arguments: the settings, the corpus folder (or an empty string), and whether the web may
be used."""


class Sources:
    """The library that uses the corpus and the web."""

    def __init__(
        self,
        settings: Settings,
        corpus: str,
        online: bool,
        *,
        env: Mapping[str, str] | None = None,
        fetcher: Fetcher | None = None,
    ) -> None:
        self._settings = settings
        self._env, self._fetcher = env, fetcher
        self._folder = corpus
        self._online = online
        self._corpus: Corpus | None = None
        self._reading = asyncio.Semaphore(AT_ONCE)

    async def look(self, at: str) -> Shelf:
        corpus = await self._opened(at)
        if corpus is None:
            return Shelf(0)
        if not corpus.documents:
            raise ToolError(f"The corpus {self._folder} contains no readable document.")
        return Shelf(corpus.documents, corpus.troubles)

    async def search(self, worker: str, query: str, limit: int) -> SearchAnswer:
        providers = providers_for(
            worker, self._settings, await self._opened(), online=self._online, env=self._env
        )
        return await ask_all(providers, worker, query, limit)

    async def read(self, hit: Found, at: str) -> Retrieved:
        async with self._reading:
            return await retrieve(hit, at=at, corpus=await self._opened(), fetcher=self._fetcher)

    async def _opened(self, at: str = "") -> Corpus | None:
        if self._corpus is None and self._folder:
            self._corpus = await open_corpus(Path(self._folder), self._settings, at=at)
        return self._corpus


async def ask_all(providers: list[Provider], worker: str, query: str, limit: int) -> SearchAnswer:
    """Return the results of all providers in order. A provider that fails is listed in `troubles`; if all
    fail, raise `ToolError`."""
    if not providers:
        raise ToolError(f"There is no source behind {worker}.")
    answers = await asyncio.gather(
        *(provider.search(query, limit) for provider in providers), return_exceptions=True
    )
    results, troubles = list[Found](), list[str]()
    for answer in answers:
        if isinstance(answer, ToolError):
            troubles.append(str(answer))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            results += answer
    if len(troubles) == len(providers):
        raise ToolError(" ".join(troubles))
    return SearchAnswer(results, troubles)


def same(url: str) -> str:
    """Normalize an address."""
    if url.startswith(SCHEME):
        return url
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    query = f"?{parts.query}" if parts.query else ""
    return f"{host}{parts.path.rstrip('/')}{query}".lower()
