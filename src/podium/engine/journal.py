"""The driver's pen: encodes events once, numbers them, and hands them to the store."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from podium.engine.codec import encode
from podium.engine.events import EventData
from podium.engine.log import Lease, RunUpdate, Store
from podium.engine.redact import Redact
from podium.errors import FencedError


class Journal:
    """Appends to the log of one run while its lease lasts."""

    def __init__(self, store: Store, lease: Lease, redact: Redact) -> None:
        self.store = store
        self.lease = lease
        self.redact = redact
        self.closed = False
        self._seq = lease.last_seq
        self._time_us = lease.last_time_us

    def append(self, path: str, data: EventData) -> int:
        """Queue an event; it becomes durable with the next commit."""
        return self.append_raw(path, data.type, self.redact(encode(data)))

    def append_raw(self, path: str, event_type: str, data: bytes) -> int:
        """The same for data that is encoded and redacted already."""
        if self.closed:
            raise FencedError(self.lease.run_id)
        self._seq = seq = self._seq + 1
        now = time.time_ns() // 1000
        if now > self._time_us:
            self._time_us = now
        self.store.append(self.lease, (seq, self._time_us, path, event_type, data))
        return seq

    def update(self, **changes: object) -> None:
        """Queue a change of the run's summary."""
        if not self.closed:
            self.store.update(self.lease, RunUpdate(updated_us=self.now_us(), **changes))  # pyright: ignore[reportArgumentType]

    def commit(
        self,
        waiter: asyncio.Future[Any] | None = None,
        outcome: Any = None,
        first: Callable[[], None] | None = None,
    ) -> asyncio.Future[Any] | None:
        """Make everything so far durable; `None` when it is already."""
        return self.store.commit(self.lease, waiter, outcome, first)

    async def committed(self) -> None:
        future = self.store.commit(self.lease)
        if future is not None:
            await future

    def put_blob(self, data: bytes) -> str:
        return self.store.put_blob(data)

    def now_us(self) -> int:
        """The time of the next event: never before the last one's, whatever the clock does."""
        now = time.time_ns() // 1000
        self._time_us = now if now > self._time_us else self._time_us
        return self._time_us

    def close(self) -> None:
        """From here on a late writer of this process is refused like one of another process."""
        self.closed = True
