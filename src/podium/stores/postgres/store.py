"""`PostgresStore`, and the notification of log tails and inbox subscribers.

Commits of other processes are announced by `NOTIFY`; a poll of the database every 250 ms makes up for lost
notifications.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from contextlib import AsyncExitStack, suppress

import psycopg

from podium.engine.log import RunRow
from podium.errors import StoreError
from podium.stores import shown, take_lease
from podium.stores.batch import ROW_WIDTH, Batch, Key
from podium.stores.commit_queue import CommitQueue
from podium.stores.postgres import heartbeat as slots
from podium.stores.postgres.connection import Db, check_address, connect, connect_here, explain
from podium.stores.postgres.database import CHANNEL, PostgresFacts, PostgresQueries
from podium.stores.postgres.heartbeat import DriverRows, Heartbeat, PostgresLimits
from podium.stores.postgres.writer import PostgresWriter
from podium.stores.reader import Reader
from podium.stores.rows import unknown
from podium.stores.sql import SEQ
from podium.stores.store import SqlStore
from podium.stores.tails import Tails

INTERVAL_S = 0.25
NOTICE_S = 0.02
"""Minimum seconds between notifications about rows: each one delays every commit of the database for a
moment."""


class PostgresTails(Tails):
    """All tails and subscribers of one store, the tasks that wake them, and notifications for other
    processes."""

    def __init__(self, url: str, reader: Reader, queries: PostgresQueries) -> None:
        super().__init__(reader)
        self.durable: dict[int, int] = {}
        """Highest durable sequence number by run number, for the runs that this process drives."""
        self.notifier = Notifier(queries)
        self._url = url
        self._tasks: list[asyncio.Task[None]] = []
        self._nudged = asyncio.Event()

    async def close(self) -> None:
        """End all tails and subscriptions."""
        self._close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def on_written(self, batch: Batch, failures: Collection[Key]) -> None:
        """Pass rows to readers in this process from memory, and notify other processes."""
        rows = batch.rows
        for place in range(0, len(rows), ROW_WIDTH):
            number = rows[place] >> 32
            if number in self.durable and (number, rows[place + 1]) not in failures:
                self.durable[number] = rows[place] & SEQ
        super().on_written(batch, failures)
        self.notifier.notify(batch.numbers)

    def _is_current(self, number: int, after: int) -> bool:
        return 0 < self.durable.get(number, 0) <= after

    def nudge(self, number: int | None = None) -> None:
        self._nudged.set()

    # ── wake-up tasks ──

    def _watch(self) -> None:
        if not self._tasks and not self.closed:
            self._tasks = [
                asyncio.create_task(self._poll(), name="podium-poll"),
                asyncio.create_task(self._check_when_nudged(), name="podium-inbox"),
                asyncio.create_task(self._listen(), name="podium-listen"),
            ]

    async def _check_when_nudged(self) -> None:
        while True:
            await self._nudged.wait()
            self._nudged.clear()
            with suppress(StoreError):  # the next check comes soon
                await self._check_inboxes(list(self._subscribers))

    async def _poll(self) -> None:
        """Poll for changes whose notifications were lost with a connection."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            self.nudge()
            with suppress(StoreError):  # an unreachable database has nothing new
                await self._check_tails()

    async def _listen(self) -> None:
        while True:
            try:
                db = await connect(self._url)
                async with db:
                    await db.execute(f"LISTEN {CHANNEL}")
                    await self._hear(db)
            except (psycopg.Error, OSError):
                await asyncio.sleep(INTERVAL_S)  # polling continues meanwhile

    async def _hear(self, db: Db) -> None:
        async for notice in db.notifies():
            kind, _, text = notice.payload.partition(":")
            if kind == "inbox":
                self.nudge()
            else:
                numbers = {int(number) for number in text.split(",") if number}
                self.ring(numbers - self.durable.keys())


