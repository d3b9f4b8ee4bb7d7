"""Queue of rows and write operations, and the base of the writers that write its batches.

Everything queued in one iteration of the event loop goes to the writer as one batch. Batches that are
submitted while the writer is busy become its next transaction.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from podium.engine.log import Row, RunRow, RunUpdate, Written
from podium.errors import FencedError, PodiumError, StoreError
from podium.stores.batch import (
    ROW_WIDTH,
    Acquisition,
    Batch,
    Blob,
    Creation,
    HeldLease,
    Key,
    Notes,
    ReleaseOp,
    Standing,
    WriteCall,
    WriteOp,
    merge,
)

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


class InlineCommits(Protocol):
    """Writes small batches on the event loop's thread, while that is fast enough."""

    def is_alone(self) -> bool:
        """Return whether at most one effect is under way, so that no other could join its commit."""
        ...

    def write(self, batch: Batch) -> set[Key] | None:
        """Write a batch and return the keys of fenced-off leases; `None` if the writer should do it."""
        ...

    def note(self, report: Report | None) -> None:
        """Record that a batch goes to the writer (`None`), or what became of it."""
        ...


class CommitQueue:
    """The queue of a store. Belongs to the event loop; only whole batches leave it.

    When a batch cannot be written (the disk is full, or the lock was not available for a minute), its
    contents are dropped, every lease in it becomes invalid, and commits of these leases fail from then on: a
    later row would leave a gap in the log. The store itself stays usable; a run continues when it is acquired
    again.
    """

    def __init__(
        self,
        writer: BatchWriter,
        on_written: Callable[[Batch, Collection[Key]], None],
        inline: InlineCommits | None = None,
    ) -> None:
        self.leases: dict[Key, HeldLease] = {}
        """Leases of this process; those that lose rows become invalid."""
        self.closed = False
        self._batches = writer
        writer.settle = self._settle
        self._on_written = on_written
        """Called with each durable batch and the leases in it whose rows were not written."""
        self._inline = inline
        self._loop = asyncio.get_running_loop()
        self._batch = Batch()
        self._flushing = False
        self._in_flight = 0
        self._flushed = 0
        self._swept = -1
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._hastened = False

    def close(self) -> None:
        """Submit what is queued, and accept nothing more."""
        self.closed = True
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        self._flush()

    def check_open(self) -> None:
        if self.closed:
            raise StoreError("The store is closed.")

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
        if self._hastened or self.closed:
            return
        self._hastened = True
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        self._arm()

    def put_blob(self, data: bytes) -> str:
        """Queue a blob. It is written or dropped with the next queued row, so queue the row that names it
        before anything is awaited."""
        digest = sha256(data)
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
        """Make everything queued so far durable. Returns `None` if it is already."""
        inline = self._inline
        if (
            inline is not None
            and not self._in_flight
            and not self._flushing
            and lease.failure is None
            and inline.is_alone()
            and self._commit_inline(inline)
            and lease.failure is None
        ):
            return None
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
        if self._sweep_timer is None and not self.closed:
            self._arm()
        return self._batch.notes

    # ── write operations, each in the writer's next transaction with the rows in it ──

    def create(
        self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = (), driver: str = ""
    ) -> asyncio.Future[Any]:
        """Queue a new run; with a `driver` the future gets the run's `Standing`."""
        named = [Blob(sha256(data).digest(), data, 0) for data in blobs]
        creation = Creation(run, rows, named, driver, future=self._loop.create_future())
        self._batch.creations.append(creation)
        return self._scheduled(creation)

    def acquire(self, run_id: str, driver: str, expected: str | None) -> asyncio.Future[Standing]:
        acquisition = Acquisition(run_id, driver, expected, future=self._loop.create_future())
        self._batch.acquisitions.append(acquisition)
        return self._scheduled(acquisition)

    def release(self, future: asyncio.Future[None], key: Key) -> None:
        self._batch.releases.append(ReleaseOp(key, future=future))
        self._schedule()

    def do(self, call: Callable[..., Awaitable[Any]], *args: Any) -> asyncio.Future[Any]:
        """Queue a rare write; `call` gets the writer's database as its first argument."""
        job = WriteCall(lambda db: call(db, *args), future=self._loop.create_future())
        self._batch.jobs.append(job)
        return self._scheduled(job)

    def _scheduled(self, operation: WriteOp) -> asyncio.Future[Any]:
        self._schedule()
        return operation.future

    # ── grouped commits ──

    def _schedule(self) -> None:
        """Flush when this iteration of the event loop is over."""
        self.check_open()
        if not self._flushing:
            self._flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = False
        batch = self._batch
        inline = self._inline
        if inline is not None:
            if not self._in_flight and not self.closed and batch.is_single and inline.is_alone():
                fenced = self._write_inline(inline)
                if fenced is not None:
                    self._settle(Report(batch, 0, dict.fromkeys(fenced), 0.0))
                    return
            inline.note(None)
        if batch:
            self._batch = Batch()
            self._flushed += 1
            self._in_flight += 1
            self._batches.submit(batch)

    def _commit_inline(self, inline: InlineCommits) -> bool:
        """Write everything that is queued on this thread; return `False` if the writer should do it."""
        batch = self._batch
        fenced = self._write_inline(inline)
        if fenced is None:
            return False
        if fenced:
            self.invalidate(dict.fromkeys(fenced))
        self._on_written(batch, fenced)
        return True

    def _write_inline(self, inline: InlineCommits) -> set[Key] | None:
        fenced = inline.write(self._batch)
        if fenced is not None:
            self._batch = Batch()
            self._flushed += 1
        return fenced

    def _settle(self, report: Report) -> None:
        """Notify all waiters of a batch that was written."""
        batch = report.batch
        if report.merged and self._inline is not None:
            self._inline.note(report)
        self._in_flight -= report.merged
        if report.failures:
            self.invalidate(report.failures)
        for first in batch.firsts:
            first()
        self._on_written(batch, report.failures)
        for future, lease, outcome in batch.waiters:
            if not future.done():
                if lease.failure is None:
                    future.set_result(outcome)
                else:
                    _fail(future, lease.failure)
        for operation in batch.operations:
            if operation.future.done():
                continue
            if operation.failure is None:
                operation.future.set_result(operation.outcome)
            else:
                operation.future.set_exception(operation.failure)

    def invalidate(self, failures: Mapping[Key, StoreError | None]) -> None:
        """Mark these leases as invalid, because they lost rows; `None`: they were fenced off."""
        for key, failure in failures.items():
            lease = self.leases.get(key)
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


