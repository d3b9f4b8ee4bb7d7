"""Notification of log tails and inbox subscribers.

Commits of this process wake them at once. Commits of other processes change `PRAGMA data_version`, which one
timer polls every 50 ms, as long as there are tails or subscribers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress

from podium.engine.log import InboxMessage, Row
from podium.errors import StoreError
from podium.stores.rows import message_data
from podium.stores.sqlite.reader import SqliteReader
from podium.stores.subscriptions import Subscriber, Subscriptions

INTERVAL_S = 0.05
_NOTHING: tuple[tuple[int, int], list[Row]] = ((-1, -1), [])


class TailCursor:
    """The position of one log reader; `rung` is set when there may be rows after it."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.rung = asyncio.Event()


class SqliteTails(Subscriptions[TailCursor]):
    """All tails and subscribers of one store, and the timer that serves them."""

    def __init__(self, reader: SqliteReader) -> None:
        super().__init__()
        self._reader = reader
        self._loop = asyncio.get_running_loop()
        self._listeners = 0
        self._shared = _NOTHING
        self._seen = 0
        """Messages up to this id were delivered to the subscribers of that time."""
        self._version = -1
        self._timer: asyncio.TimerHandle | None = None
        self.closed = False

    def close(self) -> None:
        """End all tails and subscriptions."""
        self.closed = True
        self._stop()
        self.ring(list(self._bells))

    # ── tails ──

    @contextmanager
    def tail(self, number: int, after: int) -> Generator[TailCursor]:
        self._shared = _NOTHING
        self._join()
        try:
            with self._following(number, TailCursor(after)) as bell:
                yield bell
        finally:
            self._leave()

    def slice(self, number: int, after: int) -> list[Row]:
        """Return rows after `after`. Tails at the same position share one read."""
        place = (number, after)
        if self._shared[0] != place:
            self._shared = (place, self._reader.slice(number, after))
        return self._shared[1]

    def ring(self, numbers: Iterable[int]) -> None:
        """Wake the tails of runs that have new rows."""
        self._shared = _NOTHING
        for number in numbers:
            for bell in self._bells.get(number, ()):
                bell.rung.set()

    # ── inboxes ──

    def subscribe(
        self, run_id: str, number: int, callback: Callable[[InboxMessage], None]
    ) -> Callable[[], None]:
        subscriber = Subscriber(run_id, number, callback)
        self._join()
        self._loop.call_soon(self._welcome, subscriber)

        def unsubscribe() -> None:
            if self._strike(subscriber):
                self._leave()

        return unsubscribe

    def _welcome(self, subscriber: Subscriber) -> None:
        """Deliver the messages that are already there, then register the subscriber."""
        if not subscriber.active or self.closed:
            return
        try:
            messages = self._reader.inbox(subscriber.run_id, subscriber.number)
        except StoreError:
            self._loop.call_later(INTERVAL_S, self._welcome, subscriber)
            return
        self._enlist(subscriber)
        for message in messages:
            self._hand(subscriber, message)

    def nudge(self) -> None:
        """Check the inboxes after this process has posted a message."""
        with suppress(StoreError):  # the timer checks again, because the version has changed
            self._look()

    def _look(self) -> None:
        """Deliver messages posted since the last check, with one query for all subscribers."""
        if not self._subscribers:
            return
        for message_id, number, kind, data in self._reader.posted(self._seen):
            self._seen = message_id
            for subscriber in self._subscribers.get(number, ()):
                self._hand(
                    subscriber,
                    InboxMessage(message_id, subscriber.run_id, kind, message_data(message_id, data)),
                )

    def _hand(self, subscriber: Subscriber, message: InboxMessage) -> None:
        if message.id not in subscriber.seen:
            subscriber.seen.add(message.id)
            self._loop.call_soon(subscriber.deliver, message)

    # ── the timer ──

    def _join(self) -> None:
        self._listeners += 1
        if self._timer is None and not self.closed:
            self._timer = self._loop.call_later(INTERVAL_S, self._poll)

    def _leave(self) -> None:
        self._listeners -= 1
        if not self._listeners:
            self._stop()

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _poll(self) -> None:
        self._timer = self._loop.call_later(INTERVAL_S, self._poll)
        try:
            version = self._reader.version()
            if version == self._version:
                return
            self._shared = _NOTHING
            last = self._reader.last_seqs(list(self._bells))
            self._look()
            self._version = version
        except StoreError:
            self.ring(list(self._bells))  # they read for themselves and report the error to their callers
            return
        for number, seq in last.items():
            for bell in self._bells[number]:
                if bell.after < seq:
                    bell.rung.set()
