"""Driven time: it runs while the run has something to do, and goes on where the last process left it."""

from __future__ import annotations

import time


class Clock:
    """Seconds that the run has been driven in all. Waiting for people and timers does not count."""

    def __init__(self, before: float) -> None:
        self._total = before
        self._since: float | None = None

    def start(self) -> None:
        if self._since is None:
            self._since = time.monotonic()

    def stop(self) -> None:
        if self._since is not None:
            self._total += time.monotonic() - self._since
            self._since = None

    def now(self) -> float:
        return self._total if self._since is None else self._total + time.monotonic() - self._since
