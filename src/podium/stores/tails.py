"""Log tails and inbox subscribers of a store, by run.

Rows that this process commits are passed on from memory. For the rows of other processes, a store checks the
database now and then, and rings the tails of runs that may have new rows in it.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Iterable
from contextlib import contextmanager

from podium.engine.log import InboxMessage, Row
from podium.stores.batch import ROW_WIDTH, Batch, Key
from podium.stores.reader import SLICE, Reader
from podium.stores.rows import message_data
from podium.stores.sql import SEQ

_MOST_KEPT = 5_000


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


class Subscriber:
    """A callback that gets every message of one run once."""

    def __init__(self, run_id: str, number: int, callback: Callable[[InboxMessage], None]) -> None:
        self.run_id = run_id
        self.number = number
        self.seen: set[int] = set()
        """Ids of delivered messages that are still in the inbox. A set, because a message can become visible
        after one with a higher id."""
        self.active = True
        self._callback = callback

    def deliver(self, message: InboxMessage) -> None:
        if self.active:
            self._callback(message)


class Tails(ABC):
    """All tails and subscribers of one store."""

    def __init__(self, reader: Reader) -> None:
        self.closed = False
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self._cursors: dict[int, set[TailCursor]] = {}
        self._subscribers: dict[int, list[Subscriber]] = {}

    # ── implemented by each store ──

    @abstractmethod
    def _watch(self) -> None:
        """Check the database for rows and messages of other processes from now on."""

    @abstractmethod
    def nudge(self, number: int | None = None) -> None:
        """Check the inbox of one run, or of all, soon."""

    def _is_current(self, number: int, after: int) -> bool:
        """Return whether the database is known to have no rows of a run after `after`."""
        return False

    def _rest(self) -> None:
        """Called when the last tail or subscriber has left."""
        return

    # ── tails ──

    async def follow(
        self, find_number: Callable[[str], Awaitable[int]], run_id: str, after: int
    ) -> AsyncGenerator[Row]:
        """Yield the rows of a run after `after`, as they become durable."""
        number = await find_number(run_id)
        with self._following(number, TailCursor(after)) as cursor:
            cursor.look = not self._is_current(number, after)
            while not self.closed:
                cursor.rung.clear()
                rows = cursor.take()
                if not rows and cursor.look:
                    cursor.look = False
                    rows = await self._slice(number, cursor.after)
                    if len(rows) == SLICE:
                        cursor.look = True
                        await asyncio.sleep(0)
                for row in rows:
                    if row.seq > cursor.after:
                        cursor.after = row.seq
                        yield row
                if not rows and not cursor.look:
                    await cursor.rung.wait()

    async def _slice(self, number: int, after: int) -> list[Row]:
        return await self._reader.slice(number, after)

    @contextmanager
    def _following(self, number: int, cursor: TailCursor) -> Generator[TailCursor]:
        self._cursors.setdefault(number, set()).add(cursor)
        self._watch()
        try:
            yield cursor
        finally:
            cursors = self._cursors[number]
            cursors.discard(cursor)
            if not cursors:
                del self._cursors[number]
                self._rest_if_alone()

    def on_written(self, batch: Batch, failures: Collection[Key]) -> None:
        """Pass on rows that this process has committed."""
        if not self._cursors:
            return
        rows = batch.rows
        for place in range(0, len(rows), ROW_WIDTH):
            number = rows[place] >> 32
            if number in self._cursors and (number, rows[place + 1]) not in failures:
                row = Row(rows[place] & SEQ, *rows[place + 2 : place + ROW_WIDTH])
                for cursor in self._cursors[number]:
                    cursor.hand(row)

    def ring(self, numbers: Iterable[int]) -> None:
        """Wake the tails of runs that may have new rows in the database."""
        for number in numbers:
            for cursor in self._cursors.get(number, ()):
                cursor.look = True
                cursor.rung.set()

    def _close(self) -> None:
        """End all tails and subscriptions."""
        self.closed = True
        self.ring(self._cursors)

    async def _check_tails(self) -> None:
        """Ring the tails that have not read all rows in the database, with one query for all."""
        if self._cursors:
            last = await self._reader.last_seqs(list(self._cursors))
            self.ring(
                number
                for number, seq in last.items()
                if any(cursor.after < seq for cursor in self._cursors.get(number, ()))
            )

    # ── inboxes ──

    def subscribe(
        self, run_id: str, number: int, callback: Callable[[InboxMessage], None]
    ) -> Callable[[], None]:
        """Deliver the messages of a run, also those that are there already. Returns how to unsubscribe."""
        subscriber = Subscriber(run_id, number, callback)
        self._subscribers.setdefault(number, []).append(subscriber)
        self._watch()
        self.nudge(number)

        def unsubscribe() -> None:
            if subscriber.active:
                subscriber.active = False
                self._subscribers[number].remove(subscriber)
                if not self._subscribers[number]:
                    del self._subscribers[number]
                    self._rest_if_alone()

        return unsubscribe

    async def _check_inboxes(self, numbers: list[int]) -> None:
        """Deliver new messages of these runs, with one query for all."""
        if not numbers:
            return
        posted = await self._reader.posted(numbers)
        present = {message_id for message_id, *_ in posted}
        for number in numbers:
            for subscriber in self._subscribers.get(number, ()):
                subscriber.seen &= present
        for message_id, number, kind, data in posted:
            for subscriber in self._subscribers.get(number, ()):
                if message_id not in subscriber.seen:
                    subscriber.seen.add(message_id)
                    content = message_data(message_id, data)
                    message = InboxMessage(message_id, subscriber.run_id, kind, content)
                    self._loop.call_soon(subscriber.deliver, message)

    def _rest_if_alone(self) -> None:
        if not self._cursors and not self._subscribers:
            self._rest()
