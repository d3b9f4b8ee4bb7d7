"""This process's share of a provider's pace that a fleet keeps together.

Time on the pace is lent by the store in short stretches, one after the other to whoever asks: a stretch of a
tenth of a second on a limit of 100 a second is ten calls, spread over that tenth. So the fleet as a whole is
as even as one process would be, nobody asks for each call, and what a dead process had is soon past.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any

from podium.engine.limits import Limits
from podium.errors import StoreError
from podium.models.guard import Clock, Pace

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
        self, limits: Limits, name: str, per_minute: int, clock: Clock, burst_s: float = CALLS_BURST_S
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


class FleetPace(Pace):
    """The pace of a provider for all processes that share a store."""

    def __init__(
        self, limits: Limits, name: str, requests: int | None, tokens: int | None, clock: Clock
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
