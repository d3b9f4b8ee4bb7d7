"""Worker process, run sessions and the sweep for lost runs.

A process can die between writing a run's row and submitting it to the engine, and an engine can lose a job.
The log is the truth: the sweep submits a run that is `queued` there, or whose driver is gone.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from typing import TypeVar

import msgspec

from podium.api import RunHandle
from podium.api.control import go_on, is_served, refuse
from podium.cluster.fleet import fire
from podium.cluster.port import LOST, Engine, Schedule, SharedStore, Ticket, WorkerConfig, open_engine, shared
from podium.engine.log import RunRow
from podium.engine.result import RunResult
from podium.errors import (
    FencedError,
    PodiumError,
    RunLockedError,
    StoreAwayError,
    StoreError,
    UnknownRunError,
    UsageError,
)
from podium.settings import Settings
from podium.stores import open_store, take_lease

LOG = logging.getLogger("podium.cluster")

STOPPED = "worker stopped"
"""Stop reason of a run that another worker continues."""
NAP_S = 5.0
"""A run that sleeps for longer than this, in seconds, gives up its slot."""
_ENDED = frozenset({"completed", "partial", "failed", "cancelled"})
"""Statuses of finished runs. To continue one, it is requeued first, and then it is `queued`."""
_LOOK_S = 0.25
_STORE_S = 5.0
"""Seconds after which a run is tried again whose store accepted no more writes."""


SlotFreed = Callable[[str], Awaitable[object]]
"""Called when an owner has a free slot for another run."""


class RunSession:
    """All runs that this worker drives."""

    def __init__(
        self, store: SharedStore, settings: Settings, lease_s: float, on_slot_free: SlotFreed
    ) -> None:
        self._store = store
        self._settings = settings
        self._lease_s = lease_s
        self._on_slot_free = on_slot_free
        self._handles: dict[str, RunHandle] = {}
        self._stopping = False
        self._grace_s = 0.0
        self.finished: Counter[str] = Counter()
        """Number of drives by the status they ended with, since the worker started."""

    @property
    def running(self) -> int:
        return len(self._handles)

    def stop(self, grace_s: float) -> None:
        """Pause all runs, so that other workers can continue them. Calls in flight get `grace_s` seconds to
        be recorded."""
        self._stopping = True
        self._grace_s = grace_s
        for handle in self._handles.values():
            handle.request_pause(STOPPED, grace_s=grace_s)

    def stop_at_once(self) -> None:
        """Pause all runs and cut off calls in flight."""
        self.stop(0.0)

    async def drive(self, run_id: str) -> float | None:
        """Drive one run; see `podium.cluster.port.Drive`."""
        if self._stopping:
            return time.time()
        status, row = "not started", None
        try:
            row = await self._store.get(run_id)
            if row.status in _ENDED:
                return None  # nothing to do: it was submitted twice, or another worker was faster
            if row.owner and not await self._store.take_place(run_id, row.owner):
                LOG.info("Run %s waits: %s has reached their limit of concurrent runs.", run_id, row.owner)
                return None  # the worker that ends one of them submits the next
            result = await self._stretch(row)
            status = result.status
            return _again(result)
        except FencedError:
            LOG.warning("Run %s is not driven here any more: it was taken over by another worker.", run_id)
        except UnknownRunError:
            LOG.warning("Run %s is gone.", run_id)
        except RunLockedError as error:
            LOG.info("Run %s is left alone: %s", run_id, error)
        except StoreError as error:
            LOG.warning("Run %s has to wait: %s", run_id, error)
            return time.time() + _STORE_S
        except PodiumError as error:
            LOG.warning("Run %s could not be driven: %s", run_id, error)
            await refuse(self._store, self._settings, await self._store.get(run_id), error)
        finally:
            self.finished[status] += 1
            await self._leave(row)
        return None

    async def _leave(self, row: RunRow | None) -> None:
        """Free the slot of a run for the next one of its owner."""
        if row is None or not row.owner:
            return
        try:
            await self._store.leave_place(row.run_id)
            await self._on_slot_free(row.owner)
        except StoreError as error:
            LOG.info("The sweep will find the next run of %s: %s", row.owner, error)

    async def _stretch(self, row: RunRow) -> RunResult:
        handle = await self._take_up(row.run_id)
        self._handles[row.run_id] = handle
        if self._stopping:  # set since the first check
            handle.request_pause(STOPPED, grace_s=self._grace_s)
        LOG.info("Run %s (%s) is driven here.", row.run_id, row.workflow)
        began = time.monotonic()
        try:
            result = await handle.result()
        except asyncio.CancelledError as error:  # the engine takes it back
            await handle.abandon(STOPPED if LOST in error.args else "paused")
            raise
        finally:
            del self._handles[row.run_id]
        LOG.info("Run %s is %s after %.1f s.", row.run_id, result.status, time.monotonic() - began)
        return result

    async def _take_up(self, run_id: str) -> RunHandle:
        """Start driving a run. Retries while it is locked, up to the length of a lease: an engine may detect
        that a worker is gone just before the worker's lease in the store expires."""
        until = time.monotonic() + self._lease_s
        while True:
            try:
                return await go_on(self._store, self._settings, run_id, nap_s=NAP_S)
            except RunLockedError:
                if self._stopping or time.monotonic() > until:
                    raise
            await asyncio.sleep(_LOOK_S)


