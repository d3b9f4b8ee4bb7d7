"""The store that the engine talks to, as `podium.engine.log.Store` describes it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from podium.engine.codec import encode
from podium.engine.log import Message, Row, RunRow, RunTotal, RunUpdate
from podium.engine.samples import CacheShare, Cleared, Sample
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

    @property
    def limits(self) -> None:
        """Processes of one machine keep each their own."""
        return

    @property
    def path(self) -> Path:
        """The file of the database."""
        return self._path

    async def close(self) -> None:
        """Commit what is queued and let go of everything. Closing twice does no harm."""
        if not self._closed:
            self._hang_up()
            try:
                await self._writer.stop()
            finally:
                self._let_go()

    def close_now(self) -> None:
        """The same without an event loop: for a store whose loop has ended."""
        if not self._closed:
            self._hang_up()
            self._writer.end()
            self._let_go()

    def _hang_up(self) -> None:
        """Submit what is queued and close the connections of this thread."""
        self._closed = True
        self._watch.close()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        self._flush()
        self._reader.close()
        self._near.close()

    async def checkpoint(self) -> None:
        """Move everything into the database file, so that a copy of this file alone is complete. Does nothing
        while another process reads or writes."""
        self._check_open()
        await self._writer.checkpoint()

    # ── runs ──

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
