"""`PostgresStore`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import psycopg

from podium.engine.codec import encode
from podium.engine.events import NOTHING, Charge
from podium.engine.log import InboxMessage, Row, RunRow, RunTotal, RunUpdate, this_process
from podium.engine.store_parts import CacheShare, Cleared, Fact, FactChange, FactUpdate, ProjectShare, Sample
from podium.errors import RunLockedError
from podium.stores.address import shown, take_lease
from podium.stores.batch import ROW_WIDTH, HeldLease, Standing, WriteCall
from podium.stores.commit_queue import Report, heard
from podium.stores.leases import Leases
from podium.stores.postgres import facts as fact_sql
from podium.stores.postgres import heartbeat as places
from podium.stores.postgres import reply_cache as samples
from podium.stores.postgres.connection import Db, check_address, connect_here, explain
from podium.stores.postgres.facts import FactReader
from podium.stores.postgres.heartbeat import Presence
from podium.stores.postgres.limits import PostgresLimits
from podium.stores.postgres.reader import SLICE, PostgresReader
from podium.stores.postgres.statements import discard_messages, fence_run, post_message
from podium.stores.postgres.tails import Notifier, PostgresTails
from podium.stores.postgres.writer import PostgresWriter
from podium.stores.rows import unknown


class DrivenRuns(Leases):
    """Leases on PostgreSQL. A run is driven by the process whose mark it has, as long as that process sends
    heartbeats."""

    def __init__(self, url: str, writer: PostgresWriter, reader: PostgresReader, lease_s: float) -> None:
        self._durable: dict[int, int] = {}
        """Highest durable sequence number by run number, for the runs that this process drives."""
        self._watch = PostgresTails(url, reader, self._durable)
        super().__init__(writer, self._watch)
        self._writer = writer
        self._reader = reader
        self._herald = Notifier(reader)
        self._presence = Presence(url, lease_s, self._look_at_leases)

    def _join(self) -> str:
        if self._presence.join():
            entered = self._loop.create_future()
            entered.add_done_callback(heard)  # the next heartbeat makes up for it
            self._batch.jobs.append(WriteCall(entered, self._presence.enter))
            self._schedule()
        return self._presence.name

    async def _look_at_leases(self, db: Db) -> None:
        """Invalidate the leases of runs that another process has taken over, even if they have nothing to
        write."""
        held = list(self._leases)
        if held:
            sql = "SELECT number, epoch FROM run WHERE number = ANY(%s::bigint[])"
            found = await (await db.execute(sql, ([number for number, _ in held],))).fetchall()
            epochs: dict[int, int] = dict(found)
            self._give_up({key: None for key in held if epochs.get(key[0]) != key[1]})

    def durable(self, number: int) -> int:
        """Return the highest sequence number known to be durable; 0 if this process does not write the
        log."""
        return self._durable.get(number, 0)

    def _hold(self, run_id: str, standing: Standing) -> HeldLease:
        self._durable[standing.number] = standing.last_seq
        return super()._hold(run_id, standing)

    def _drop(self, held: HeldLease) -> None:
        super()._drop(held)
        self._durable.pop(held.key[0], None)

    async def _vacant(self, run_id: str, name: str) -> str:
        mark, who = await self._reader.driver(run_id)
        ours = mark == name
        if run_id in self._claims or (ours and run_id in self._current):
            raise RunLockedError(run_id, this_process())
        if who and not ours:
            raise RunLockedError(run_id, who)
        return mark  # empty, of a dead driver, or ours and not removed yet

    def _announce(self, report: Report) -> None:
        """Pass rows to readers in this process from memory, and notify other processes."""
        rows = report.batch.rows
        for place, one in enumerate(rows[::ROW_WIDTH]):
            number, epoch = one >> 32, rows[place * ROW_WIDTH + 1]
            if number in self._durable and (number, epoch) not in report.failures:
                self._durable[number] = one & 0xFFFFFFFF
        if self._watch.has_tails:
            self._watch.hand(report.batch, report.failures)
        self._herald.tell(report.batch.numbers)


class PostgresStore(DrivenRuns):
    """A store in one database, for any number of machines. One instance belongs to one event loop."""

    def __init__(
        self, url: str, address: str, lease_s: float, writer: PostgresWriter, reader: PostgresReader
    ) -> None:
        super().__init__(address, writer, reader, lease_s)
        self._url = url
        self._address = address
        """The URL without Podium's own options."""
        self._brain = FactReader(reader)
        self._limits = PostgresLimits(reader, self._queue_job)

    @classmethod
    async def open(cls, url: str) -> PostgresStore:
        """Open the store at `url`; create its tables if there are none."""
        address, lease_s = take_lease(url)
        check_address(address)
        writer, reader = PostgresWriter(address), PostgresReader(address)
        await writer.start()
        try:
            await reader.open()
            return cls(url, address, lease_s, writer, reader)
        except BaseException:
            await writer.stop()
            await reader.close()
            raise

    @property
    def url(self) -> str:
        return self._url

    @property
    def limits(self) -> PostgresLimits:
        return self._limits

    async def close(self) -> None:
        """Commit what is queued and release all resources. Calling it twice does no harm."""
        if self._closed:
            return
        self._closed = True
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        self._flush()
        async with AsyncExitStack() as last:  # release everything, whatever fails on the way
            last.callback(self._let_go)
            last.push_async_callback(self._reader.close)
            last.push_async_callback(self._presence.leave)
            last.push_async_callback(self._herald.close)
            last.push_async_callback(self._watch.close)
            await self._writer.stop()

    # ── runs ──

    async def get(self, run_id: str) -> RunRow:
        return await self._reader.run(run_id)

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
        return await self._reader.runs(status, workflow, limit, before, owner, text)

    async def find_start(self, owner: str, key: str) -> RunRow | None:
        return await self._reader.start(owner, key)

    async def list_changed(self, since_us: int, *, owner: str | None = None) -> list[RunRow]:
        return await self._reader.changed(since_us, owner)

    async def run_totals(self, owner: str | None = None) -> list[RunTotal]:
        return await self._reader.totals(owner)

    async def fence(self, run_id: str, rows: Sequence[Row], update: RunUpdate) -> None:
        number = await self._do(fence_run, run_id, rows, update)
        self._watch.ring([number])
        self._herald.tell([number])

    # ── used by a fleet; see `podium.cluster.shared` ──

    async def list_unattended(
        self, stop_reason: str, *, limit: int, owner: str | None = None, after: str = ""
    ) -> list[RunRow]:
        return await self._reader.unattended(stop_reason, limit, owner, after)

    async def claim_sweep(self, seconds: float) -> bool:
        return await self._do(places.claim_sweep, seconds)

    async def count_open(self, owner: str | None) -> tuple[int, int]:
        return (await self._reader.all(places.COUNT, (owner, owner)))[0]

    async def set_limit(self, owner: str, max_runs: int) -> None:
        await self._do(places.set_limit, owner, max_runs)

    async def take_place(self, run_id: str, owner: str) -> bool:
        self._join()
        return await self._do(places.take_place, run_id, owner, self._presence.name)

    async def leave_place(self, run_id: str) -> None:
        await self._do(places.leave_place, run_id, self._presence.name)

    # ── reading ──

    async def read(
        self, run_id: str, *, after: int = 0, limit: int = 0, types: Collection[str] = ()
    ) -> list[Row]:
        return await self._reader.rows(await self._number(run_id), after, limit, types)

    async def tail(self, run_id: str, *, after: int = 0) -> AsyncGenerator[Row]:
        number = await self._number(run_id)
        with self._watch.tail(number, after) as bell:
            bell.look = not 0 < self.durable(number) <= after
            while not self._watch.closed:
                bell.rung.clear()
                rows = bell.take()
                if not rows and bell.look:
                    bell.look = False
                    rows = await self._reader.slice(number, bell.after)
                    bell.look = bell.look or len(rows) == SLICE
                for row in rows:
                    if row.seq > bell.after:
                        bell.after = row.seq
                        yield row
                if not rows and not bell.look:
                    await bell.rung.wait()

    async def get_blob(self, digest: str) -> bytes:
        return await self._reader.blob(digest)

    async def _number(self, run_id: str) -> int:
        driven = self._current.get(run_id)
        return driven.key[0] if driven is not None else await self._reader.number(run_id)

    # ── reply cache ──

    async def find_sample(self, key: str, skip: Collection[str] = ()) -> Sample | None:
        return await self._reader.ask(lambda db: samples.find(db, key, skip))

    async def cache_shares(self) -> list[CacheShare]:
        return await self._reader.ask(samples.shares)

    async def clear_cache(self, *, before_us: int | None = None, model: str = "") -> Cleared:
        return await self._do(samples.clear, before_us, model)

    # ── inbox ──

    async def post(self, run_id: str, kind: str, data: Any = None) -> int:
        message_id = await self._do(post_message, run_id, kind, encode(data))
        self._watch.nudge()
        return message_id

    async def inbox(self, run_id: str) -> list[InboxMessage]:
        return await self._reader.inbox(run_id, await self._number(run_id))

    async def discard(self, message_ids: Collection[int]) -> None:
        if message_ids:
            await self._do(discard_messages, message_ids)

    def subscribe(self, run_id: str, callback: Callable[[InboxMessage], None]) -> Callable[[], None]:
        driven = self._current.get(run_id)
        number = driven.key[0] if driven is not None else self._number_at_once(run_id)
        return self._watch.subscribe(run_id, number, callback)

    def _number_at_once(self, run_id: str) -> int:
        """Return the number of a run that this process does not drive. Blocks, which is acceptable because it
        is rare."""
        try:
            with connect_here(self._address) as db:
                found = db.execute("SELECT number FROM run WHERE run_id = %s", (run_id,)).fetchone()
        except psycopg.Error as error:
            raise explain(error, shown(self._address)) from error
        if found is None:
            raise unknown(run_id)
        return found[0]

    # ── project facts ──

    async def add_facts(self, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
        return await self._do(fact_sql.add, facts, change)

    async def change_facts(self, updates: Sequence[FactUpdate], at: str) -> list[str]:
        return await self._do(fact_sql.change, updates, at)

    async def forget_facts(self, project: str, ids: Collection[str] | None = None) -> int:
        return await self._do(fact_sql.forget, project, ids)

    async def list_facts(
        self, project: str = "", *, status: Collection[str] = (), source_run: str = "",
        ids: Collection[str] = (), limit: int = 0,
    ) -> list[Fact]:  # fmt: skip
        return await self._brain.facts(project, status, source_run, ids, limit)

    async def match_facts(
        self, project: str, terms: Sequence[str], *, status: Collection[str] = (), limit: int = 100
    ) -> list[Fact]:
        return await self._brain.match(project, terms, status, limit)

    async def fact_history(self, project: str, fact_id: str) -> list[FactChange]:
        return await self._brain.history(project, fact_id)

    async def list_projects(self) -> list[ProjectShare]:
        return await self._brain.projects()

    async def project_revision(self, project: str) -> int:
        return await self._brain.revision(project)

    async def put_vectors(
        self, project: str, model: str, vectors: Mapping[str, bytes], charge: Charge = NOTHING
    ) -> None:
        await self._do(fact_sql.put_vectors, project, model, vectors, charge)

    async def get_vectors(
        self, project: str, model: str, *, ids: Collection[str] | None = None
    ) -> dict[str, bytes]:
        return await self._brain.vectors(project, model, ids)
