"""The store that the engine talks to, as `podium.engine.log.Store` describes it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from podium.engine.codec import encode
from podium.engine.log import Message, Row, RunRow, RunUpdate
from podium.errors import StoreError
from podium.stores.sqlite import database, lock
from podium.stores.sqlite.batch import Acquisition, Blob, Creation, Job, SqliteLease
from podium.stores.sqlite.commits import Commits
from podium.stores.sqlite.failures import explain
from podium.stores.sqlite.jobs import discard_messages, fence_run, post_message
from podium.stores.sqlite.reading import SLICE, Reader
from podium.stores.sqlite.watch import Watch
from podium.stores.sqlite.writer import Writer


class SqliteStore(Commits):
    """A home for logs in one file. One instance belongs to one event loop."""

    def __init__(self, path: Path, writer: Writer, near: sqlite3.Connection, reader: Reader) -> None:
        super().__init__(writer, near, Watch(reader))
        self._path = path
        self._locks = lock.folder_beside(path)
        self._reader = reader

    @classmethod
    async def open(cls, path: str | Path) -> SqliteStore:
        """Open the store at `path`; make it if there is none."""
        path = database.prepare(path)
        writer = Writer(path)
        await writer.start()
        try:
            near, reader = database.connect_here(path), Reader(database.connect(path), path)
        except sqlite3.Error as error:
            await writer.stop()
            raise explain(error, path) from error
        return cls(path, writer, near, reader)

    @property
    def url(self) -> str:
        return f"sqlite:///{self._path}"

    async def close(self) -> None:
        """Commit what is queued and let go of everything. Closing twice does no harm."""
        if self._closed:
            return
        self._closed = True
        self._watch.close()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        self._flush()
        self._reader.close()
        self._near.close()
        try:
            await self._writer.stop()
        finally:
            for lease in self._leases.values():
                lease.lock.free()
            self._leases.clear()

    # ── runs ──

    async def create(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> None:
        named = [Blob(sha256(data).digest(), data, 0) for data in blobs]
        await self._perform(Creation(self._loop.create_future(), run, rows, named), self._batch.creations)

    async def get(self, run_id: str) -> RunRow:
        return self._reader.run(run_id)

    async def list_runs(
        self, *, status: Collection[str] = (), workflow: str = "", limit: int = 50, before: str = ""
    ) -> list[RunRow]:
        return self._reader.runs(status, workflow, limit, before)

    # ── driving ──

    async def acquire(self, run_id: str, *, take_over: bool = False) -> SqliteLease:
        held = lock.take(self._locks, run_id, take_over=take_over)
        try:
            errand = Acquisition(self._loop.create_future(), run_id)
            standing = await self._perform(errand, self._batch.acquisitions)
        except BaseException:
            held.free()
            raise
        lease = SqliteLease(run_id, standing, held)
        self._leases[lease.key] = lease
        return lease

    async def release(self, lease: Any) -> None:
        """Commit what is queued for the run and unlock it. Raises if that commit fails; what failed before
        was told before."""
        held: SqliteLease = lease
        if self._leases.get(held.key) is not held:
            return
        try:
            if held.failure is None and (pending := self.commit(held)) is not None:
                await pending
        finally:
            self._leases.pop(held.key, None)
            held.failure = held.failure or StoreError(f"Run {held.run_id} was released.")
            held.lock.free()

    async def fence(self, run_id: str, rows: Sequence[Row], update: RunUpdate) -> None:
        number = await self._do(fence_run, run_id, rows, update)
        self._watch.ring([number])

    # ── reading ──

    async def read(
        self, run_id: str, *, after: int = 0, limit: int = 0, types: Collection[str] = ()
    ) -> list[Row]:
        return await self._reader.rows(self._reader.number(run_id), after, limit, types)

    async def tail(self, run_id: str, *, after: int = 0) -> AsyncGenerator[Row, None]:
        number = self._reader.number(run_id)
        with self._watch.tail(number, after) as bell:
            while not self._watch.closed:
                bell.rung.clear()
                rows = self._reader.slice(number, bell.after)
                for row in rows:
                    bell.after = row.seq
                    yield row
                if len(rows) < SLICE:
                    await bell.rung.wait()
                else:
                    await asyncio.sleep(0)

    async def get_blob(self, digest: str) -> bytes:
        return self._reader.blob(digest)

    # ── inbox ──

    async def post(self, run_id: str, kind: str, data: Any = None) -> int:
        message_id = await self._do(post_message, run_id, kind, encode(data))
        self._watch.nudge()
        return message_id

    async def inbox(self, run_id: str) -> list[Message]:
        return self._reader.inbox(run_id, self._reader.number(run_id))

    async def discard(self, message_ids: Collection[int]) -> None:
        if message_ids:
            await self._do(discard_messages, message_ids)

    def subscribe(self, run_id: str, callback: Callable[[Message], None]) -> Callable[[], None]:
        return self._watch.subscribe(run_id, self._reader.number(run_id), callback)

    async def _do(self, call: Callable[..., Any], *args: Any) -> Any:
        """Have something rare done by the writer."""
        job = Job(self._loop.create_future(), lambda db: call(db, *args))
        return await self._perform(job, self._batch.jobs)
