"""A log as a summary: made empty, and told event after event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Self

from podium.engine.events import Event


class Fold(ABC):
    """What a log comes to, up to the last event that was applied: the same for an old run and a live one."""

    @classmethod
    def of(cls, log: Iterable[Event]) -> Self:
        """All of a log at once."""
        state = cls()
        for event in log:
            state.apply(event)
        return state

    @abstractmethod
    def apply(self, event: Event) -> None:
        """Take one more event of the log into account."""
