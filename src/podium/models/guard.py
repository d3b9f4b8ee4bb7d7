"""What all calls to one provider share in this process: a breaker for when it is down, and its pace. How a
fleet keeps one pace together is in `podium.models.share`.

Neither waits by itself: they tell how long to wait, and an ask does that while it holds nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from podium.models.faults import ModelFault

Clock = Callable[[], float]

OPENS_AFTER = 3
"""Calls in a row that gave up, each after all its attempts."""
APART_S = 0.02
"""How far apart calls begin that had to wait because their provider asked for it."""
FIRST_REST_S = 30.0
LONGEST_REST_S = 300.0


class Breaker:
    """Stops hammering a provider that is down.

    It counts calls that gave up, not failed attempts: a hiccup that hits fifty calls at once is over when
    they try again. After a rest one call may look whether the provider is back.
    """

    def __init__(self, provider: str, clock: Clock = time.monotonic) -> None:
        self._provider = provider
        self._clock = clock
        self._gave_up = 0
        self._rest_s = FIRST_REST_S
        self._until: float | None = None
        self._probing = False

    def check(self, trial: bool = False) -> bool:
        """Raise if the provider is being left alone now. True: the caller makes the trial call, in all its
        attempts, and says so when it asks again."""
        if self._until is None or trial:
            return trial
        left = self._until - self._clock()
        if left <= 0 and not self._probing:
            self._probing = True
            return True
        soon = f"in {max(1, round(left))} s" if left > 0 else "as soon as a trial call has ended"
        raise ModelFault(
            "resting",
            f"{self._provider} is not being called now: {self._gave_up} calls in a row failed for good. "
            f"It is tried again {soon}",
            calls=0,
        )

    def answered(self) -> None:
        """The provider is up, whatever it said."""
        self._gave_up = 0
        self._rest_s = FIRST_REST_S
        self._until = None
        self._probing = False

    def gave_up(self, trial: bool = False) -> None:
        """A call used all its attempts on a provider that seems to be down."""
        self._gave_up += 1
        if trial:
            self._rest_s = min(2 * self._rest_s, LONGEST_REST_S)
            self._probing = False
        if trial or (self._until is None and self._gave_up >= OPENS_AFTER):
            self._until = self._clock() + self._rest_s

    def left(self) -> None:
        """The trial call was stopped before it knew."""
        self._probing = False


class Meter(Protocol):
    """How much of a limit may be used now."""

    def wait(self, amount: float) -> float:
        """Seconds until so much may be taken; 0: now."""
        ...

    def take(self, amount: float) -> None:
        """Negative: it was not used after all."""
        ...


class Bucket:
    """So much per minute, evenly, with a small burst at the start."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._rate = per_minute / 60
        self._most = max(1.0, per_minute / 10)
        self._level = self._most
        self._clock = clock
        self._seen = clock()

    def wait(self, amount: float) -> float:
        """Seconds until so much may be taken; more than ever fits waits for a full bucket."""
        now = self._clock()
        self._level = min(self._most, self._level + (now - self._seen) * self._rate)
        self._seen = now
        return max(0.0, (min(amount, self._most) - self._level) / self._rate)

    def take(self, amount: float) -> None:
        self._level -= amount


class Pace:
    """Requests and tokens per minute, and the provider's own word when it is asked too fast. Those who have
    to wait are told times one after the other, so that they do not all come back at once."""

    def __init__(
        self, requests: int | None = None, tokens: int | None = None, clock: Clock = time.monotonic
    ) -> None:
        self._clock = clock
        self._requests: Meter | None = Bucket(requests, clock) if requests else None
        self._tokens: Meter | None = Bucket(tokens, clock) if tokens else None
        self._spacing = 60 / requests if requests else 0.0
        self._promised = 0.0
        self._held_until = 0.0

    def hold(self, seconds: float) -> float:
        """The provider has refused a call because there were too many: nobody calls it for so long. Returns
        how long the one who was refused has to wait."""
        self._held_until = max(self._held_until, self._clock() + seconds)
        return self.held()

    def held(self) -> float:
        """Seconds after which to ask again because the provider wants to be left alone; 0: it does not.
        Each who asks is told a time of their own."""
        now = self._clock()
        left = self._held_until - now
        return self._promise(now, left, max(self._spacing, APART_S)) if left > 0 else 0.0

    def take(self, tokens: int) -> float:
        """0: go, it is counted. Otherwise nothing is counted, and seconds after which to ask again."""
        held = self.held()
        if held > 0:
            return held
        wait = max(
            self._requests.wait(1) if self._requests else 0.0,
            self._tokens.wait(tokens) if self._tokens else 0.0,
        )
        if wait > 0:
            return self._promise(self._clock(), wait, self._spacing)
        if self._requests:
            self._requests.take(1)
        self.correct(tokens)
        return 0.0

    def _promise(self, now: float, wait: float, spacing: float) -> float:
        self._promised = max(self._promised + spacing, now + wait)
        return self._promised - now

    def correct(self, tokens: int) -> None:
        """More (or, negative, fewer) tokens were used than was counted."""
        if self._tokens:
            self._tokens.take(tokens)


class Guard:
    """The breaker and the pace of one provider."""

    def __init__(
        self,
        provider: str,
        requests: int | None = None,
        tokens: int | None = None,
        clock: Clock = time.monotonic,
        pace: Pace | None = None,
    ) -> None:
        self.breaker = Breaker(provider, clock)
        self.pace = pace or Pace(requests, tokens, clock)