class Notifier:
    """Notifies other processes which runs have new rows; combines many commits into one notification."""

    def __init__(self, queries: PostgresQueries) -> None:
        self._queries = queries
        self._numbers: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    def notify(self, numbers: Iterable[int]) -> None:
        self._numbers.update(numbers)
        if self._numbers and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._send(), name="podium-notify")

    async def _send(self) -> None:
        while self._numbers:
            await asyncio.sleep(NOTICE_S)
            numbers = sorted(self._numbers)
            self._numbers = set(numbers[500:])
            payload = f"rows:{','.join(map(str, numbers[:500]))}"
            with suppress(StoreError):  # listeners also poll
                await self._queries.all("SELECT pg_notify(?, ?)", (CHANNEL, payload))

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task], timeout=1.0)
            self._task.cancel()


class PostgresStore(SqlStore):
    """A store in one database, for any number of machines. One instance belongs to one event loop."""

    def __init__(
        self, url: str, address: str, lease_s: float, writer: PostgresWriter, queries: PostgresQueries
    ) -> None:
        self._url = url
        self._address = address
        """The URL without Podium's own options."""
        self._writer = writer
        self._queries = queries
        reader = Reader(queries, DriverRows())
        self._watch = PostgresTails(address, reader, queries)
        queue = CommitQueue(writer, self._watch.on_written)
        self._heartbeat = Heartbeat(address, lease_s, queue, self._watch.durable)
        self._limits = PostgresLimits(queries, queue)
        super().__init__(
            queue=queue,
            queries=queries,
            reader=reader,
            tails=self._watch,
            drivers=self._heartbeat,
            index=PostgresFacts(),
        )

    @classmethod
    async def open(cls, url: str) -> PostgresStore:
        """Open the store at `url`; create its tables if there are none."""
        address, lease_s = take_lease(url)
        check_address(address)
        writer, queries = PostgresWriter(address), PostgresQueries(address)
        await writer.start()
        try:
            await queries.open()
            return cls(url, address, lease_s, writer, queries)
        except BaseException:
            await writer.stop()
            await queries.close()
            raise

    @property
    def url(self) -> str:
        return self._url

    @property
    def limits(self) -> PostgresLimits:
        return self._limits

    async def close(self) -> None:
        if self._queue.closed:
            return
        self._queue.close()
        async with AsyncExitStack() as stack:  # release everything, whatever fails on the way
            stack.callback(self._leases.drop_all)
            stack.push_async_callback(self._queries.close)
            stack.push_async_callback(self._heartbeat.leave)
            stack.push_async_callback(self._watch.notifier.close)
            stack.push_async_callback(self._watch.close)
            await self._writer.stop()

    def _on_fenced(self, number: int) -> None:
        super()._on_fenced(number)
        self._watch.notifier.notify([number])

    def _number_now(self, run_id: str) -> int:
        """Return the number of a run that this process does not drive. Blocks, which is acceptable because it
        is rare."""
        try:
            with connect_here(self._address) as db:
                row = db.execute("SELECT number FROM run WHERE run_id = %s", (run_id,)).fetchone()
        except psycopg.Error as error:
            raise explain(error, shown(self._address)) from error
        if row is None:
            raise unknown(run_id)
        return row[0]

    # ── used by a fleet; see `podium.cluster.port.SharedStore` ──

    async def list_unattended(
        self, stop_reason: str, *, limit: int, owner: str | None = None, after: str = ""
    ) -> list[RunRow]:
        rest = "WHERE number IN (SELECT number FROM wanted) ORDER BY number"
        parameters = (owner, owner, stop_reason, after, limit)
        return await self._reader.summaries(rest, parameters, prefix=slots.UNATTENDED)

    async def claim_sweep(self, seconds: float) -> bool:
        return await self._queue.do(slots.claim_sweep, seconds)

    async def count_open(self, owner: str | None) -> tuple[int, int]:
        return (await self._queries.all(slots.COUNT, (owner, owner)))[0]

    async def set_limit(self, owner: str, max_runs: int) -> None:
        await self._queue.do(slots.set_limit, owner, max_runs)

    async def take_place(self, run_id: str, owner: str) -> bool:
        return await self._queue.do(slots.take_place, run_id, owner, self._heartbeat.join())

    async def leave_place(self, run_id: str) -> None:
        await self._queue.do(slots.leave_place, run_id, self._heartbeat.name)
