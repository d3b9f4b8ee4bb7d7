"""How fast somebody may ask: a bucket of tokens each, refilled evenly."""

from __future__ import annotations

import time

MOST = 10_000
"""Buckets that are remembered; the fullest are forgotten first."""


class Rates:
    """One bucket for each name."""

    def __init__(self) -> None:
        self._buckets: dict[str, tuple[float, float]] = {}
        """Tokens that were left, and when."""

    def take(self, name: str, per_minute: float, burst: float, now: float | None = None) -> float:
        """Take a token. 0: it may go on; otherwise so many seconds have to pass."""
        moment = time.monotonic() if now is None else now
        left, then = self._buckets.get(name, (burst, moment))
        left = min(burst, left + (moment - then) * per_minute / 60)
        if left < 1:
            self._buckets[name] = (left, moment)
            return (1 - left) * 60 / per_minute
        if name not in self._buckets and len(self._buckets) >= MOST:
            self._buckets = dict(sorted(self._buckets.items(), key=lambda entry: entry[1][0])[: MOST // 2])
        self._buckets[name] = (left - 1, moment)
        return 0.0

    def give_back(self, name: str, burst: float) -> None:
        """It was no attempt that counts."""
        if name in self._buckets:
            left, then = self._buckets[name]
            self._buckets[name] = (min(burst, left + 1), then)
