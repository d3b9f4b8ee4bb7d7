"""`podium worker`: takes runs from the engine, drives them, and ends in order."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TypeVar

import msgspec

from podium.cluster.driving import Driving
from podium.cluster.opening import open_engine
from podium.cluster.port import Crew, Engine, Schedule
from podium.cluster.schedules import fire
from podium.cluster.shared import SharedStore, shared
from podium.cluster.sweeping import Sweep
from podium.errors import StoreAwayError, StoreError, UsageError
from podium.settings import Settings
from podium.stores import open_store
from podium.stores.address import take_lease

LOG = logging.getLogger("podium.cluster")
Opened = TypeVar("Opened")

DRAIN_S = 30.0
_AGAIN_S = 2.0


class Working(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker is started."""

    settings: Settings
    concurrency: int = 20
    """Most runs at once."""
    workflows: Sequence[str] = ()
    """Only these; empty: all."""
    drain_s: float = DRAIN_S
    """How long calls in flight get to be recorded when the worker stops."""


class Worker:
    """One process of a fleet."""

    def __init__(self, working: Working, store: SharedStore, engine: Engine) -> None:
        self._working = working
        self._store = store
        self._engine = engine
        self._stop = asyncio.Event()
        self._signals = 0
        _, lease_s = take_lease(working.settings.store)
        self._sweep = Sweep(store, engine)
        self.driving = Driving(store, working.settings, lease_s, self._sweep.sweep)
        self.places = working.concurrency
        self.ready = False
        """Whether it takes runs now."""

    async def work(self, started: Callable[[], None]) -> None:
        """Work until somebody stops it."""

        def ready() -> None:
            if not self.ready and not self._stop.is_set():
                self.ready = True
                started()

        crew = Crew(
            drive=self.driving.drive, fire=self._fire, concurrency=self._working.concurrency,
            workflows=self._working.workflows, stop=self._stop, ready=ready,
        )  # fmt: skip
        sweeping = asyncio.create_task(self._sweep.keep_sweeping(), name="podium-sweep")
        try:
            with self._stopped_by_signals():
                await self._engine.work(crew)
        finally:
            self.ready = False
            sweeping.cancel()
            await asyncio.wait([sweeping])

    async def reaches_store(self, patience_s: float) -> bool:
        """Whether the store answers within so long."""
        try:
            async with asyncio.timeout(patience_s):
                await self._store.list_runs(limit=1)
        except (TimeoutError, StoreError):
            return False
        return True

    async def _fire(self, schedule: Schedule, moment: int) -> None:
        await fire(self._store, self._working.settings, self._engine, schedule, moment)

    def stop(self) -> None:
        """The first time: take nothing new, give calls in flight their time, hand the runs back. The second
        time: at once."""
        self._signals += 1
        self.ready = False
        if self._signals == 1:
            LOG.info(
                "Stopping: %d runs are handed back; calls in flight get %g s to be recorded.",
                self.driving.running, self._working.drain_s,
            )  # fmt: skip
            self.driving.stop(self._working.drain_s)
        else:
            LOG.info("Stopping at once.")
            self.driving.stop_at_once()
        self._stop.set()

    @contextmanager
    def _stopped_by_signals(self) -> Generator[None]:
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        for number in signals:
            loop.add_signal_handler(number, self.stop)
        try:
            yield
        finally:
            for number in signals:
                loop.remove_signal_handler(number)


@asynccontextmanager
async def opened(working: Working) -> AsyncGenerator[tuple[SharedStore, Engine]]:
    """The store and the engine. What is away is waited for; what refuses the worker is not."""
    settings = working.settings
    async with AsyncExitStack() as stack:
        engine = await _once_there(lambda: open_engine(settings.engine, settings.store, patience_s=math.inf))
        stack.push_async_callback(engine.close)
        store = await _once_there(lambda: open_store(settings.store))
        stack.push_async_callback(store.close)
        yield shared(store), engine


async def _once_there(opening: Callable[[], Awaitable[Opened]]) -> Opened:
    """Machines come up in any order, so a worker has to wait for others; that is said once."""
    said = False
    while True:
        try:
            return await opening()
        except StoreAwayError as error:
            if not said:
                LOG.warning("Waiting: %s", error)
            said = True
            await asyncio.sleep(_AGAIN_S)
        except StoreError as error:
            raise UsageError(str(error), hint=error.hint or "Choose another with --store.") from error
