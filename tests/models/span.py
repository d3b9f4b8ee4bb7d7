"""Four workers that share a provider's pace, on a clock that the test moves: theirs, and the database's too.

Everything but time is real: each worker has a store of its own on one PostgreSQL, whose `clock_timestamp()`
is a row of a table. So what a fleet gets out of a limit can be counted to the call, however busy the machine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

from podium.engine.owner_budget import SharedLimits
from podium.models.provider_limits import FleetPace
from podium.stores import open_store
from podium.stores.postgres.connection import Db, connect
from tests.stores.postgres import Server

WORKERS = 4
CALL_S = 1.0
"""How long a call takes."""
CALLERS = 50
"""Who want the next turn in each worker."""
PATIENCE_S = 120.0
_CLOCK = (
    "CREATE TABLE clock AS SELECT to_timestamp(0) AS at; "
    "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT at FROM clock'"
)


class Clock:
    """Time that stands still until it is told to go on, here and in the database."""

    def __init__(self, db: Db) -> None:
        self.now = 1_000_000.0
        self._db = db
        self._sleeping: list[tuple[float, asyncio.Event]] = []

    def __call__(self) -> float:
        return self.now

    async def set(self, now: float) -> None:
        self.now = now
        await self._db.execute("UPDATE clock SET at = to_timestamp(%s)", (now,))
        due = [sleeper for sleeper in self._sleeping if sleeper[0] <= now]
        self._sleeping = [sleeper for sleeper in self._sleeping if sleeper[0] > now]
        for _, over in due:
            over.set()
        for _ in range(5):  # whoever slept goes on before anybody else
            await asyncio.sleep(0)

    async def sleep(self, seconds: float) -> None:
        if seconds > 0:
            over = asyncio.Event()
            self._sleeping.append((self.now + seconds, over))
            await over.wait()


class Line:
    """A worker's way to the store: the store's own limits, whose answers take a while on the test's clock."""

    def __init__(self, limits: SharedLimits, clock: Clock, late_s: float) -> None:
        self._limits = limits
        self._clock = clock
        self._late_s = late_s
        self._asking = 0
        self.parts: list[tuple[float, float]] = []
        """What was lent here: from when to when."""

    async def lend_pace(self, name: str, span_s: float, burst_s: float) -> float:
        self._asking += 1
        try:
            begins_in = await self._limits.lend_pace(name, span_s, burst_s)
        finally:
            self._asking -= 1
        begin = self._clock.now + begins_in
        self.parts += [(begin, begin + span_s)] if span_s > 0 else []
        await self._clock.sleep(self._late_s)
        return begins_in

    async def asked(self) -> None:
        """Until the store has heard everything; time stands still meanwhile."""
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.sleep(0)
            while self._asking:  # noqa: ASYNC110 - the answer comes from the database
                await asyncio.sleep(0.0002)
            for _ in range(5):
                await asyncio.sleep(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._limits, name)


class Hand:
    """One worker with callers who want a turn as soon as there is one."""

    def __init__(self, line: Line, pace: FleetPace, clock: Clock, tokens: int, used: int) -> None:
        self.line = line
        self.pace = pace
        self.times: list[float] = []
        """When turns were had."""
        self._clock = clock
        self._tokens = tokens
        self._spare = tokens - used
        self._wanted = [clock.now] * CALLERS
        """When each caller asks next."""
        self._calling = [False] * CALLERS

    def act(self) -> None:
        """What callers do now: ask for a turn, call, and tell what they did not use."""
        now = self._clock.now
        for caller, moment in enumerate(self._wanted):
            if moment > now:
                continue
            if self._calling[caller]:
                self._calling[caller] = False
                self.pace.correct(-self._spare)
            wait = self.pace.take(self._tokens)
            if wait <= 0:
                self.times.append(now)
                self._calling[caller] = True
            self._wanted[caller] = now + (wait or CALL_S)


class Fleet:
    """All workers, and time."""

    def __init__(self, clock: Clock, hands: list[Hand], tick_s: float) -> None:
        self.hands = hands
        self.clock = clock
        self._tick_s = tick_s

    async def go(self, seconds: float) -> int:
        """Let everybody call as often as they may for so long; tells how many turns were had."""
        before = sum(len(hand.times) for hand in self.hands)
        began = self.clock.now
        for tick in range(1, round(seconds / self._tick_s) + 1):
            for hand in self.hands:
                hand.act()
                await hand.line.asked()
            await self.clock.set(began + tick * self._tick_s)
        return sum(len(hand.times) for hand in self.hands) - before


@asynccontextmanager
async def fleet(
    server: Server,
    *,
    requests: int | None = None,
    tokens: int | None = None,
    each: int = 0,
    used: int = 0,
    late_s: float = 0.0,
    tick_s: float = 0.005,
) -> AsyncGenerator[Fleet]:
    """`each`: tokens that a call may use, and `used` those that it does; `late_s`: how long the database
    takes to answer; `tick_s`: how finely time goes on."""
    url = f"{server.new_place()}%2Cpg_catalog"
    async with AsyncExitStack() as stack:
        db = await stack.enter_async_context(await connect(url))
        await db.execute(_CLOCK)
        clock = Clock(db)
        await clock.set(clock.now)
        hands: list[Hand] = []
        for _ in range(WORKERS):
            store = await stack.enter_async_context(open_store(url))
            assert store.limits is not None
            line = Line(store.limits, clock, late_s)
            pace = FleetPace(cast("SharedLimits", line), "openai", requests, tokens, clock)
            hands.append(Hand(line, pace, clock, each, used))
        yield Fleet(clock, hands, tick_s)
