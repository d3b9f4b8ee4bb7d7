"""Queueing and committing: the half of the store that a run's driver is busy with.

Grouped: everything queued in one iteration of the event loop goes to the writer thread as one batch, and
what gathers while the thread is busy becomes its next transaction.
On the spot: when only one thing is going on, a thread would cost more than it brings, so the commit is done
right on the event loop, as long as the disk is quick.
"""

from __future__ import annotations

import asyncio
import hashlib
import sqlite3
import time
from typing import Any

from podium.engine.log import RunUpdate, Written
from podium.errors import FencedError, PodiumError, StoreError
from podium.stores.sqlite.batch import ROW_WIDTH, Batch, Blob, Key, Notes, SqliteLease, merge
from podium.stores.sqlite.watch import Watch
from podium.stores.sqlite.writer import Report, Writer
from podium.stores.sqlite.writing import write

_SWEEP_S = 0.025
"""Rows that nobody commits go out when a second sweep finds them: 25 to 50 ms after they were queued."""

_SMALL = 8 * ROW_WIDTH
"""The most that is committed on the spot, in parameters of rows."""

_STRETCH = 64
"""So many commits on the spot in a row; then the writer does one, and a checkpoint with it, which takes
milliseconds that the event loop should not spend."""

_QUICK_S = 0.001
"""A commit on the spot may hold up the event loop for this long."""


class Pace:
    """How long recent small commits took."""

    def __init__(self) -> None:
        self._recent = [0.0] * 9
        self._next = 0
        self.median = 0.0

    def note(self, seconds: float) -> None:
        self._recent[self._next] = seconds
        self._next = (self._next + 1) % len(self._recent)
        self.median = sorted(self._recent)[len(self._recent) // 2]


class Commits:
    """The queue of a store. Belongs to the event loop; only whole batches leave it.

    When a batch cannot be written (the disk is full, or the lock could not be had for a minute), what it
    held is dropped, every lease in it is done for, and its commits fail from then on: a later row would
    leave a gap in the log. The store itself stays usable; a run goes on by being acquired again.
    """

    def __init__(self, writer: Writer, near: sqlite3.Connection, watch: Watch) -> None:
        self.live = 0
        """How many effects are under way; see `podium.engine.log.Store`."""
        self._writer = writer
        writer.settle = self._settle
        self._near = near
        self._watch = watch
        self._loop = asyncio.get_running_loop()
        self._leases: dict[Key, SqliteLease] = {}
        self._batch = Batch()
        self._flushing = False
        self._in_flight = 0
        self._flushed = 0
        self._swept = -1
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._pace = Pace()
        self._stretch = 0
        self._closed = False

    # ── queueing; `lease` is always a `SqliteLease`, as `acquire` made it ──

    def append(self, lease: Any, row: Written) -> None:
        """Queue a row. A lease that is done for takes no more: its next commit says why."""
        if lease.failure is not None:
            return
        seq, time_us, path, kind, data = row
        if seq != lease.next_seq:
            raise StoreError(f"Event {seq} of run {lease.run_id} is out of order: {lease.next_seq} is next.")
        lease.next_seq = seq + 1
        self._batch.rows += (lease.base | seq, lease.epoch, time_us, path, kind, data)
        if self._sweep_timer is None:
            self._arm()

    def update(self, lease: Any, update: RunUpdate) -> None:
        """Queue a change of the summary."""
        if lease.failure is not None:
            return
        updates = self._batch.updates
        updates[lease.key] = merge(updates.get(lease.key), update)
        if self._sweep_timer is None:
            self._arm()

    def put_blob(self, data: bytes) -> str:
        """Queue a blob. It shares the fate of the next row that is queued, so queue the row that names it
        before anything is awaited."""
        digest = hashlib.sha256(data)
        self._batch.blobs.append(Blob(digest.digest(), data, len(self._batch.rows)))
        if self._sweep_timer is None:
            self._arm()
        return digest.hexdigest()

    def commit(
        self, lease: Any, waiter: asyncio.Future[Any] | None = None, outcome: Any = None
    ) -> asyncio.Future[Any] | None:
        """Make everything queued so far durable."""
        if (
            self.live <= 1
            and not self._in_flight
            and not self._flushing
            and lease.failure is None
            and self._commit_here()
            and lease.failure is None
        ):
            return None
        if waiter is None:
            waiter = self._loop.create_future()
        if lease.failure is not None:
            _fail(waiter, lease.failure)
        else:
            self._batch.waiters.append((waiter, lease, outcome))
            self._schedule()
        return waiter

    def notes(self) -> Notes:
        """What the cache learns with the next commit; to be added to."""
        if self._sweep_timer is None and not self._closed:
            self._arm()
        return self._batch.notes

    # ── on the spot ──

    def _commit_here(self) -> bool:
        """Write what is queued, whoever queued it, on this thread; `False` if the writer should do it."""
        batch = self._batch
        if (
            len(batch.rows) > _SMALL
            or batch.blobs
            or batch.notes
            or self._pace.median > _QUICK_S
            or self._stretch == _STRETCH
        ):
            return False
        start = time.perf_counter()
        try:
            fenced = write(self._near, batch)
        except (sqlite3.Error, TypeError, ValueError, OverflowError):
            return False  # locked, full or wrong: the writer waits, tries again and knows what to say
        self._pace.note(time.perf_counter() - start)
        self._stretch += 1
        self._batch = Batch()
        self._flushed += 1
        if fenced:
            self._give_up(dict.fromkeys(fenced))
        if self._watch.has_tails:
            self._watch.ring(batch.numbers)
        return True

    # ── grouped ──

    def _schedule(self) -> None:
        """Flush when this iteration of the event loop is over."""
        self._check_open()
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _check_open(self) -> None:
        if self._closed:
            raise StoreError("The store is closed.")

    def _flush(self) -> None:
        self._flushing = False
        batch = self._batch
        if batch:
            self._batch = Batch()
            self._flushed += 1
            self._stretch = 0
            self._in_flight += 1
            self._writer.submit(batch)

    def _settle(self, report: Report) -> None:
        """The writer is done with a batch: tell everyone who waits."""
        batch = report.batch
        self._in_flight -= report.merged
        if batch.waiters and len(batch.rows) <= _SMALL:
            self._pace.note(report.seconds)
        if report.failures:
            self._give_up(report.failures)
        if self._watch.has_tails:
            self._watch.ring(batch.numbers)
        for future, lease, outcome in batch.waiters:
            if not future.done():
                if lease.failure is None:
                    future.set_result(outcome)
                else:
                    _fail(future, lease.failure)
        for errand in batch.errands:
            if errand.future.done():
                continue
            if errand.failure is None:
                errand.future.set_result(errand.outcome)
            else:
                errand.future.set_exception(errand.failure)

    def _give_up(self, failures: dict[Key, StoreError | None]) -> None:
        """These leases lost rows; they get no more written."""
        for key, failure in failures.items():
            lease = self._leases.get(key)
            if lease is not None and lease.failure is None:
                lease.failure = failure or FencedError(lease.run_id)

    # ── rows that nobody commits ──

    def _arm(self) -> None:
        self._swept = self._flushed
        self._sweep_timer = self._loop.call_later(_SWEEP_S, self._sweep)

    def _sweep(self) -> None:
        self._sweep_timer = None
        if self._batch:
            if self._swept == self._flushed:
                self._flush()
            else:
                self._arm()


def _fail(future: asyncio.Future[Any], error: PodiumError) -> None:
    """Fail a commit. The lease remembers it, so it is no accident if nobody looks at this future."""
    future.set_exception(error)
    future.exception()
