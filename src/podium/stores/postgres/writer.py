"""Writer task. It merges everything that is queued into one transaction and reports the outcome to the queue
once. It waits for a database that goes away for a while: nothing is lost or written twice."""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque

import psycopg
from psycopg.errors import UniqueViolation

from podium.errors import StoreError
from podium.stores import shown
from podium.stores.batch import ROW_WIDTH, Batch, Key
from podium.stores.commit_queue import Report, Writer
from podium.stores.postgres.connection import (
    Db,
    Patience,
    connect,
    explain,
    is_lost,
    is_undone,
    open_database,
)
from podium.stores.postgres.database import PostgresDatabase, Receipt, was_committed, write
from podium.stores.statements import find_fenced

PATIENCE_S = 60.0
"""Seconds that a write waits for a database that cannot be reached."""
_LONGEST_WAIT_S = 1.0


class PostgresWriter(Writer):
    """Writes batches over a connection of its own, in the order in which they were submitted."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url
        self._where = shown(url)
        self._db: Db | None = None
        self._waiting: deque[Batch] = deque()
        self._wake = asyncio.Event()
        self._stopping = False
        self._task: asyncio.Task[None] | None = None
        self._patience = Patience(PATIENCE_S)
        self._name = os.urandom(8).hex()
        self._receipt: Receipt | None = None
        """Receipt of the transaction under way, if it has several statements."""

    async def start(self) -> None:
        """Open the database; create or migrate it."""
        self._db = await open_database(self._url)
        self._task = asyncio.create_task(self._run(), name="podium-writer")

    def submit(self, batch: Batch) -> None:
        """Queue a batch; `settle` reports its outcome."""
        self._waiting.append(batch)
        self._wake.set()

    async def stop(self) -> None:
        """Write what was submitted, and close the connection."""
        self._stopping = True
        self._wake.set()
        if self._task is not None:
            await asyncio.shield(self._task)

    async def _run(self) -> None:
        while self._waiting or not self._stopping:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
                continue
            batch, merged = self._waiting.popleft(), 1
            while self._waiting:
                batch.absorb(self._waiting.popleft())
                merged += 1
            start = time.perf_counter()
            failures = await self._write_what_can_be(batch)
            self.settle(Report(batch, merged, failures, time.perf_counter() - start))
        await self._drop()

    def _affects_all(self, error: Exception) -> bool:
        return is_lost(error)

    def _explain(self, error: Exception) -> StoreError:
        return explain(error, self._where)

    async def _write(self, batch: Batch) -> set[Key]:
        """Write, and retry while the database is away. Before a retry, check whether the lost transaction was
        committed."""
        wait, uncertain = 0.02, False
        while True:
            try:
                if self._db is None:
                    self._db = await connect(self._url)
                db = PostgresDatabase(self._db)
                if uncertain:
                    written = await self._was_written(self._db, batch)
                    if written is None:
                        raise psycopg.OperationalError("the transaction is still under way")
                    if written:
                        fenced = await find_fenced(db, batch)
                        self._patience.renew()
                        return fenced
                self._receipt = None
                fenced = await write(db, batch, self._name, self._keep_receipt)
            except (psycopg.Error, OSError) as error:
                doubled = uncertain and isinstance(error, UniqueViolation)
                undone = is_undone(error)
                if not (is_lost(error) or doubled or undone) or self._patience.is_over():
                    raise
                if not undone:
                    uncertain = uncertain or self._db is not None
                    await self._drop()
                await asyncio.sleep(wait)
                wait = min(wait * 2, _LONGEST_WAIT_S)
            else:
                self._patience.renew()
                return fenced

    def _keep_receipt(self, receipt: Receipt) -> None:
        self._receipt = receipt

    async def _was_written(self, db: Db, batch: Batch) -> bool | None:
        """Return whether the transaction of a lost connection was committed; `None` if that is not decided
        yet."""
        if self._receipt is not None:
            return await was_committed(db, self._name, self._receipt)
        if not batch.rows:
            return False
        sql = (
            "SELECT count(*) FROM event JOIN run ON run.number = event.id >> 32 "
            "JOIN unnest(%s::bigint[], %s::bigint[]) AS b (id, epoch) ON b.id = event.id "
            "WHERE run.epoch = b.epoch"
        )
        row = await (await db.execute(sql, (batch.rows[::ROW_WIDTH], batch.rows[1::ROW_WIDTH]))).fetchone()
        return bool(row and row[0])

    async def _drop(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            await db.close()
