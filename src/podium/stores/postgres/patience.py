"""How long a database that has gone is waited for."""

from __future__ import annotations

import time
from collections.abc import Callable


class Patience:
    """Counted from when the database went, so that those who come later do not wait as long again."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._since = self._last = float("-inf")

    def is_over(self) -> bool:
        """Told after each vain attempt. When none was made for a while, it begins anew."""
        now = self._clock()
        if now - self._last > self._seconds:
            self._since = now
        self._last = now
        return now - self._since > self._seconds

    def renew(self) -> None:
        """The database has answered."""
        self._since = self._last = float("-inf")
