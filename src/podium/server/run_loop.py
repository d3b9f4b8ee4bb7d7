"""Event loop thread that drives the runs, and background tasks.

A hundred runs whose models answer at once keep an event loop busy for most of a second per iteration, and a
request needs several iterations. On a loop of their own the runs cannot delay requests: the interpreter
switches between the two threads, however much work is pending in either. Readers see what the runs write
through the store.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from podium.engine.log import Store
from podium.stores import LOCK_TIMEOUT_S, open_store

T = TypeVar("T")

TURN_S = 0.001
"""Upper bound of the interpreter's thread switch interval, in seconds. A request needs several switches, and
Python's default of 5 ms would add up."""


class RunLoopThread:
    """A thread with its own event loop and store. Opened with the server, closed when all work in it has
    ended."""

    def __init__(self, url: str, *, lock_timeout: float = LOCK_TIMEOUT_S) -> None:
        self._url = url
        self._lock_timeout = lock_timeout
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._live, name="podium-runs", daemon=True)
        self._store: Store | None = None

    @property
    def store(self) -> Store:
        """The store for work on this loop. Raises `RuntimeError` before `open` and after `close`."""
        if self._store is None:
            raise RuntimeError("The run loop is not open.")
        return self._store

    def _live(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.close()

    async def open(self) -> None:
        """Start the thread and open the store. Raises `StoreError` if the store cannot be opened."""
        sys.setswitchinterval(min(TURN_S, sys.getswitchinterval()))
        self._thread.start()
        try:
            self._store = await self.do(_opened(self._url, self._lock_timeout))
        except BaseException:
            await self._end()
            raise

    async def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on this loop and return its result."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def soon(self, call: Callable[..., object], *arguments: Any) -> None:
        """Schedule a call on this loop without waiting for it."""
        self._loop.call_soon_threadsafe(call, *arguments)

    async def close(self) -> None:
        """Close the store and end the thread. Call it when no work is left on this loop."""
        if self._store is not None:
            await self.do(self._store.close())
            self._store = None
            await self._end()

    async def _end(self) -> None:
        await self.do(self._loop.shutdown_asyncgens())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.to_thread(self._thread.join)


async def _opened(url: str, lock_timeout: float) -> Store:
    return await open_store(url, lock_timeout=lock_timeout)


class BackgroundTasks:
    """Fire-and-forget tasks. Each exception goes to `failed`."""

    def __init__(self, failed: Callable[[BaseException], None]) -> None:
        self._failed = failed
        self._tasks: set[asyncio.Task[None]] = set()
        """Strong references: the event loop holds its tasks only weakly."""

    def begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def finish(self) -> None:
        """Wait until all tasks are done, including those started meanwhile."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)
