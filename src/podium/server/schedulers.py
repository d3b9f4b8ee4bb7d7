"""Schedulers of a server: `LocalScheduler` drives runs in this process, `FleetScheduler` hands them to
workers.

The local queue is durable because it consists only of the runs with status `queued`. Changes that a request
makes to a run that has to wait (a new budget, another model) stay in the run's inbox until the run starts.
A run whose lease another process holds is left alone.

`FleetScheduler` has the same interface. It writes a run to the store before it notifies a worker: if the
server dies in between, a worker's sweep finds the run.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from functools import partial

from podium.api import RunHandle
from podium.api.control import Change, go_on, is_served, refuse, requeue
from podium.cluster.fleet import Fleet
from podium.cluster.port import SharedStore
from podium.engine.core import Delta
from podium.engine.log import InboxMessage, RunRow, Store
from podium.errors import PodiumError, RunLockedError, StoreError, UnknownRunError
from podium.server.run_loop import BackgroundTasks, RunLoopThread
from podium.settings import Settings

LOG = logging.getLogger("podium.server")

STOPPED = "server stopped"
"""Stop reason of a run that was paused because the server stopped, and continues when the server is back."""
PAGE = 200

DeltaViewer = Callable[[Delta], None]


class LocalScheduler:
    """All runs that this process drives, and the queue of those that wait for a slot."""

    def __init__(
        self, store: Store, settings: Settings, *, max_runs: int, run_loop: RunLoopThread | None = None
    ) -> None:
        self._store = store
        self._run_loop = run_loop
        """Event loop thread that drives the runs. None: the caller's event loop."""
        self._settings = settings
        self.max_runs = max_runs
        self.limit_of: Callable[[str], int] = lambda owner: max_runs
        """Maximum number of concurrent runs of one owner."""
        self._queue: dict[str, str] = {}
        """Queued run ids in order, with their owners."""
        self._driven: dict[str, str] = {}
        self._going: Counter[str] = Counter()
        self._waiting: Counter[str] = Counter()
        """`_going` and `_waiting`: number of running and queued runs by owner."""
        self._handles: dict[str, RunHandle] = {}
        self._viewers: dict[str, set[DeltaViewer]] = {}
        self._listening: dict[str, Callable[[], None]] = {}
        """Functions that end the inbox subscription, by id of a run that waits for a person."""
        self._tasks = BackgroundTasks(_log_drive_failure)
        self._stopping = False
        self._grace_s: float | None = None
        """Seconds that calls in flight get when the server stops. None: the setting `pause_grace`."""
        self.finished: Counter[str] = Counter()
        """Number of drives by the status they ended with, since the server started."""

    # ── what is under way ──

    @property
    def running(self) -> int:
        return len(self._driven)

    @property
    def queued(self) -> int:
        return len(self._queue)

    async def count_of(self, owner: str | None) -> tuple[int, int]:
        """Return how many runs of an owner (None: of all) are running and how many are queued."""
        if owner is None:
            return self.running, self.queued
        return self._going[owner], self._waiting[owner]

    def drives(self, run_id: str) -> RunHandle | None:
        return self._handles.get(run_id)

    def watch_deltas(self, run_id: str, viewer: DeltaViewer) -> Callable[[], None]:
        """Show reply deltas of a run, now and whenever it is driven again. Returns a function
        that stops it."""
        self._viewers.setdefault(run_id, set()).add(viewer)

        def stop() -> None:
            viewers = self._viewers.get(run_id, set())
            viewers.discard(viewer)
            if not viewers:
                self._viewers.pop(run_id, None)

        return stop

    # ── taking up ──

    async def take_up(self) -> int:
        """Continue everything that an earlier server left: runs that were queued, that it paused when it
        stopped, that it drove when it died, and that have been answered since. Returns the number of runs
        that continue."""
        rows = [row async for row in self._left()]
        for row in reversed(rows):  # the oldest first
            self._line_up(row)
        self._advance()
        return len(rows)

    async def _left(self) -> AsyncGenerator[RunRow]:
        before = ""
        while True:
            rows = await self._store.list_runs(
                status=("queued", "paused", "waiting"), limit=PAGE, before=before
            )
            for row in rows:
                if not row.holder and await self._is_ours(row):
                    if row.status == "waiting":
                        self._listen(row)
                    else:
                        yield row
            if len(rows) < PAGE:
                return
            before = rows[-1].run_id

    async def _is_ours(self, row: RunRow) -> bool:
        """Return whether a server should continue this run: it is served (not a run of a terminal), and was
        not paused for another reason than the server's stop."""
        if row.status == "paused" and row.stop_reason not in ("", STOPPED):
            return False
        return await is_served(self._store, row.run_id)

    def enqueue(self, row: RunRow) -> None:
        """Queue a run that was accepted and is `queued` in the store."""
        self._line_up(row)
        self._advance()

    def _line_up(self, row: RunRow) -> None:
        if row.run_id not in self._queue and row.run_id not in self._driven:
            self._queue[row.run_id] = row.owner
            self._waiting[row.owner] += 1

    def _step_out(self, run_id: str) -> str:
        """Remove a run from the queue and return its owner."""
        owner = self._queue.pop(run_id)
        self._waiting[owner] -= 1
        return owner

    async def go_on(self, row: RunRow, change: Change | None = None, *, take_over: bool = False) -> None:
        """Continue a run as soon as there is a slot. Durable when this returns. A run that is being driven is
        notified through its inbox."""
        if row.run_id in self._driven or row.run_id in self._queue:
            return
        await requeue(self._store, self._settings, row.run_id, change, take_over=take_over)
        self.enqueue(row)

    def _listen(self, row: RunRow) -> None:
        """Subscribe to the inbox of a waiting run, so that an answer from any process continues it."""

        def heard(message: InboxMessage) -> None:
            if message.kind == "answer" and row.run_id not in self._driven:
                self._forget(row.run_id)
                self._tasks.begin(self._answered(row))

        if row.run_id not in self._listening and not self._stopping:
            self._listening[row.run_id] = self._store.subscribe(row.run_id, heard)

    def _forget(self, run_id: str) -> None:
        stop = self._listening.pop(run_id, None)
        if stop is not None:
            stop()

    async def _answered(self, row: RunRow) -> None:
        with suppress(RunLockedError):  # a process in a terminal already drives it
            await self.go_on(row)

    # ── driving ──

    def _advance(self) -> None:
        """Start queued runs while there are free slots."""
        if self._stopping:
            return
        for run_id, owner in list(self._queue.items()):
            if len(self._driven) >= self.max_runs:
                return
            if self._going[owner] < self.limit_of(owner):
                self._driven[run_id] = self._step_out(run_id)
                self._going[owner] += 1
                self._tasks.begin(self._drive(run_id))

    async def _drive(self, run_id: str) -> None:
        """Drive one run until it ends, pauses or waits."""
        status = ""
        self._forget(run_id)
        try:
            status = await self._stretched(run_id)
        except RunLockedError as error:
            LOG.info("Run %s is left alone: %s", run_id, error)
        except UnknownRunError:
            LOG.info("Run %s is gone.", run_id)
        except PodiumError as error:
            await self._refuse(run_id, error)
        finally:
            self._going[self._driven.pop(run_id)] -= 1
            self._handles.pop(run_id, None)
            self.finished[status or "not started"] += 1
            self._advance()
        if status == "waiting":
            self._listen(await self._store.get(run_id))

    async def _stretched(self, run_id: str) -> str:
        loop, run_loop = asyncio.get_running_loop(), self._run_loop
        if run_loop is None:
            return await self._stretch(self._store, run_id, partial(self._show, run_id))

        def show(delta: Delta) -> None:
            if run_id in self._viewers:
                loop.call_soon_threadsafe(self._show, run_id, delta)

        return await run_loop.do(self._stretch(run_loop.store, run_id, show))

    async def _stretch(self, store: Store, run_id: str, show: DeltaViewer) -> str:
        """Drive a run, on the run loop thread if there is one. Attributes of this object that it uses are
        only read or replaced as a whole, so no lock is needed."""
        row = await store.get(run_id)
        if row.status in ("completed", "cancelled"):
            return row.status  # another process was faster
        if self._stopping:
            return "queued"
        handle = self._handles[run_id] = await go_on(store, self._settings, run_id)
        if self._stopping:  # set since the first check
            handle.request_pause(STOPPED, grace_s=self._grace_s)
        stop = handle.watch_deltas(show)
        try:
            return (await handle.result()).status
        finally:
            stop()

    async def _refuse(self, run_id: str, error: PodiumError) -> None:
        LOG.warning("Run %s could not be driven: %s", run_id, error)
        with suppress(StoreError):
            await refuse(self._store, self._settings, await self._store.get(run_id), error)

    def _show(self, run_id: str, delta: Delta) -> None:
        for viewer in tuple(self._viewers.get(run_id, ())):
            viewer(delta)

    # ── stopping ──

    def leave_queue(self, run_id: str) -> None:
        """Remove a run that must not be driven any more from the queue."""
        if run_id in self._queue:
            self._step_out(run_id)
        self._forget(run_id)

    async def stop(self) -> None:
        """Pause all runs so that they continue when the server is back. Returns when all are paused."""
        self._stopping = True
        for run_id in list(self._listening):
            self._forget(run_id)
        self._pause_all()
        await self._tasks.finish()

    def stop_at_once(self) -> None:
        """Pause all runs and cut off calls in flight; `stop` waits until all are paused."""
        self._stopping = True
        self._grace_s = 0.0
        self._pause_all()

    def _pause_all(self) -> None:
        for handle in list(self._handles.values()):
            pause = partial(handle.request_pause, STOPPED, grace_s=self._grace_s)
            if self._run_loop is None:
                pause()
            else:
                self._run_loop.soon(pause)


