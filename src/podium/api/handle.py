"""Handle of a run that this process drives: watch it, wait for it, stop it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from podium.engine.core import Delta
from podium.engine.events import Event
from podium.engine.log import Lease, Store
from podium.engine.result import RunResult
from podium.engine.runner import Driver
from podium.stores.shared import SharedStore, borrow

DELTA_BUFFER = 1000
"""Reply deltas that a slow viewer may lag behind before the oldest are dropped."""

COMPANION_S = 5.0
"""Seconds that `result` waits for companion tasks, which normally need milliseconds."""


class RunHandle:
    """Handle that `start`, `resume` and `fork` return. The run is already durable and under way."""

    def __init__(
        self,
        store: Store,
        driver: Driver,
        lease: Lease,
        *,
        shared: SharedStore | None,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self.run_id = driver.run_id
        self._driver = driver
        self._store = store
        self._shared = shared
        """Handle that releases the shared store. None: the store belongs to the caller."""
        self._close = close
        """Closes what only this drive needs: connections to models."""
        self._users = 1
        self._companions: list[asyncio.Task[None]] = []
        self._task = asyncio.get_running_loop().create_task(self._drive(lease))

    async def _drive(self, lease: Lease) -> RunResult:
        try:
            return await self._driver.drive(lease)
        finally:
            try:
                await self._close()
            finally:
                await self._let_go()

    async def _let_go(self) -> None:
        self._users -= 1
        if self._users == 0 and self._shared is not None:
            await self._shared.leave()

    def accompany(self, companion: Coroutine[Any, Any, None]) -> None:
        """Run a task that watches this drive to its end. It does local work only; `result` waits for it, so
        that it completes even if the event loop ends with the run."""
        self._companions.append(asyncio.get_running_loop().create_task(companion))

    @property
    def done(self) -> bool:
        """Return whether this drive has ended."""
        return self._task.done()

    async def result(self) -> RunResult:
        """Wait until the run has ended, waits for a person, or was stopped."""
        result = await asyncio.shield(self._task)
        if self._companions:
            await asyncio.wait(self._companions, timeout=COMPANION_S)
        return result

    async def abandon(self, reason: str = "paused") -> None:
        """Stop immediately and leave a run that can be resumed. The result or exception is discarded."""
        self._driver.pause(reason, at_once=True)
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()

    async def events(self, after: int = 0) -> AsyncGenerator[Event]:
        """Yield typed events after `after` as they become durable. Ends when this drive ends."""
        if self._users == 0 and self._shared is not None:  # it is over, and its store was released
            async with borrow(self._store.url) as store:
                for row in await store.read(self.run_id, after=after):
                    yield row.to_event(self.run_id)
            return
        self._users += 1
        try:
            async with aclosing(self._tail(after)) as events:
                async for event in events:
                    yield event
        finally:
            await self._let_go()

    async def _tail(self, after: int) -> AsyncGenerator[Event]:
        rows = self._store.tail(self.run_id, after=after)
        following = asyncio.ensure_future(anext(rows, None))
        try:
            while True:
                await asyncio.wait({following, self._task}, return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    break
                row = following.result()
                if row is None:
                    return  # the owner closed the store
                after = row.seq
                yield row.to_event(self.run_id)
                following = asyncio.ensure_future(anext(rows, None))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await rows.aclose()
        for row in await self._store.read(self.run_id, after=after):
            yield row.to_event(self.run_id)

    def watch_deltas(self, viewer: Callable[[Delta], None]) -> Callable[[], None]:
        """Call `viewer` synchronously with each reply delta. Returns a function that stops it."""
        return self._driver.watch_deltas(viewer)

    async def deltas(self) -> AsyncGenerator[Delta]:
        """Yield reply deltas while replies are generated: path, attempt, offset, text. They are not in the
        log, and the oldest are dropped for a slow viewer."""
        queue: asyncio.Queue[Delta | None] = asyncio.Queue()

        def put(delta: Delta) -> None:
            if queue.qsize() >= DELTA_BUFFER:
                queue.get_nowait()
            queue.put_nowait(delta)

        stop = self.watch_deltas(put)
        self._task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (delta := await queue.get()) is not None:
                yield delta
        finally:
            stop()

    async def cancel(self, reason: str = "") -> RunResult:
        """End the run for good; returns within two seconds."""
        self._driver.cancel(reason)
        return await self.result()

    async def pause(self, *, at_once: bool = False) -> RunResult:
        """Stop the run so that it can be resumed. Calls in flight get the time of the setting `pause_grace`
        to be recorded, unless `at_once`."""
        self._driver.pause(at_once=at_once)
        return await self.result()

    def request_pause(self, reason: str = "paused", *, grace_s: float | None = None) -> None:
        """Request a pause without waiting, for signal handlers. Calls in flight get `grace_s` seconds to be
        recorded (None: the setting `pause_grace`); a second request is immediate."""
        self._driver.pause(reason, grace_s=grace_s)