def _again(result: RunResult) -> float | None:
    """Return when a run has to be driven again that was not stopped on purpose; otherwise None."""
    if result.status != "paused":
        return None
    if result.wake_at is not None:
        return result.wake_at
    if result.stop_reason == STOPPED:
        return time.time()
    return time.time() + _STORE_S if result.stop_reason == "store error" else None


SWEEP_S = 5.0
PAGE = 1000
_MOST_FOREIGN = 10_000


class Sweep:
    """Periodically submits runs that no worker drives and no engine carries."""

    def __init__(self, store: SharedStore, engine: Engine, page: int = PAGE) -> None:
        self._store = store
        self._engine = engine
        self._page = page
        self._foreign: set[str] = set()
        """Runs that were started in a terminal and are left alone."""

    async def keep_sweeping(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S * random.uniform(0.7, 1.3))  # not all workers at once
            try:
                if await self._store.claim_sweep(0.6 * SWEEP_S):
                    await self.sweep()
            except StoreError as error:
                LOG.info("The sweep has to wait: %s", error)

    async def sweep(self, owner: str | None = None) -> int:
        """Submit the runs that the engine does not carry, of all owners or of one. Returns their number."""
        count, after = 0, ""
        while True:
            rows = await self._store.list_unattended(STOPPED, limit=self._page, owner=owner, after=after)
            count += await self._submit([row for row in rows if row.run_id not in self._foreign], owner)
            if len(rows) < self._page:
                return count
            after = rows[-1].run_id

    async def _submit(self, rows: list[RunRow], owner: str | None) -> int:
        carried = await self._engine.carried([row.run_id for row in rows]) if rows else set[str]()
        lost = [row for row in rows if row.run_id not in carried and await self._is_ours(row.run_id)]
        await self._engine.submit([Ticket(row.run_id, row.workflow) for row in lost])
        if owner is None:
            for row in lost:
                LOG.info("Run %s was lost by the engine; it is submitted again.", row.run_id)
        return len(lost)

    async def _is_ours(self, run_id: str) -> bool:
        if await is_served(self._store, run_id):
            return True
        if len(self._foreign) >= _MOST_FOREIGN:
            self._foreign.clear()
        self._foreign.add(run_id)
        return False


Opened = TypeVar("Opened")

DRAIN_S = 30.0
_AGAIN_S = 2.0


class Working(msgspec.Struct, frozen=True, kw_only=True):
    """Options for starting a worker."""

    settings: Settings
    concurrency: int = 20
    """Maximum number of concurrent runs."""
    workflows: Sequence[str] = ()
    """Workflows that the worker accepts. Empty: all."""
    drain_s: float = DRAIN_S
    """Seconds that calls in flight get to be recorded when the worker stops."""


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
        self.driving = RunSession(store, working.settings, lease_s, self._sweep.sweep)
        self.places = working.concurrency
        self.ready = False
        """True while the worker accepts runs."""

    async def work(self, started: Callable[[], None]) -> None:
        """Work until the worker is stopped."""

        def ready() -> None:
            if not self.ready and not self._stop.is_set():
                self.ready = True
                started()

        config = WorkerConfig(
            drive=self.driving.drive,
            fire=self._fire,
            concurrency=self._working.concurrency,
            workflows=self._working.workflows,
            stop=self._stop,
            ready=ready,
        )
        sweeping = asyncio.create_task(self._sweep.keep_sweeping(), name="podium-sweep")
        try:
            with self._stopped_by_signals():
                await self._engine.work(config)
        finally:
            self.ready = False
            sweeping.cancel()
            await asyncio.wait([sweeping])

    async def reaches_store(self, patience_s: float) -> bool:
        """Return whether the store answers within `patience_s` seconds."""
        try:
            async with asyncio.timeout(patience_s):
                await self._store.list_runs(limit=1)
        except (TimeoutError, StoreError):
            return False
        return True

    async def _fire(self, schedule: Schedule, moment: int) -> None:
        await fire(self._store, self._working.settings, self._engine, schedule, moment)

    def stop(self) -> None:
        """Stop the worker. On the first call it accepts no new runs, gives calls in flight their time, and
        hands the runs back; on the second it stops immediately."""
        self._signals += 1
        self.ready = False
        if self._signals == 1:
            LOG.info(
                "Stopping: %d runs are handed back; calls in flight get %g s to be recorded.",
                self.driving.running,
                self._working.drain_s,
            )
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
    """Open the store and the engine. Waits while either is away; raises `UsageError` if it refuses the
    worker."""
    settings = working.settings
    async with AsyncExitStack() as stack:
        engine = await _when_reachable(
            lambda: open_engine(settings.engine, settings.store, patience_s=math.inf)
        )
        stack.push_async_callback(engine.close)
        store = await _when_reachable(lambda: open_store(settings.store, lock_timeout=settings.lock_timeout))
        stack.push_async_callback(store.close)
        yield shared(store), engine


async def _when_reachable(opening: Callable[[], Awaitable[Opened]]) -> Opened:
    """Retry until the store or engine is reachable, because machines start in any order. Logs
    the wait once."""
    logged = False
    while True:
        try:
            return await opening()
        except StoreAwayError as error:
            if not logged:
                LOG.warning("Waiting: %s", error)
            logged = True
            await asyncio.sleep(_AGAIN_S)
        except StoreError as error:
            raise UsageError(str(error), hint=error.hint or "Choose another with --store.") from error