def _log_drive_failure(error: BaseException) -> None:
    LOG.error("A run could not be driven: %s", error, exc_info=error)


class FleetScheduler:
    """Hands runs to a fleet of workers."""

    def __init__(self, store: SharedStore, fleet: Fleet, *, max_runs: int) -> None:
        self._store = store
        self._fleet = fleet
        self.max_runs = max_runs
        self.limit_of: Callable[[str], int] = lambda owner: max_runs
        """Maximum number of concurrent runs of one owner, on all machines together."""
        self.finished: Counter[str] = Counter()
        """Always empty: no run is driven in this process."""
        self._limits_written: dict[str, int] = {}
        """User limits already written to the store for the workers."""
        self._tasks = BackgroundTasks(_log_notify_failure)

    async def take_up(self) -> int:
        """Return 0: the workers continue what an earlier server left."""
        return 0

    async def count_of(self, owner: str | None) -> tuple[int, int]:
        """Return how many runs of an owner (None: of all) are running and how many are queued, on all
        machines."""
        return await self._store.count_open(owner)

    def drives(self, run_id: str) -> RunHandle | None:
        """Return None: no run is driven in this process."""
        return None

    def watch_deltas(self, run_id: str, viewer: Callable[[Delta], None]) -> Callable[[], None]:
        """Do nothing: reply deltas are not in the log, and the worker's machine does not send them."""
        return lambda: None

    def enqueue(self, row: RunRow) -> None:
        """Notify the fleet of a run that was accepted and is `queued` in the store."""
        self._tasks.begin(self._accept(row))

    async def _accept(self, row: RunRow) -> None:
        limit = self.limit_of(row.owner)
        if row.owner and self._limits_written.get(row.owner) != limit:
            await self._store.set_limit(row.owner, limit)
            self._limits_written[row.owner] = limit
        await self._fleet.accept(row)

    async def go_on(self, row: RunRow, change: Change | None = None, *, take_over: bool = False) -> None:
        await self._fleet.go_on(row, change, take_over=take_over)

    def leave_queue(self, run_id: str) -> None:
        self._tasks.begin(self._fleet.forget(run_id))

    async def stop(self) -> None:
        await self._tasks.finish()

    def stop_at_once(self) -> None:
        """Do nothing: workers drive the runs, and notifying them takes no time."""


def _log_notify_failure(error: BaseException) -> None:
    if isinstance(error, PodiumError):
        LOG.warning("The queue was not notified; a worker will find the run: %s", error)
    else:
        LOG.error("The queue was not notified; a worker will find the run.", exc_info=error)
