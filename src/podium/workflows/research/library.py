"""Where sources come from: a corpus, the web, or both. Opened when first asked: a replay needs neither."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from podium.settings import Settings
from podium.tools.corpus.corpus import Corpus, open_corpus
from podium.tools.sources.providers import Found, Provider, Retrieved, providers_for, retrieve
from podium.tools.tool import ToolError

if TYPE_CHECKING:
    from podium.tools.fetch import Fetcher


AT_ONCE = 6
"""Texts that are read side by side: a page of results should not become a storm of requests."""


class SearchAnswer(msgspec.Struct, frozen=True):
    """What a search gave."""

    found: list[Found]
    troubles: list[str] = []
    """Of those who were asked and could not answer."""


class Shelf(msgspec.Struct, frozen=True):
    """What a corpus holds."""

    documents: int
    troubles: list[str] = []


class Library(Protocol):
    """What the research workers use. All of it is called inside recorded steps; failures are `ToolError`s."""

    async def look(self, at: str) -> Shelf:
        """Bring the corpus up to date, if there is one."""
        ...

    async def search(self, worker: str, query: str, limit: int) -> SearchAnswer: ...

    async def read(self, found: Found, at: str) -> Retrieved:
        """The whole text of something that was found."""
        ...


OpenLibrary = Callable[[Settings, str, bool], Library]
"""Settings, the folder of the corpus (or nothing), and whether the web may be used."""


class Sources:
    """The real library."""

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
            raise ToolError(f"The corpus {self._folder} holds no document that can be read.")
        return Shelf(corpus.documents, corpus.troubles)

    async def search(self, worker: str, query: str, limit: int) -> SearchAnswer:
        providers = providers_for(
            worker, self._settings, await self._opened(), online=self._online, env=self._env
        )
        return await ask_all(providers, worker, query, limit)

    async def read(self, found: Found, at: str) -> Retrieved:
        async with self._reading:
            return await retrieve(found, at=at, corpus=await self._opened(), fetcher=self._fetcher)

    async def _opened(self, at: str = "") -> Corpus | None:
        if self._corpus is None and self._folder:
            self._corpus = await open_corpus(Path(self._folder), self._settings, at=at)
        return self._corpus


async def ask_all(providers: list[Provider], worker: str, query: str, limit: int) -> SearchAnswer:
    """Everybody's results, in their order. One who cannot answer is a trouble; if nobody can, it failed."""
    if not providers:
        raise ToolError(f"There is no source behind {worker}.")
    answers = await asyncio.gather(
        *(provider.search(query, limit) for provider in providers), return_exceptions=True
    )
    found, troubles = list[Found](), list[str]()
    for answer in answers:
        if isinstance(answer, ToolError):
            troubles.append(str(answer))
        elif isinstance(answer, BaseException):
            raise answer
        else:
            found += answer
    if len(troubles) == len(providers):
        raise ToolError(" ".join(troubles))
    return SearchAnswer(found, troubles)
