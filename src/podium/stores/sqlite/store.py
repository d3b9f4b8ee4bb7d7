"""The store that the engine talks to, as `podium.engine.log.Store` describes it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from podium.engine.codec import encode
from podium.engine.log import Message, Row, RunRow, RunTotal, RunUpdate
from podium.engine.samples import CacheShare, Cleared, Sample
from podium.errors import StoreError
from podium.stores.batch import Blob, Creation, HeldLease
from podium.stores.sqlite import database, samples
from podium.stores.sqlite.failures import explain
from podium.stores.sqlite.jobs import discard_messages, fence_run, post_message
from podium.stores.sqlite.reading import SLICE, Reader
from podium.stores.sqlite.remembering import Remembering
from podium.stores.sqlite.writer import Writer


class SqliteStore(Remembering):
    """A home for logs in one file. One instance belongs to one event loop."""

    def __init__(self, path: Path, writer: Writer, near: sqlite3.Connection, reader: Reader) -> None:
        super().__init__(path, writer, near, reader)
        self._path = path
        self._kept = 0
        """Answers that were put into the cache."""

    @classmethod
    async def open(cls, path: str | Path) -> SqliteStore:
        """Open the store at `path`; make it if there is none."""
        path = database.prepare(path)
        writer = Writer(path)
        await writer.start()
        try:
            near, reading = database.connect_near(path)
        except sqlite3.Error as error:
            await writer.stop()
            raise explain(error, path) from error
        return cls(path, writer, near, Reader(reading, path))

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
            self._leave()

    # ── runs ──

    async def create(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> None:
        await self._create(run, rows, blobs)

    async def create_driven(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> HeldLease:
        created = self._create(run, rows, blobs)
        marked = self._mark_new(run.run_id)  # queued in the same iteration: the same transaction
        try:
            await created
        except asyncio.CancelledError:
            marked.add_done_callback(self._disown)
            raise
        except StoreError:
            marked.cancel()
            raise
        return self._hold(run.run_id, await marked)

    def _create(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes]) -> asyncio.Future[None]:
        named = [Blob(sha256(data).digest(), data, 0) for data in blobs]
        creation = Creation(self._loop.create_future(), run, rows, named)
        self._batch.creations.append(creation)
        self._schedule()
        return creation.future

    async def get(self, run_id: str) -> RunRow:
        return self._reader.run(run_id)

    async def list_runs(
        self,
        *,
        status: Collection[str] = (),
        workflow: str = "",
        limit: int = 50,
        before: str = "",
        owner: str | None = None,
        text: str = "",
    ) -> list[RunRow]:
        return self._reader.runs(status, workflow, limit, before, owner, text)

    async def find_start(self, owner: str, key: str) -> RunRow | None:
        return self._reader.start(owner, key)

    async def list_changed(self, since_us: int, *, owner: str | None = None) -> list[RunRow]:
        return self._reader.changed(since_us, owner)

    async def run_totals(self, owner: str | None = None) -> list[RunTotal]:
        return self._reader.totals(owner)

    async def fence(self, run_id: str, rows: Sequence[Row], update: RunUpdate) -> None:
        number = await self._do(fence_run, run_id, rows, update)
        self._watch.ring([number])

    # ── reading ──

    async def read(
        self, run_id: str, *, after: int = 0, limit: int = 0, types: Collection[str] = ()
    ) -> list[Row]:
        return await self._reader.rows(self._reader.number(run_id), after, limit, types)

    async def tail(self, run_id: str, *, after: int = 0) -> AsyncGenerator[Row]:
        number = self._reader.number(run_id)
        with self._watch.tail(number, after) as bell:
            while not self._watch.closed:
                bell.rung.clear()
                rows = self._watch.slice(number, bell.after)
                for row in rows:
                    bell.after = row.seq
                    yield row
                if len(rows) < SLICE:
                    await bell.rung.wait()
                else:
                    await asyncio.sleep(0)

    async def get_blob(self, digest: str) -> bytes:
        return self._reader.blob(digest)

    # ── the cache ──

    async def find_sample(self, key: str, skip: Collection[str] = ()) -> Sample | None:
        return self._reader.sample(key, skip)

    def keep_sample(self, sample: Sample, most_bytes: int) -> None:
        notes = self.notes()
        notes.kept.append(sample)
        if self._kept % samples.TRIM_EVERY == 0:
            notes.most_bytes = most_bytes
        self._kept += 1

    def use_sample(self, sample: Sample, now_us: int) -> None:
        self.notes().used.append((sample, now_us))

    def drop_sample(self, sample_id: str) -> None:
        self.notes().dropped.append(sample_id)

    async def cache_shares(self) -> list[CacheShare]:
        return self._reader.shares()

    async def clear_cache(self, *, before_us: int | None = None, model: str = "") -> Cleared:
        return await self._do(samples.clear, before_us, model)

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
        driven = self._current.get(run_id)
        number = driven.key[0] if driven is not None else self._reader.number(run_id)
        return self._watch.subscribe(run_id, number, callback)
