"""`SqliteStore`."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from podium.engine.codec import encode
from podium.engine.events import NOTHING, Charge
from podium.engine.log import InboxMessage, Row, RunRow, RunTotal, RunUpdate, this_process
from podium.engine.store_parts import CacheShare, Cleared, Fact, FactChange, FactUpdate, ProjectShare, Sample
from podium.errors import RunLockedError
from podium.stores.batch import HeldLease, Standing
from podium.stores.leases import Leases
from podium.stores.sqlite import connection as database
from podium.stores.sqlite import facts as sql
from podium.stores.sqlite import lock
from podium.stores.sqlite import reply_cache as samples
from podium.stores.sqlite.connection import FileIdentity, explain
from podium.stores.sqlite.reader import SLICE, SqliteReader
from podium.stores.sqlite.statements import discard_messages, fence_run, post_message
from podium.stores.sqlite.tails import SqliteTails
from podium.stores.sqlite.writer import InlineCommit, SqliteWriter

_LOOK_S = 1.0
"""Seconds between checks that the file still exists, while the store drives runs."""


class DrivenRuns(InlineCommit, Leases):
    """Leases on SQLite. A run is driven by the process whose mark it has, as long as that process lives."""

    def __init__(
        self, path: Path, writer: SqliteWriter, near: sqlite3.Connection, reader: SqliteReader
    ) -> None:
        self._watch = SqliteTails(reader)
        identity = writer.identity = FileIdentity(path)
        super().__init__(writer, near, self._watch, identity)
        self._writer = writer
        self._look_timer: asyncio.TimerHandle | None = None
        self._reader = reader
        self._locks = lock.folder_beside(path)
        self._driver: lock.DriverLock | None = None

    def _join(self) -> str:
        if self._driver is None:
            self._driver = lock.DriverLock(self._locks)
        return self._driver.name

    def _hold(self, run_id: str, standing: Standing) -> HeldLease:
        if self._look_timer is None:
            self._look_timer = self._loop.call_later(_LOOK_S, self._look)
        return super()._hold(run_id, standing)

    def _look(self) -> None:
        """Stop the runs of this process when the file of the store is gone. A run that commits detects this
        itself; the check is for one that waits for a long call."""
        self._look_timer = None
        if not self._current or self._closed:
            return
        self._look_timer = self._loop.call_later(_LOOK_S, self._look)
        problem = self._identity.problem()
        if problem is not None:
            for lease in list(self._current.values()):
                lease.failure = lease.failure or problem
                if lease.on_lost is not None:
                    lease.on_lost(problem)

    def _let_go(self) -> None:
        super()._let_go()
        if self._look_timer is not None:
            self._look_timer.cancel()
        if self._driver is not None:
            self._driver.leave()

    async def _vacant(self, run_id: str, name: str) -> str:
        mark = self._reader.driver(run_id)
        if run_id in self._claims or (mark == name and run_id in self._current):
            raise RunLockedError(run_id, this_process())
        if mark != name and (who := lock.holder(self._locks, mark)):
            raise RunLockedError(run_id, who)
        return mark  # empty, of a dead driver, or ours and not removed yet


class FactsMixin(DrivenRuns):
    """Project facts, see `podium.engine.store_parts.Facts`. Each write is one transaction."""

    async def add_facts(self, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
        return await self._do(sql.add_facts, facts, change)

    async def change_facts(self, updates: Sequence[FactUpdate], at: str) -> list[str]:
        return await self._do(sql.change, updates, at)

    async def forget_facts(self, project: str, ids: Collection[str] | None = None) -> int:
        return await self._do(sql.forget, project, ids)

    async def list_facts(
        self,
        project: str = "",
        *,
        status: Collection[str] = (),
        source_run: str = "",
        ids: Collection[str] = (),
        limit: int = 0,
    ) -> list[Fact]:
        return await self._reader.brain.facts(project, status, source_run, ids, limit)

    async def match_facts(
        self, project: str, terms: Sequence[str], *, status: Collection[str] = (), limit: int = 100
    ) -> list[Fact]:
        return self._reader.brain.match(project, terms, status, limit)

    async def fact_history(self, project: str, fact_id: str) -> list[FactChange]:
        return self._reader.brain.history(project, fact_id)

    async def list_projects(self) -> list[ProjectShare]:
        return self._reader.brain.projects()

    async def project_revision(self, project: str) -> int:
        return self._reader.brain.revision(project)

    async def put_vectors(
        self, project: str, model: str, vectors: Mapping[str, bytes], charge: Charge = NOTHING
    ) -> None:
        await self._do(sql.put_vectors, project, model, vectors, charge)

    async def get_vectors(
        self, project: str, model: str, *, ids: Collection[str] | None = None
    ) -> dict[str, bytes]:
        return self._reader.brain.vectors(project, model, ids)


class SqliteStore(FactsMixin):
    """A store in one file. One instance belongs to one event loop."""

    def __init__(
        self, path: Path, writer: SqliteWriter, near: sqlite3.Connection, reader: SqliteReader
    ) -> None:
        super().__init__(path, writer, near, reader)
        self._path = path

    @classmethod
    async def open(cls, path: str | Path) -> SqliteStore:
        """Open the store at `path`; create it if there is none."""
        path = database.prepare(path)
        writer = SqliteWriter(path)
        await writer.start()
        try:
            near, reading = database.connect_near(path)
        except sqlite3.Error as error:
            await writer.stop()
            raise explain(error, path) from error
        return cls(path, writer, near, SqliteReader(reading, path))

    @property
    def url(self) -> str:
        return f"sqlite:///{self._path}"

    @property
    def limits(self) -> None:
        """None: processes of one machine do not share limits."""
        return

    @property
    def path(self) -> Path:
        """Path of the database file."""
        return self._path

    async def close(self) -> None:
        """Commit what is queued and release all resources. Calling it twice does no harm."""
        if not self._closed:
            self._hang_up()
            try:
                await self._writer.stop()
            finally:
                self._let_go()

    def close_now(self) -> None:
        """Close without an event loop, for a store whose loop has ended."""
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
        """Checkpoint everything into the database file, so that a copy of this file alone is complete. Does
        nothing while another process reads or writes."""
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

    # ── reply cache ──

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

    async def inbox(self, run_id: str) -> list[InboxMessage]:
        return self._reader.inbox(run_id, self._reader.number(run_id))

    async def discard(self, message_ids: Collection[int]) -> None:
        if message_ids:
            await self._do(discard_messages, message_ids)

    def subscribe(self, run_id: str, callback: Callable[[InboxMessage], None]) -> Callable[[], None]:
        driven = self._current.get(run_id)
        number = driven.key[0] if driven is not None else self._reader.number(run_id)
        return self._watch.subscribe(run_id, number, callback)
