"""The one thread that writes. It takes everything that has gathered, writes it as one transaction, and
tells the event loop once."""

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
from podium.stores.batch import Batch, Key
from podium.stores.commits import Report
from podium.stores.sqlite.database import empty_log, open_database
from podium.stores.sqlite.failures import explain, is_busy
from podium.stores.sqlite.identity import FileIdentity
from podium.stores.sqlite.writing import write


class Writer:
    """Owns the thread and its connection. Everything but `_run` and below belongs to the event loop."""

    def __init__(self, path: Path) -> None:
        self.settle: Callable[[Report], None] = _nobody
        self._path = path
        self._loop = asyncio.get_running_loop()
        self._queue: queue.SimpleQueue[Batch | asyncio.Future[None] | None] = queue.SimpleQueue()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        # A daemon: a program that forgot to close its store can still end.
        self._thread = threading.Thread(target=self._run, name="podium-writer", daemon=True)
        self._fallen: set[Key] = set()
        self.identity: FileIdentity | None = None
        """Set by whoever has opened all connections."""

    async def start(self) -> None:
        """Open the database, make or migrate it: on the thread, because that may have to wait."""
        self._thread.start()
        try:
            await asyncio.shield(self._opened)
        except BaseException:
            await self.stop()
            raise

    def submit(self, batch: Batch) -> None:
        """Have a batch written; `settle` tells what became of it."""
        self._queue.put(batch)

    async def stop(self) -> None:
        """Write what was submitted, close the connection, end the thread."""
        self._queue.put(None)
        await asyncio.shield(self._closed)
        self._thread.join()

    def end(self) -> None:
        """The same without an event loop."""
        self._queue.put(None)
        self._thread.join()

    async def checkpoint(self) -> None:
        """Move the write-ahead log into the database and empty it, unless somebody else uses it right now."""
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
        """Wait for a batch, take in what came after it, write; `False` when told to stop."""
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
        """Write a batch; if that fails, each part of it alone, so that a failure stays where it belongs.

        What fails is dropped, and its lease is done for: no later row of it is written, because the log
        would have a gap. Taking the run up again is how to go on.
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
            # The loop ended without closing its store: nobody is left to tell.


def _nobody(report: Report) -> None:
    """Until there is a queue, nothing is submitted either."""


def _succeed(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _fail(future: asyncio.Future[None], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
