"""Registry of log tails and inbox subscribers of a store, by run."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Generic, TypeVar

from podium.engine.log import InboxMessage

B = TypeVar("B")


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


class Subscriptions(Generic[B]):
    """Tails and subscribers by run number. `B` is the cursor that a store wakes for a log reader."""

    def __init__(self) -> None:
        self._bells: dict[int, set[B]] = {}
        self._subscribers: dict[int, list[Subscriber]] = {}

    @property
    def has_tails(self) -> bool:
        return bool(self._bells)

    @contextmanager
    def _following(self, number: int, bell: B) -> Generator[B]:
        self._bells.setdefault(number, set()).add(bell)
        try:
            yield bell
        finally:
            bells = self._bells[number]
            bells.discard(bell)
            if not bells:
                del self._bells[number]

    def _enlist(self, subscriber: Subscriber) -> None:
        self._subscribers.setdefault(subscriber.number, []).append(subscriber)

    def _strike(self, subscriber: Subscriber) -> bool:
        """Remove a subscriber; return `False` if it was already removed."""
        was_active, subscriber.active = subscriber.active, False
        others = [other for other in self._subscribers.get(subscriber.number, ()) if other is not subscriber]
        if others:
            self._subscribers[subscriber.number] = others
        else:
            self._subscribers.pop(subscriber.number, None)
        return was_active
