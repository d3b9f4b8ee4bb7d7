"""Writer thread and inline commits."""

from __future__ import annotations

import asyncio
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from podium.errors import StoreError, StoreGoneError
from podium.stores.batch import ROW_WIDTH, Batch, Key
from podium.stores.commit_queue import BatchWriter, Bells, CommitQueue, Report
from podium.stores.sqlite.connection import FileIdentity, empty_log, explain, is_busy, open_database
from podium.stores.sqlite.statements import write


class SqliteWriter:
    """Owns the writer thread and its connection. Everything but `_run` and below belongs to the event
    loop."""

    def __init__(self, path: Path) -> None:
        self.settle: Callable[[Report], None] = _nobody
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Batch | asyncio.Future[None] | None] = queue.SimpleQueue()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        # Daemon, so that a program that does not close its store can still exit.
        self._thread = threading.Thread(target=self._run, name="podium-writer", daemon=True)
        self._fallen: set[Key] = set()
        self.identity: FileIdentity | None = None
        """Set once all connections are open."""

    async def start(self) -> None:
        """Open the database; create or migrate it. Done on the thread, because it may have to wait."""
        self._thread.start()
        try:
            await asyncio.shield(self._opened)
        except BaseException:
            await self.stop()
            raise

    def submit(self, batch: Batch) -> None:
        """Queue a batch; `settle` reports its outcome."""
        self._queue.put(batch)

    async def stop(self) -> None:
        """Write what was submitted, close the connection, end the thread."""
        self._queue.put(None)
        await asyncio.shield(self._closed)
        self._thread.join()

    def end(self) -> None:
        """Stop without an event loop."""
        self._queue.put(None)
        self._thread.join()

    async def checkpoint(self) -> None:
        """Checkpoint and truncate the write-ahead log, unless another process uses it right now."""
        done: asyncio.Future[None] = self._loop.create_future()
        self._queue.put(done)
        await asyncio.shield(done)

    # ── on the thread ──

    def _run(self) -> None:
        try:
            db = open_database(self._path)
        except Exception as error:  # noqa: BLE001 - whoever opens the store gets it
            self._tell(_fail, self._opened, error)
        else:
            self._tell(_succeed, self._opened)
            with closing(db):
                while self._write_next(db):
                    pass
        finally:
            self._tell(_succeed, self._closed)

    def _write_next(self, db: sqlite3.Connection) -> bool:
        """Wait for a batch, merge the batches queued after it, and write. Returns `False` when it should
        stop."""
        batch = self._queue.get()
        merged = 1
        last: Batch | asyncio.Future[None] | None = batch
        if isinstance(batch, Batch):
            while not self._queue.empty():
                last = self._queue.get()
                if not isinstance(last, Batch):
                    break
                batch.absorb(last)
                merged += 1
            start = time.perf_counter()
            failures = self._write(db, batch)
            self._tell(self.settle, Report(batch, merged, failures, time.perf_counter() - start))
        if isinstance(last, asyncio.Future):
            self._checkpoint(db, last)
        return last is not None

    def _checkpoint(self, db: sqlite3.Connection, done: asyncio.Future[None]) -> None:
        try:
            empty_log(db)
        except sqlite3.Error as error:
            self._tell(_fail, done, explain(error, self._path))
        else:
            self._tell(_succeed, done)

    def _write(self, db: sqlite3.Connection, batch: Batch) -> dict[Key, StoreError | None]:
        """Write a batch. If that fails, write each part alone, so that one failure does not affect the
        others.

        What fails is dropped, and its lease becomes invalid: no later row of it is written, because the log
        would have a gap. The run continues when it is acquired again.
        """
        if self._fallen:
            batch.drop(self._fallen)
        try:
            failures: dict[Key, StoreError | None] = dict.fromkeys(write(db, batch))
            if self.identity is not None and (batch.has_errands or self.identity.is_due()):
                self.identity.check()  # after the commit: one to a file that is gone has failed
        except Exception as error:  # noqa: BLE001 - it goes to everyone who waits
            parts = batch.parts()
            if len(parts) > 1 and not is_busy(error) and not isinstance(error, StoreGoneError):
                failures = {}
                for part in parts:
                    failures.update(self._write(db, part))
                return failures
            explained = explain(error, self._path)
            failures = dict.fromkeys(batch.keys, explained)
            for errand in batch.errands:
                errand.failure = explained
        self._fallen.update(failures)
        return failures

    def _tell(self, call: Callable[..., object], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            if not self._loop.is_closed():
                raise
            # The loop ended without closing its store: there is no receiver.


def _nobody(report: Report) -> None:
    """Default for `settle`; nothing is submitted before a queue replaces it."""


def _succeed(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: asyncio.Future[None], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)


_SMALL = 8 * ROW_WIDTH
"""Maximum size of an inline commit, in row parameters."""

_STRETCH = 64
"""Maximum consecutive inline commits; then the writer does one together with a checkpoint, which takes
milliseconds that the event loop should not spend."""

_QUICK_S = 0.001
"""Seconds for which an inline commit may block the event loop."""


class CommitPace:
    """Median duration of recent small commits, in seconds."""

    def __init__(self) -> None:
        self._recent = [0.0] * 9
        self._next = 0
        self.median = 0.0

    def note(self, seconds: float) -> None:
        self._recent[self._next] = seconds
        self._next = (self._next + 1) % len(self._recent)
        self.median = sorted(self._recent)[len(self._recent) // 2]


class InlineCommit(CommitQueue):
    """A queue that commits on the event loop's thread while commits are fast enough."""

    def __init__(
        self, writer: BatchWriter, near: sqlite3.Connection, bells: Bells, identity: FileIdentity
    ) -> None:
        super().__init__(writer, bells)
        self._identity = identity
        self._near = near
        self._pace = CommitPace()
        self._stretch = 0

    def commit(
        self,
        lease: Any,
        waiter: asyncio.Future[Any] | None = None,
        outcome: Any = None,
        first: Callable[[], None] | None = None,
    ) -> asyncio.Future[Any] | None:
        if (
            self.live <= 1
            and not self._in_flight
            and not self._flushing
            and lease.failure is None
            and self._commit_here()
            and lease.failure is None
        ):
            return None
        return super().commit(lease, waiter, outcome, first)

    def _commit_here(self) -> bool:
        """Write everything that is queued on this thread; return `False` if the writer should do it."""
        batch = self._batch
        fenced = self._write_here(batch)
        if fenced is None:
            return False
        if fenced:
            self._give_up(dict.fromkeys(fenced))
        if self._bells.has_tails:
            self._bells.ring(batch.numbers)
        return True

    def _write_here(self, batch: Batch) -> set[Key] | None:
        """Write the queued batch on this thread and return the keys of leases that were fenced off; `None` if
        the writer should do it, with the batch still queued."""
        if (
            len(batch.rows) > _SMALL
            or batch.blobs
            or batch.notes
            or self._pace.median > _QUICK_S
            or self._stretch == _STRETCH
            or ((batch.liberations or self._identity.is_due()) and self._identity.problem())
        ):
            return None
        start = time.perf_counter()
        try:
            fenced = write(self._near, batch)
        except (sqlite3.Error, TypeError, ValueError, OverflowError):
            return None  # locked, full or wrong: the writer waits, retries and reports the error
        self._pace.note(time.perf_counter() - start)
        self._stretch += 1
        self._batch = Batch()
        self._flushed += 1
        return fenced

    def _flush(self) -> None:
        """Start or end a single run inline too; everything else goes to the writer."""
        batch = self._batch
        if self.live <= 1 and not self._in_flight and not self._closed and _is_single(batch):
            fenced = self._write_here(batch)
            if fenced is not None:
                self._flushing = False
                super()._settle(Report(batch, 0, dict.fromkeys(fenced), 0.0))
                return
        self._stretch = 0
        super()._flush()

    def _settle(self, report: Report) -> None:
        if report.batch.waiters and len(report.batch.rows) <= _SMALL:
            self._pace.note(report.seconds)
        super()._settle(report)


def _is_single(batch: Batch) -> bool:
    """Return whether a batch creates, acquires or releases one run and does nothing else."""
    errands = len(batch.creations) + len(batch.liberations) + len(batch.acquisitions)
    return errands == 1 and not batch.jobs and not any(creation.blobs for creation in batch.creations)
