"""Circuit breaker, request pacing and fleet-wide rate limits.

Neither waits by itself: they return how long to wait, and an ask does so while it holds no resources.

The store lends time on a rate limit in short blocks, one after the other to the processes that ask: a block
of 0.1 seconds on a limit of 100 per second is ten calls, spread over that time. So the fleet as a whole is as
even as one process would be, not every call needs a request to the store, and blocks of a dead process soon
expire.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Coroutine
from hashlib import sha256
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from podium.engine.owner_budget import SharedLimits
from podium.errors import StoreError
from podium.models.model import ModelFault

Clock = Callable[[], float]

OPENS_AFTER = 3
"""Consecutive calls that gave up, each after all its attempts, before the breaker opens."""
APART_S = 0.02
"""Minimum seconds between calls that had to wait because their provider requested it."""
FIRST_REST_S = 30.0
LONGEST_REST_S = 300.0


class Breaker:
    """Circuit breaker: stops calls to a provider that is down.

    It counts calls that gave up, not failed attempts: a short outage that hits fifty calls at once is over
    when they retry. After a rest, one trial call may test whether the provider is back.
    """

    def __init__(self, provider: str, clock: Clock = time.monotonic) -> None:
        self._provider = provider
        self._clock = clock
        self._gave_up = 0
        self._rest_s = FIRST_REST_S
        self._until: float | None = None
        self._probing = False

    def check(self, trial: bool = False) -> bool:
        """Raise if the breaker is open. Returns True if the caller makes the trial call; it then passes
        `trial` with all its attempts."""
        if self._until is None or trial:
            return trial
        remaining = self._until - self._clock()
        if remaining <= 0 and not self._probing:
            self._probing = True
            return True
        soon = f"in {max(1, round(remaining))} s" if remaining > 0 else "as soon as a trial call has ended"
        raise ModelFault(
            "resting",
            f"{self._provider} is not being called now: {self._gave_up} calls in a row failed for good. "
            f"It is tried again {soon}",
            calls=0,
        )

    def answered(self) -> None:
        """Close the breaker: the provider responded, whatever it said."""
        self._gave_up = 0
        self._rest_s = FIRST_REST_S
        self._until = None
        self._probing = False

    def gave_up(self, trial: bool = False) -> None:
        """Count a call that used all its attempts on a provider that seems to be down; may open the
        breaker."""
        self._gave_up += 1
        if trial:
            self._rest_s = min(2 * self._rest_s, LONGEST_REST_S)
            self._probing = False
        if trial or (self._until is None and self._gave_up >= OPENS_AFTER):
            self._until = self._clock() + self._rest_s

    def left(self) -> None:
        """Release the trial that was stopped before its outcome was known."""
        self._probing = False


class Meter(Protocol):
    """Tracks how much of a rate limit may be used now."""

    def wait(self, amount: float) -> float:
        """Return the seconds until this amount may be taken; 0: now."""
        ...

    def take(self, amount: float) -> None:
        """Take an amount; a negative one gives back."""
        ...


class Bucket:
    """Token bucket with an even rate per minute and a small burst."""

    def __init__(self, per_minute: int, clock: Clock) -> None:
        self._rate = per_minute / 60
        self._most = max(1.0, per_minute / 10)
        self._level = self._most
        self._clock = clock
        self._seen = clock()

    def wait(self, amount: float) -> float:
        """Return the seconds until this amount may be taken; an amount above the capacity waits for a full
        bucket."""
        now = self._clock()
        self._level = min(self._most, self._level + (now - self._seen) * self._rate)
        self._seen = now
        return max(0.0, (min(amount, self._most) - self._level) / self._rate)

    def take(self, amount: float) -> None:
        self._level -= amount


class RequestPace:
    """Requests and tokens per minute, and back-off requested by the provider. Waiting callers get staggered
    times, so that they do not all return at once."""

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
        """Block calls for this many seconds, because the provider refused one for its rate limit. Returns how
        long the refused caller has to wait."""
        self._held_until = max(self._held_until, self._clock() + seconds)
        return self.held()

    def held(self) -> float:
        """Return the seconds to wait because of the provider's back-off; 0: none. Each caller gets a time of
        its own."""
        now = self._clock()
        remaining = self._held_until - now
        return self._promise(now, remaining, max(self._spacing, APART_S)) if remaining > 0 else 0.0

    def take(self, tokens: int) -> float:
        """Return 0 if the request may go; it is then counted. Otherwise count nothing and return the seconds
        to wait."""
        if (hold := self.held()) > 0:
            return hold
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
        """Count more (or, if negative, fewer) tokens than before."""
        if self._tokens:
            self._tokens.take(tokens)


class ProviderLimits:
    """The circuit breaker and the request pace of one provider."""

    def __init__(
        self,
        provider: str,
        requests: int | None = None,
        tokens: int | None = None,
        clock: Clock = time.monotonic,
        pace: RequestPace | None = None,
    ) -> None:
        self.breaker = Breaker(provider, clock)
        self.pace = pace or RequestPace(requests, tokens, clock)


BLOCK_S = 0.1
"""Maximum seconds requested at once, unless one call needs more: then step by step, so that blocks that
others return meanwhile do not end up behind it."""
AHEAD_S = 0.05
"""Seconds before its blocks end at which a busy process requests more."""
KEEP_S = 0.25
"""Seconds after which unused capacity is returned, so that others can have it."""
CROWDED_S = 0.5
"""A block that begins later than this many seconds from now shows that there are too many requesters for its
length."""
AGAIN_S = 0.25
"""Seconds before a store that does not respond is asked again."""
CALLS_BURST_S = 0.05
"""Seconds of the past that may be made up for, so that a late response of the store costs nothing."""
TOKENS_BURST_S = 6.0
"""The same for tokens: a call takes many at once. A tenth of a minute, as in a single process."""
_SOON_S = 0.01


class Share:
    """The part of a rate limit that this process may use now. It fills only during blocks that the store has
    lent."""

    def __init__(
        self, limits: SharedLimits, name: str, per_minute: int, clock: Clock, burst_s: float = CALLS_BURST_S
    ) -> None:
        self._limits = limits
        self._name = name
        self._rate = per_minute / 60
        self._most = max(1.0, per_minute / 10)
        """Maximum amount to wait for: a larger call goes at this level and leaves a debt."""
        self._burst_s = max(burst_s, 1 / self._rate)
        """Seconds of unused past capacity that may still be used."""
        self._clock = clock
        self._level = 0.0
        self._goal = 0.0
        """The largest amount that a caller waits for."""
        self._lent: deque[tuple[float, float]] = deque()
        """Blocks that are not over: start of the part not yet counted, and end."""
        self._block_s = 0.0
        self._asking: asyncio.Task[None] | None = None
        self._retry_at = 0.0

    def wait(self, amount: float) -> float:
        """Return the seconds until this amount may be taken, as far as known; request more from the store."""
        now = self._clock()
        self._fill(now)
        need = min(amount, self._most)
        if need <= self._level:
            return 0.0
        self._goal = max(self._goal, need)
        lacking = need - self._level
        for begin, end in self._lent:
            here = (end - begin) * self._rate
            if here >= lacking:
                self._ask(now, 0.0)
                return max(begin + lacking / self._rate - now, 0.0001)
            lacking -= here
        self._ask(now, lacking / self._rate)
        last = self._lent[-1][1] - AHEAD_S if self._lent else 0.0
        return max(last - now, self._retry_at - now, _SOON_S)

    def take(self, amount: float) -> None:
        self._level -= amount
        if amount > 0:  # returned capacity goes first to callers that wait here
            self._goal = 0.0
        if self._level > self._kept:
            self._fill(self._clock())  # the amount was negative, and large enough to return to others

    def hold(self, seconds: float) -> None:
        """Block the limit for the whole fleet; blocks lent here become void."""
        self._lent.clear()
        self._send(self._limits.hold_pace(self._name, seconds))

    @property
    def _kept(self) -> float:
        return max(1.0, self._rate * KEEP_S, self._goal)

    def _fill(self, now: float) -> None:
        while self._lent and self._lent[0][0] < now:
            begin, end = self._lent.popleft()
            self._level += (min(end, now) - begin) * self._rate
            if end > now:
                self._lent.appendleft((now, end))
                break
        surplus = self._level - self._kept
        if surplus > 0 and self._asking is None:
            self._level -= surplus
            self._block_s /= 2
            self._send(self._limits.lend_pace(self._name, -surplus / self._rate, self._burst_s))

    def _ask(self, now: float, at_least_s: float) -> None:
        """Request a block: longer each time in a row, shorter when many processes request some."""
        enough = self._lent and self._lent[-1][1] >= now + AHEAD_S
        if self._asking is None and now >= self._retry_at and not enough:
            self._block_s = min(max(2 * self._block_s, 1 / self._rate), max(BLOCK_S, 1 / self._rate))
            self._send(self._borrow(max(min(at_least_s, CROWDED_S), self._block_s)))

    async def _borrow(self, span_s: float) -> None:
        begins_in = await self._limits.lend_pace(self._name, span_s, self._burst_s)
        begin = self._clock() + begins_in
        self._lent.append((begin, begin + span_s))
        if begins_in > CROWDED_S:
            self._block_s /= 4

    def _send(self, question: Coroutine[Any, Any, object]) -> None:
        task = asyncio.get_running_loop().create_task(self._answered(question), name="podium-pace")
        self._asking = self._asking or task

    async def _answered(self, question: Coroutine[Any, Any, object]) -> None:
        try:
            await question
        except StoreError:  # nothing can be logged either: calls wait with the log
            self._retry_at = self._clock() + AGAIN_S
        finally:
            self._asking = None


class FleetPace(RequestPace):
    """The request pace of a provider for all processes that share a store."""

    def __init__(
        self, limits: SharedLimits, name: str, requests: int | None, tokens: int | None, clock: Clock
    ) -> None:
        super().__init__(clock=clock)
        calls = Share(limits, f"{name} requests", requests, clock) if requests else None
        words = Share(limits, f"{name} tokens", tokens, clock, TOKENS_BURST_S) if tokens else None
        self._requests, self._tokens = calls, words
        self._shares = [share for share in (calls, words) if share is not None]
        self._spacing = 48 / requests if requests else 0.02
        """Waiting callers check slightly more often than turns come, because the next holder is not known."""

    def hold(self, seconds: float) -> float:
        for share in self._shares:
            share.hold(seconds)
        return super().hold(seconds)


Key = tuple[str, str, int | None, int | None]


class AllProviderLimits:
    """Provider limits by provider, address and limits."""

    def __init__(self) -> None:
        self._alone: dict[Key, ProviderLimits] = {}
        self._shared: WeakKeyDictionary[SharedLimits, dict[Key, ProviderLimits]] = WeakKeyDictionary()

    def of(
        self,
        provider: str,
        address: str,
        requests: int | None,
        tokens: int | None,
        limits: SharedLimits | None = None,
    ) -> ProviderLimits:
        """Return the limits of a provider. `limits` are those of a fleet; `None` for a single process.
        Without any limit there is nothing to share."""
        key = (provider, address, requests, tokens)
        if limits is None or not (requests or tokens):
            if key not in self._alone:
                self._alone[key] = ProviderLimits(provider, requests, tokens)
            return self._alone[key]
        known = self._shared.setdefault(limits, {})
        if key not in known:
            place = sha256(address.encode()).hexdigest()[:16]  # an address may contain a password
            pace = FleetPace(limits, f"{provider} {place}", requests, tokens, time.monotonic)
            known[key] = ProviderLimits(provider, pace=pace)
        return known[key]


GUARDS = AllProviderLimits()
"""Shared by everything in this process."""
