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

from podium.errors import StoreError, StoreGoneError
from podium.stores.batch import ROW_WIDTH, Batch, Key
from podium.stores.commit_queue import Report, Writer
from podium.stores.sql import run_now
from podium.stores.sqlite.connection import FileIdentity, empty_log, explain, is_busy, open_database
from podium.stores.sqlite.database import SqliteDatabase


class SqliteWriter(Writer):
    """Owns the writer thread and its connection. Everything but `_run` and below belongs to the event
    loop."""

    def __init__(self, path: Path, lock_timeout: float) -> None:
        super().__init__()
        self._path = path
        self._lock_timeout = lock_timeout
        self._db: SqliteDatabase | None = None
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Batch | asyncio.Future[None] | None] = queue.SimpleQueue()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        # Daemon, so that a program that does not close its store can still exit.
        self._thread = threading.Thread(target=self._run, name="podium-writer", daemon=True)
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
            db = open_database(self._path, lock_timeout=self._lock_timeout)
        except Exception as error:  # noqa: BLE001 - `start` raises it
            self._call_on_loop(_fail, self._opened, error)
        else:
            self._call_on_loop(_succeed, self._opened)
            self._db = SqliteDatabase(db)
            with closing(db):
                while self._write_next(db):
                    pass
        finally:
            self._call_on_loop(_succeed, self._closed)

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
            failures = run_now(self._write_what_can_be(batch))
            self._call_on_loop(self.settle, Report(batch, merged, failures, time.perf_counter() - start))
        if isinstance(last, asyncio.Future):
            self._checkpoint(db, last)
        return last is not None

    def _checkpoint(self, db: sqlite3.Connection, done: asyncio.Future[None]) -> None:
        try:
            empty_log(db)
        except sqlite3.Error as error:
            self._call_on_loop(_fail, done, explain(error, self._path))
        else:
            self._call_on_loop(_succeed, done)

    async def _write(self, batch: Batch) -> set[Key]:
        assert self._db is not None
        fenced = self._db.write(batch)
        if self.identity is not None and (batch.has_operations or self.identity.is_due()):
            self.identity.check()  # after the commit: one to a file that is gone has failed
        return fenced

    def _affects_all(self, error: Exception) -> bool:
        return is_busy(error) or isinstance(error, StoreGoneError)

    def _explain(self, error: Exception) -> StoreError:
        return explain(error, self._path)

    def _call_on_loop(self, call: Callable[..., object], *args: object) -> None:
        try:
            self._loop.call_soon_threadsafe(call, *args)
        except RuntimeError:
            if not self._loop.is_closed():
                raise
            # The loop ended without closing its store: there is no receiver.


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


class InlineWriter:
    """Writes small batches on the event loop's thread; see `podium.stores.commit_queue.InlineCommits`."""

    def __init__(
        self, connection: sqlite3.Connection, identity: FileIdentity, is_alone: Callable[[], bool]
    ) -> None:
        self.is_alone = is_alone
        self._db = SqliteDatabase(connection)
        self._identity = identity
        self._pace = CommitPace()
        self._stretch = 0

    def write(self, batch: Batch) -> set[Key] | None:
        """Write a batch and return the keys of fenced-off leases; `None` if the writer should do it."""
        if (
            len(batch.rows) > _SMALL
            or batch.blobs
            or batch.notes
            or self._pace.median > _QUICK_S
            or self._stretch == _STRETCH
            or ((batch.releases or self._identity.is_due()) and self._identity.problem())
        ):
            return None
        start = time.perf_counter()
        try:
            fenced = self._db.write(batch)
        except (sqlite3.Error, TypeError, ValueError, OverflowError):
            return None  # locked, full or wrong: the writer waits, retries and reports the error
        self._pace.note(time.perf_counter() - start)
        self._stretch += 1
        return fenced

    def note(self, report: Report | None) -> None:
        if report is None:
            self._stretch = 0
        elif report.batch.waiters and len(report.batch.rows) <= _SMALL:
            self._pace.note(report.seconds)

    def close(self) -> None:
        self._db.connection.close()


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
