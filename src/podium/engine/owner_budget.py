"""Limits shared by processes, owner budgets drawn from them.

Two things are lent in small parts, so that nobody has to ask for each call: time on a provider's pace, and
money of the owner of runs. What is lent counts as used until it is given back.

The purse is one more scope, around the run's own: its limit is what the store has lent so far. It grows in
parts that double, so that few calls have to wait for one, and what is not used goes back. Since the store
counts all that is lent as spent, all runs together never pass the owner's limit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec

from podium.engine.budget import NANO, Amount, Budget, Scope
from podium.engine.log import Lease
from podium.errors import OWNER, BudgetExhaustedError, StoreError


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """What an owner of runs may have, and what of it is taken."""

    usd: float | None = None
    """What all runs together may cost; `None`: no limit."""
    taken_usd: float = 0.0
    """Spent, or lent to runs that are driven or whose driver died."""


class Drawn(NamedTuple):
    """The answer to a wish for money, in nano-dollars."""

    granted: int
    """What may be spent beyond what was told; 0: not enough is free."""
    most: int
    """The most that could still be had, if everybody gave back what they have not spent."""
    limit: int | None
    """What all runs of the owner may cost together; `None`: whatever they like."""


class SharedLimits(Protocol):
    """The half of a shared store that keeps limits."""

    async def lend_pace(self, name: str, span_s: float, burst_s: float) -> float:
        """Take the next `span_s` seconds of a pace, after those that others have. Returns in how many seconds
        they begin; negative, at most by `burst_s`: they have begun. A negative span gives back."""
        ...

    async def hold_pace(self, name: str, seconds: float) -> None:
        """Nobody gets a part of this pace that begins earlier."""
        ...

    async def set_account(self, owner: str, usd: float | None) -> Account:
        """Say what all runs of an owner, the past ones included, may cost; `None`: whatever they like."""
        ...

    async def draw(self, lease: Lease, spent: int, held: int, need: int, want: int) -> Drawn:
        """Ask for money for a run that has spent so much so far, and may spend `held` by calls in flight.
        What it was lent beyond these is given back; then it gets between `need` and `want`, or nothing.
        `want` 0 only gives back. Money that nobody limits is granted as wanted. Durable when this
        returns."""
        ...

    def settle(self, lease: Lease, spent: int) -> None:
        """The run is left in order and has spent so much. Queued, and durable with the release of the run."""
        ...


AGAIN_S = 0.2
"""When too little is free now, but runs elsewhere may give some back, it is asked for again so much later."""
IDLE_S = 2.0
"""A run that made no call for so long gives back what it was lent."""
_TRUE_S = 1.0
"""So long it is believed that an account is empty."""
_STOP_S = 2.0


class OwnerBudget(Scope):
    """What one stretch of a run may spend. Nothing is there before the first call asks for it."""

    __slots__ = (
        "_broke", "_changed", "_drawing", "_empty_until", "_idle", "_lease", "_limits", "_most", "_part",
        "_total", "_turn", "_wanted",
    )  # fmt: skip

    def __init__(
        self,
        limits: SharedLimits,
        lease: Lease,
        spent: int,
        *,
        changed: Callable[[], None],
        broke: Callable[[StoreError], object],
    ) -> None:
        super().__init__("", Budget(usd=0))
        self._limits = limits
        self._lease = lease
        self._changed = changed
        """Called when somebody who waits should be looked at again."""
        self._broke = broke
        """Called when the store cannot be asked, so that nobody waits for ever."""
        self.spent[0] = spent
        self.limit = (spent, None, None)
        self._part = 0
        """What was lent last."""
        self._wanted = 0
        """The largest that somebody waits for."""
        self._most = 0
        self._total = 0
        self._empty_until = 0.0
        self._turn = asyncio.Lock()
        self._drawing: asyncio.Task[None] | None = None
        self._idle: asyncio.Task[None] | None = None

    async def open(self) -> int | None:
        """What all runs of the owner may cost; `None`: nobody limits it, and this purse is of no use."""
        return (await self._asked(0, 0)).limit

    def lacks(self, amount: Amount, closing: bool, *, counting_reserved: bool) -> int:
        if amount[0] == 0:
            return -1
        if not counting_reserved:
            empty = time.monotonic() < self._empty_until and amount[0] > self._most
            return 0 if empty else -1
        return super().lacks(amount, closing, counting_reserved=True)

    def lacking(self, amount: Amount) -> None:
        self._wanted = max(self._wanted, amount[0])
        if self._drawing is None:
            self._drawing = asyncio.get_running_loop().create_task(self._draw(), name="podium-purse")

    def exhausted(self, kind: int, amount: Amount, closing: bool) -> BudgetExhaustedError:
        spent = self._total - self._most
        return BudgetExhaustedError("usd", OWNER, self._total / NANO, spent / NANO, amount[0] / NANO)

    async def _draw(self) -> None:
        try:
            while self._wanted:
                if await self._tried(self._wanted):
                    break
                await asyncio.sleep(AGAIN_S)
        except StoreError as error:
            self._broke(error)
        finally:
            self._drawing = None
        self._changed()

    async def _tried(self, need: int) -> bool:
        """Ask once; `True` when those who wait should be looked at."""
        self._wanted = 0
        drawn = await self._asked(need, max(need, 2 * self._part))
        if drawn.granted:
            self._part = drawn.granted
            self._watch()
            return True
        self._most, self._total = drawn.most, drawn.limit or 0
        if need > drawn.most:
            self._empty_until = time.monotonic() + _TRUE_S
            return True
        self._changed()  # those who still wait say so again, and some want less than the largest
        return False

    async def _asked(self, need: int, want: int) -> Drawn:
        """Between the question and the answer nothing is free: what is unused is given back with it."""
        async with self._turn:  # what the store knows last is what holds here
            spent, held = self.spent[0], self.reserved[0]
            self.limit = (spent + held, None, None)
            drawn = await self._limits.draw(self._lease, spent, held, need, want)
            self.limit = (spent + held + drawn.granted, None, None)
            return drawn

    # ── giving back ──

    def _watch(self) -> None:
        if self._idle is None:
            self._idle = asyncio.get_running_loop().create_task(self._give_back(), name="podium-purse-idle")

    async def _give_back(self) -> None:
        """When a run does something else for a while than asking models."""
        while True:
            before = (self.spent[0], self.reserved[0])
            await asyncio.sleep(IDLE_S)
            idle = before == (self.spent[0], self.reserved[0]) and self._drawing is None
            if idle and (self.limit[0] or 0) > self.spent[0] + self.reserved[0]:
                self._part = 0
                with suppress(StoreError):  # it counts as spent until the run is left
                    await self._asked(0, 0)
                    self._changed()

    async def stop(self) -> None:
        """Draw nothing more."""
        tasks = [task for task in (self._drawing, self._idle) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_STOP_S)

    def settle(self) -> None:
        """The run is left in order: what it has spent is settled with its last events."""
        self._limits.settle(self._lease, self.spent[0])
