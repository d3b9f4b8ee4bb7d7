"""Queue of rows and write operations.

Everything queued in one iteration of the event loop goes to the writer as one batch. Batches that are
submitted while the writer is busy become its next transaction.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from podium.engine.log import Row, RunRow, RunUpdate, Written
from podium.engine.store_parts import Sample
from podium.errors import FencedError, PodiumError, StoreError
from podium.stores.batch import ROW_WIDTH, Batch, Blob, Creation, HeldLease, Key, Notes, WriteCall, merge

_SWEEP_S = 0.025
"""Sweep interval in seconds. Rows without a commit are written when a second sweep finds them: 25 to 50 ms
after they were queued."""

_SOON_S = 0.002
"""Sweep interval for rows that should be durable soon: 2 to 4 ms."""

_MANY = 384 * ROW_WIDTH
"""Number of row parameters that triggers a flush, so that the next commit does not have to wait for them."""


class Report(NamedTuple):
    """The outcome of a batch."""

    batch: Batch
    merged: int
    """Number of submitted batches that were merged into it."""
    failures: dict[Key, StoreError | None]
    """The leases whose rows were not written, and why; `None`: fenced off."""
    seconds: float


class BatchWriter(Protocol):
    """Writes batches in the order in which they were submitted."""

    settle: Callable[[Report], None]
    """Called on the event loop with the outcome of each batch, in order."""

    def submit(self, batch: Batch) -> None: ...


class Bells(Protocol):
    """Receivers of notifications that runs have new rows."""

    @property
    def has_tails(self) -> bool: ...

    def ring(self, numbers: Iterable[int]) -> None: ...


class CommitQueue:
    """The queue of a store. Belongs to the event loop; only whole batches leave it.

    When a batch cannot be written (the disk is full, or the lock was not available for a minute), its
    contents are dropped, every lease in it becomes invalid, and commits of these leases fail from then on: a
    later row would leave a gap in the log. The store itself stays usable; a run continues when it is acquired
    again.
    """

    def __init__(self, writer: BatchWriter, bells: Bells) -> None:
        self.live = 0
        """Number of effects under way; see `podium.engine.log.Store`."""
        self._batches = writer
        writer.settle = self._settle
        self._bells = bells
        self._loop = asyncio.get_running_loop()
        self._leases: dict[Key, HeldLease] = {}
        self._batch = Batch()
        self._flushing = False
        self._in_flight = 0
        self._flushed = 0
        self._swept = -1
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._hastened = False
        self._closed = False

    # ── queueing; `lease` is always a `HeldLease` from `acquire` ─────────

    def append(self, lease: Any, row: Written) -> None:
        """Queue a row. Ignored for an invalid lease, whose next commit fails."""
        if lease.failure is not None:
            return
        seq, time_us, path, kind, data = row
        if seq != lease.next_seq:
            raise StoreError(f"Event {seq} of run {lease.run_id} is out of order: {lease.next_seq} is next.")
        lease.next_seq = seq + 1
        rows = self._batch.rows
        rows += (lease.base | seq, lease.epoch, time_us, path, kind, data)
        if self._sweep_timer is None:
            self._arm()
        if len(rows) >= _MANY and not self._flushing:
            self._schedule()

    def update(self, lease: Any, update: RunUpdate) -> None:
        """Queue a change of the summary."""
        if lease.failure is not None:
            return
        updates = self._batch.updates
        updates[lease.key] = merge(updates.get(lease.key), update)
        if self._sweep_timer is None:
            self._arm()

    def hasten(self) -> None:
        """Write what is queued within a few milliseconds, unless a commit does so earlier."""
        if self._hastened or self._closed:
            return
        self._hastened = True
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        self._arm()

    def put_blob(self, data: bytes) -> str:
        """Queue a blob. It is written or dropped with the next queued row, so queue the row that names it
        before anything is awaited."""
        digest = hashlib.sha256(data)
        self._batch.blobs.append(Blob(digest.digest(), data, len(self._batch.rows)))
        if self._sweep_timer is None:
            self._arm()
        return digest.hexdigest()

    def commit(
        self,
        lease: Any,
        waiter: asyncio.Future[Any] | None = None,
        outcome: Any = None,
        first: Callable[[], None] | None = None,
    ) -> asyncio.Future[Any] | None:
        """Make everything queued so far durable."""
        if waiter is None:
            waiter = self._loop.create_future()
        if lease.failure is not None:
            _fail(waiter, lease.failure)
        else:
            self._batch.waiters.append((waiter, lease, outcome))
            if first is not None:
                self._batch.firsts.append(first)
            self._schedule()
        return waiter

    def notes(self) -> Notes:
        """Return the cache writes of the next commit, to be extended."""
        if self._sweep_timer is None and not self._closed:
            self._arm()
        return self._batch.notes

    # ── grouped commits ──

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
            self._in_flight += 1
            self._batches.submit(batch)

    def _settle(self, report: Report) -> None:
        """Notify all waiters of a batch that the writer has finished."""
        batch = report.batch
        self._in_flight -= report.merged
        if report.failures:
            self._give_up(report.failures)
        for first in batch.firsts:
            first()
        self._announce(report)
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

    def _announce(self, report: Report) -> None:
        """Notify the tails of these runs."""
        if self._bells.has_tails:
            self._bells.ring(report.batch.numbers)

    def _give_up(self, failures: dict[Key, StoreError | None]) -> None:
        """Mark these leases as invalid, because they lost rows."""
        for key, failure in failures.items():
            lease = self._leases.get(key)
            if lease is not None and lease.failure is None:
                lease.failure = failure or FencedError(lease.run_id)

    # ── rows without a commit ──

    def _arm(self) -> None:
        self._swept = self._flushed
        self._sweep_timer = self._loop.call_later(_SOON_S if self._hastened else _SWEEP_S, self._sweep)

    def _sweep(self) -> None:
        self._sweep_timer = None
        if self._batch and self._swept != self._flushed:
            self._arm()
            return
        self._hastened = False
        if self._batch:
            self._flush()


def _fail(future: asyncio.Future[Any], error: PodiumError) -> None:
    """Fail a commit. The lease keeps the error, so asyncio must not warn if the future is never awaited."""
    future.set_exception(error)
    future.exception()


TRIM_EVERY = 64
"""Number of stored replies between two checks of the cache size; the first reply of a process triggers one
too."""


class OperationQueue(CommitQueue):
    """A queue that also does write operations, each in the writer's next transaction with the rows in it."""

    def __init__(self, writer: BatchWriter, bells: Bells) -> None:
        super().__init__(writer, bells)
        self._kept = 0
        """Replies that were stored in the cache."""

    async def create(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> None:
        await self._create(run, rows, blobs)

    def _create(
        self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes], driver: str = ""
    ) -> asyncio.Future[Any]:
        """Queue a new run; with a `driver` the future gets the run's `Standing`."""
        named = [Blob(sha256(data).digest(), data, 0) for data in blobs]
        creation = Creation(self._loop.create_future(), run, rows, named, driver)
        self._batch.creations.append(creation)
        self._schedule()
        return creation.future

    async def _do(self, call: Callable[..., Any], *args: Any) -> Any:
        """Do a rare write; `call` gets the writer's connection as its first argument."""
        job = WriteCall(self._loop.create_future(), lambda db: call(db, *args))
        self._queue_job(job)
        return await job.future

    def _queue_job(self, job: WriteCall) -> None:
        self._batch.jobs.append(job)
        self._schedule()

    # ── reply cache ──

    def keep_sample(self, sample: Sample, most_bytes: int) -> None:
        notes = self.notes()
        notes.kept.append(sample)
        if self._kept % TRIM_EVERY == 0:
            notes.most_bytes = most_bytes
        self._kept += 1

    def use_sample(self, sample: Sample, now_us: int) -> None:
        self.notes().used.append((sample, now_us))

    def drop_sample(self, sample_id: str) -> None:
        self.notes().dropped.append(sample_id)


def heard(future: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a future, so that asyncio does not warn about it."""
    if not future.cancelled():
        future.exception()
