"""Limits shared by several processes, and the owner budget drawn from them.

Two quantities are lent in small parts, so that not every call needs a request: time slots of a provider's
rate limit, and money of the owner of runs. A lent part counts as used until it is returned.

The owner budget is one more scope, around the run's own: its limit is the amount that the store has lent so
far. It grows in parts that double in size, so that few calls have to wait for one; unused money goes back.
Since the store counts everything that is lent as spent, all runs together never exceed the owner's limit.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple, Protocol

import msgspec

from podium.engine.budget import NANO, USD, Amount, Budget, Scope, only_usd
from podium.engine.log import Lease
from podium.errors import OWNER, BudgetExhaustedError, StoreError


class Account(msgspec.Struct, frozen=True, kw_only=True):
    """An owner's limit for all runs, and how much of it is used."""

    usd: float | None = None
    """Maximum cost of all runs together; `None`: no limit."""
    taken_usd: float = 0.0
    """Spent, or lent to runs that are driven or whose driver died."""


class Drawn(NamedTuple):
    """The store's answer to a request for money, in nano-dollars."""

    granted: int
    """Additional amount that may be spent; 0 if not enough is free."""
    most: int
    """The most that could be granted if all other runs returned their unspent money."""
    limit: int | None
    """Maximum cost of all runs of the owner; `None`: no limit."""


class SharedLimits(Protocol):
    """The part of a shared store that keeps limits."""

    async def lend_pace(self, name: str, span_s: float, burst_s: float) -> float:
        """Take the next `span_s` seconds of a rate limit, after those lent to others. Returns the seconds
        until they begin; negative, at least `-burst_s`, if they have begun. A negative span gives back."""
        ...

    async def hold_pace(self, name: str, seconds: float) -> None:
        """Lend no part of this rate limit that begins within the next `seconds`."""
        ...

    async def set_account(self, owner: str, usd: float | None) -> Account:
        """Set the maximum cost of all runs of an owner, past ones included; `None` removes the limit."""
        ...

    async def draw(self, lease: Lease, spent: int, held: int, need: int, want: int) -> Drawn:
        """Request money for a run that has spent `spent` so far and may spend `held` by calls in flight.
        Money lent beyond these is returned; then the run gets between `need` and `want`, or nothing. `want` 0
        only returns money. Without a limit, all of `want` is granted. Durable when this returns."""
        ...

    def settle(self, lease: Lease, spent: int) -> None:
        """Record the final spending of a run that is released in order. Queued; durable with the release of
        the run."""
        ...


AGAIN_S = 0.2
"""Seconds before another request when too little is free but other runs may return money."""
IDLE_S = 2.0
"""Seconds without a call after which a run returns the money that it was lent."""
_TRUE_S = 1.0
"""Seconds for which an account is assumed to stay empty."""
_STOP_S = 2.0


class OwnerBudget(Scope):
    """Scope for the money that a run was lent by its owner's account. Empty before the first call requests
    some."""

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
        """Called when queued reservations should be checked again."""
        self._broke = broke
        """Called when the store cannot be reached, so that no call waits forever."""
        self.spent[USD] = spent
        self.limit = only_usd(spent)
        self._part = 0
        """The last amount that was lent."""
        self._wanted = 0
        """The largest amount that a queued call needs."""
        self._most = 0
        self._total = 0
        self._empty_until = 0.0
        self._turn = asyncio.Lock()
        self._drawing: asyncio.Task[None] | None = None
        self._idle: asyncio.Task[None] | None = None

    async def open(self) -> int | None:
        """Return the owner's limit for all runs; `None` if there is none and this scope is not needed."""
        return (await self._asked(0, 0)).limit

    def lacks(self, amount: Amount, closing: bool, *, counting_reserved: bool) -> int:
        if amount[USD] == 0:
            return -1
        if not counting_reserved:
            empty = time.monotonic() < self._empty_until and amount[USD] > self._most
            return USD if empty else -1
        return super().lacks(amount, closing, counting_reserved=True)

    def lacking(self, amount: Amount) -> None:
        self._wanted = max(self._wanted, amount[USD])
        if self._drawing is None:
            self._drawing = asyncio.get_running_loop().create_task(self._draw(), name="podium-owner-budget")

    def exhausted(self, kind: int, amount: Amount, closing: bool) -> BudgetExhaustedError:
        spent = self._total - self._most
        return BudgetExhaustedError("usd", OWNER, self._total / NANO, spent / NANO, amount[USD] / NANO)

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
        """Request once; return `True` if queued reservations should be checked again."""
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
        self._changed()  # calls that still wait request again, and some need less than the largest
        return False

    async def _asked(self, need: int, want: int) -> Drawn:
        """Request money. During the request no money is free, because it also returns what is unused."""
        async with self._turn:  # the last state sent to the store must be the one in effect here
            spent, reserved = self.spent[USD], self.reserved[USD]
            self.limit = only_usd(spent + reserved)
            drawn = await self._limits.draw(self._lease, spent, reserved, need, want)
            self.limit = only_usd(spent + reserved + drawn.granted)
            return drawn

    # ── returning unused money ──

    def _watch(self) -> None:
        if self._idle is None:
            self._idle = asyncio.get_running_loop().create_task(
                self._give_back(), name="podium-owner-budget-idle"
            )

    async def _give_back(self) -> None:
        """Return unused money when the run makes no calls for `IDLE_S` seconds."""
        while True:
            before = (self.spent[USD], self.reserved[USD])
            await asyncio.sleep(IDLE_S)
            idle = before == (self.spent[USD], self.reserved[USD]) and self._drawing is None
            if idle and (self.limit[USD] or 0) > self.spent[USD] + self.reserved[USD]:
                self._part = 0
                with suppress(StoreError):  # the money counts as spent until the run is released
                    await self._asked(0, 0)
                    self._changed()

    async def stop(self) -> None:
        """Stop requesting and returning money."""
        tasks = [task for task in (self._drawing, self._idle) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_STOP_S)

    def settle(self) -> None:
        """Record the final spending with the last events of the run."""
        self._limits.settle(self._lease, self.spent[USD])
