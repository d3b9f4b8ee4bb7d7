"""Breaker, pace and fleet-wide rate limit.

Neither waits by itself: they tell how long to wait, and an ask does that while it holds nothing.

Time on the pace is lent by the store in short stretches, one after the other to whoever asks: a stretch of a
tenth of a second on a limit of 100 a second is ten calls, spread over that tenth. So the fleet as a whole is
as even as one process would be, nobody asks for each call, and what a dead process had is soon past.
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


class RequestPace:
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


class ProviderLimits:
    """The breaker and the pace of one provider."""

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
"""The longest stretch that is asked for at once, unless one call needs more: then step by step, so that what
others give back meanwhile is not behind it."""
AHEAD_S = 0.05
"""So long before it has nothing left a busy process asks again."""
KEEP_S = 0.25
"""What was not used for so long is given back: others could have had it."""
CROWDED_S = 0.5
"""Stretches that begin later than this are too long for how many want some."""
AGAIN_S = 0.25
"""A store that does not answer is asked again so much later."""
CALLS_BURST_S = 0.05
"""So much of the past may be made up for, so that an answer of the store which is late costs nothing."""
TOKENS_BURST_S = 6.0
"""A call takes many tokens at once: a tenth of a minute, as in a process that is alone."""
_SOON_S = 0.01


class Share:
    """What of a limit may be used here and now. It fills only during stretches that the store has lent."""

    def __init__(
        self, limits: SharedLimits, name: str, per_minute: int, clock: Clock, burst_s: float = CALLS_BURST_S
    ) -> None:
        self._limits = limits
        self._name = name
        self._rate = per_minute / 60
        self._most = max(1.0, per_minute / 10)
        """More is not waited for: a larger call goes, and what it took is waited for afterwards."""
        self._burst_s = max(burst_s, 1 / self._rate)
        """So much that nobody took in the past may still be had."""
        self._clock = clock
        self._level = 0.0
        self._goal = 0.0
        """What somebody waits for."""
        self._lent: deque[tuple[float, float]] = deque()
        """Stretches that are not over: from where they have not been counted, to where they end."""
        self._block_s = 0.0
        self._asking: asyncio.Task[None] | None = None
        self._retry_at = 0.0

    def wait(self, amount: float) -> float:
        """Seconds until so much may be taken, as far as that is known; more is asked for."""
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
        if amount > 0:  # what comes back is first for those who wait here
            self._goal = 0.0
        if self._level > self._kept:
            self._fill(self._clock())  # it was negative, and so much that others should have it

    def hold(self, seconds: float) -> None:
        """The provider wants to be left alone by everybody; what was lent here is void."""
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
        """Ask for a stretch: longer each time in a row, shorter when many want some."""
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
    """The pace of a provider for all processes that share a store."""

    def __init__(
        self, limits: SharedLimits, name: str, requests: int | None, tokens: int | None, clock: Clock
    ) -> None:
        super().__init__(clock=clock)
        calls = Share(limits, f"{name} requests", requests, clock) if requests else None
        words = Share(limits, f"{name} tokens", tokens, clock, TOKENS_BURST_S) if tokens else None
        self._requests, self._tokens = calls, words
        self._shares = [share for share in (calls, words) if share is not None]
        self._spacing = 48 / requests if requests else 0.02
        """Those who wait look a little more often than turns come: nobody knows who has the next."""

    def hold(self, seconds: float) -> float:
        for share in self._shares:
            share.hold(seconds)
        return super().hold(seconds)


Key = tuple[str, str, int | None, int | None]


class AllProviderLimits:
    """By provider, address and limits."""

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
        """`limits` is where a fleet keeps its pace; `None`: this process is alone. Without any limit there is
        nothing to keep together."""
        key = (provider, address, requests, tokens)
        if limits is None or not (requests or tokens):
            if key not in self._alone:
                self._alone[key] = ProviderLimits(provider, requests, tokens)
            return self._alone[key]
        known = self._shared.setdefault(limits, {})
        if key not in known:
            place = sha256(address.encode()).hexdigest()[:16]  # an address may hold a password
            pace = FleetPace(limits, f"{provider} {place}", requests, tokens, time.monotonic)
            known[key] = ProviderLimits(provider, pace=pace)
        return known[key]


GUARDS = AllProviderLimits()
"""Shared by everything in this process."""