def heard(future: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a future, so that asyncio does not warn about it."""
    if not future.cancelled():
        future.exception()


class Writer(ABC):
    """Base of writers. It keeps a failure of one lease or operation from affecting the others."""

    def __init__(self) -> None:
        self.settle: Callable[[Report], None] = lambda report: None
        """Set by the queue before anything is submitted."""
        self._fallen: set[Key] = set()
        """Leases that have lost rows."""

    @abstractmethod
    async def _write(self, batch: Batch) -> set[Key]:
        """Write all of a batch, or raise and write nothing. Returns the keys of fenced-off leases."""

    @abstractmethod
    def _affects_all(self, error: Exception) -> bool:
        """Return whether every part of a batch would fail with this error."""

    @abstractmethod
    def _explain(self, error: Exception) -> StoreError: ...

    async def _write_what_can_be(self, batch: Batch) -> dict[Key, StoreError | None]:
        """Write a batch. If that fails, write each part alone. Returns the leases whose rows were not
        written; see `Report.failures`.

        What fails is dropped, and its lease becomes invalid: no later row of it is written, because the log
        would have a gap. The run continues when it is acquired again.
        """
        if self._fallen:
            batch.drop(self._fallen)
        try:
            failures: dict[Key, StoreError | None] = dict.fromkeys(await self._write(batch))
        except Exception as error:  # noqa: BLE001 - every waiter gets it
            parts = batch.parts()
            if len(parts) > 1 and not self._affects_all(error):
                failures = {}
                for part in parts:
                    failures.update(await self._write_what_can_be(part))
                return failures
            explained = self._explain(error)
            failures = dict.fromkeys(batch.keys, explained)
            for operation in batch.operations:
                operation.failure = explained
        self._fallen.update(failures)
        return failures
