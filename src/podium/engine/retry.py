"""How often a step's function is tried, and how long to wait in between."""

from __future__ import annotations

import random

import msgspec


class Retry(msgspec.Struct, frozen=True):
    """`Retry(3)`: three attempts in all, one and two seconds apart, give or take a fifth."""

    attempts: int = 3
    first_wait_s: float = 1.0
    factor: float = 2.0
    most_wait_s: float = 60.0
    jitter: float = 0.2
    only: tuple[type[BaseException], ...] = (Exception,)
    """Which exceptions are worth another attempt."""

    def wait(self, attempt: int) -> float:
        """Seconds to wait after the given attempt (1, 2, …) has failed."""
        base = min(self.first_wait_s * self.factor ** (attempt - 1), self.most_wait_s)
        return base * random.uniform(1 - self.jitter, 1 + self.jitter)
