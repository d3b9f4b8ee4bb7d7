"""Notification of log tails and inbox subscribers.

Rows that this process commits are passed on from memory. Commits of other processes are announced by
`NOTIFY`; a poll of the database every 250 ms makes up for lost notifications.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, suppress

import psycopg

from podium.engine.log import InboxMessage, Row
from podium.errors import StoreError
from podium.stores.batch import ROW_WIDTH, Batch, Key
from podium.stores.postgres.connection import Db, connect
from podium.stores.postgres.reader import PostgresReader
from podium.stores.rows import message_data
from podium.stores.subscriptions import Subscriber, Subscriptions

INTERVAL_S = 0.25
NOTICE_S = 0.02
"""Minimum seconds between notifications about rows: each one delays every commit of the database for a
moment."""
CHANNEL = "podium"
_MOST_KEPT = 5_000
_SEQ = 0xFFFFFFFF


class TailCursor:
    """The position of one log reader, the rows passed to it, and whether the database may hold more."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.look = True
        self.rung = asyncio.Event()
        self._fresh: deque[Row] = deque()

    def hand(self, row: Row) -> None:
        if len(self._fresh) >= _MOST_KEPT:
            self._fresh.clear()
            self.look = True
        self._fresh.append(row)
        self.rung.set()

    def take(self) -> list[Row]:
        """Return the rows that directly follow the last one read. A gap requires a database query."""
        while self._fresh and self._fresh[0].seq <= self.after:
            self._fresh.popleft()
        if self._fresh and self._fresh[0].seq == self.after + 1:
            rows = list(self._fresh)
            self._fresh.clear()
            return rows
        self.look = self.look or bool(self._fresh)
        return []


class PostgresTails(Subscriptions[TailCursor]):
    """All tails and subscribers of one store, and the tasks that wake them."""

    def __init__(self, url: str, reader: PostgresReader, driven: Collection[int]) -> None:
        super().__init__()
        self._url = url
        self._driven = driven
        """Numbers of runs whose rows this process writes itself and passes on."""
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self._tasks: list[asyncio.Task[None]] = []
        self._nudged = asyncio.Event()
        self.closed = False

    async def close(self) -> None:
        """End all tails and subscriptions."""
        self.closed = True
        for bells in self._bells.values():
            for bell in bells:
                bell.rung.set()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # ── tails ──

    def tail(self, number: int, after: int) -> AbstractContextManager[TailCursor]:
        self._begin()
        return self._following(number, TailCursor(after))

    def hand(self, batch: Batch, failures: Iterable[Key]) -> None:
        """Pass on rows that this process has committed."""
        failed = set(failures)
        rows = batch.rows
        for place in range(0, len(rows), ROW_WIDTH):
            number = rows[place] >> 32
            if number in self._bells and (number, rows[place + 1]) not in failed:
                row = Row(rows[place] & _SEQ, *rows[place + 2 : place + ROW_WIDTH])
                for bell in self._bells[number]:
                    bell.hand(row)

    def ring(self, numbers: Iterable[int]) -> None:
        """Wake the tails of runs that may have new rows in the database."""
        for number in numbers:
            for bell in self._bells.get(number, ()):
                bell.look = True
                bell.rung.set()

    # ── inboxes ──

    def subscribe(
        self, run_id: str, number: int, callback: Callable[[InboxMessage], None]
    ) -> Callable[[], None]:
        subscriber = Subscriber(run_id, number, callback)
        self._enlist(subscriber)
        self._begin()
        self.nudge()

        def unsubscribe() -> None:
            self._strike(subscriber)

        return unsubscribe

    def nudge(self) -> None:
        """Trigger a check of the inboxes."""
        self._nudged.set()

    async def _look(self) -> None:
        """Deliver new inbox messages, with one query for all subscribers."""
        if not self._subscribers:
            return
        posted = await self._reader.posted(list(self._subscribers))
        there = {message_id for message_id, *_ in posted}
        for subscribers in self._subscribers.values():
            for subscriber in subscribers:
                subscriber.seen &= there
        for message_id, number, kind, data in posted:
            for subscriber in self._subscribers.get(number, ()):
                if message_id not in subscriber.seen:
                    subscriber.seen.add(message_id)
                    message = InboxMessage(
                        message_id, subscriber.run_id, kind, message_data(message_id, data)
                    )
                    self._loop.call_soon(subscriber.deliver, message)

    # ── wake-up tasks ──

    def _begin(self) -> None:
        if not self._tasks and not self.closed:
            self._tasks = [
                asyncio.create_task(self._poll(), name="podium-poll"),
                asyncio.create_task(self._look_when_nudged(), name="podium-inbox"),
                asyncio.create_task(self._listen(), name="podium-listen"),
            ]

    async def _look_when_nudged(self) -> None:
        while True:
            await self._nudged.wait()
            self._nudged.clear()
            with suppress(StoreError):  # the next check comes soon
                await self._look()

    async def _poll(self) -> None:
        """Poll for changes whose notifications were lost with a connection."""
        while True:
            await asyncio.sleep(INTERVAL_S)
            self.nudge()
            if not self._bells:
                continue
            try:
                last = await self._reader.last_seqs(list(self._bells))
            except StoreError:
                continue  # an unreachable database has nothing new
            self.ring(
                number
                for number, seq in last.items()
                if any(b.after < seq for b in self._bells.get(number, ()))
            )

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
            kind, _, numbers = notice.payload.partition(":")
            if kind == "inbox":
                self.nudge()
            else:
                told = {int(number) for number in numbers.split(",") if number}
                self.ring(number for number in told if number not in self._driven)


class Notifier:
    """Notifies other processes which runs have new rows; combines many commits into one notification."""

    def __init__(self, reader: PostgresReader) -> None:
        self._reader = reader
        self._numbers: set[int] = set()
        self._task: asyncio.Task[None] | None = None

    def tell(self, numbers: Iterable[int]) -> None:
        self._numbers.update(numbers)
        if self._numbers and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._send(), name="podium-herald")

    async def _send(self) -> None:
        while self._numbers:
            await asyncio.sleep(NOTICE_S)
            told, self._numbers = sorted(self._numbers)[:500], set(sorted(self._numbers)[500:])
            with suppress(StoreError):  # listeners also poll
                await self._reader.all(
                    "SELECT pg_notify(%s, %s)", (CHANNEL, f"rows:{','.join(map(str, told))}")
                )

    async def close(self) -> None:
        if self._task is not None:
            await asyncio.wait([self._task], timeout=1.0)
            self._task.cancel()
