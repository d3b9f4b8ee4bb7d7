"""RunLoopThread, BackgroundTasks.

A hundred runs whose models answer at once keep a loop busy for most of a second a round, and a request needs
several rounds. On a loop of their own they cannot get in front of one: the interpreter takes turns between
the two threads, whatever waits in either. What the runs write reaches readers through the store.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from podium.engine.log import Store
from podium.stores import open_store

T = TypeVar("T")

TURN_S = 0.001
"""How long one thread may keep another from the interpreter. A request needs several turns, and Python's own
5 ms would add up."""


class RunLoopThread:
    """Opened with the server, closed when everything in it has ended."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, name="podium-runs", daemon=True)
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """For what is done in here."""
        if self._store is None:
            raise RuntimeError("The room is not open.")
        return self._store

    def _live(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    async def open(self) -> None:
        """Raises `StoreError` like any opening of a store."""
        sys.setswitchinterval(min(TURN_S, sys.getswitchinterval()))
        self._thread.start()
        try:
            self._store = await self.do(_opened(self._url))
        except BaseException:
            await self._end()
            raise

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Have something done in here, and wait for it."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def soon(self, call: Callable[..., object], *arguments: Any) -> None:
        """Call something in here without waiting for it."""
        self._loop.call_soon_threadsafe(call, *arguments)

    async def close(self) -> None:
        """When nothing is done in here any more."""
        if self._store is not None:
            await self.do(self._store.close())
            self._store = None
            await self._end()

    async def _end(self) -> None:
        await self.do(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)


async def _opened(url: str) -> Store:
    return await open_store(url)


class BackgroundTasks:
    """Tasks that nobody waits for. Each failure goes to `failed`."""

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self._failed = failed
        self._tasks: set[asyncio.Task[None]] = set()
        """The loop holds its tasks only weakly."""

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def finish(self) -> None:
        """Wait until all is done, also what was begun meanwhile."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)
