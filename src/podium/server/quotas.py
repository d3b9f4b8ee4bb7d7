"""User quotas: spending in total, this month and today, the amount reserved by unfinished runs, and the
budget of the next run.

Each run stays below its own budget. So a user stays below their limits if no run is accepted whose budget
exceeds what is left. Checking and accepting happen under one lock per user: of two concurrent requests, the
second sees what the first was given. On a store that several machines share, the user's account in the store
enforces the limit instead (`podium.engine.owner_budget`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Literal, NamedTuple

from podium.engine.budget import Budget
from podium.engine.log import RunRow, Store
from podium.engine.state import RunState
from podium.server.problems import RefusedError
from podium.server.users import User

Period = Literal["total", "month", "day"]
UNFINISHED = ("queued", "running", "waiting", "paused")
LIST = 200
_CENT = 1e-9
"""Tolerance in US dollars: sums of floats are not exact."""


class Allowance(NamedTuple):
    """One limit of a user and the spending against it."""

    period: Period
    """Months and days are in UTC."""
    limit: float
    spent: float
    renewed: datetime | None
    """Start of the next period; None for the total."""

    def left(self, reserved: float) -> float:
        return max(0.0, self.limit - self.spent - reserved)


class Money(NamedTuple):
    """A user's spending and limits, in US dollars."""

    spent: float
    """Spending of all runs, ever."""
    reserved: float
    """Amount that unfinished runs may still spend."""
    allowances: list[Allowance]


class UserQuotas:
    """Spending and limits of all users of a server."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._turns: dict[str, asyncio.Lock] = {}
        self._before: dict[tuple[str, int], float] = {}
        """Spending of a run before a period began, by run id and start of the period in microseconds. It
        never changes, so it is cached."""

    @asynccontextmanager
    async def turn(self, user: User | None) -> AsyncGenerator[None]:
        """Hold the user's lock: no other request is granted money of this user meanwhile. No lock without
        limits."""
        if user is None or not has_limits(user):
            yield
            return
        async with self._turns.setdefault(user.name, asyncio.Lock()):
            yield

    async def money(self, owner: str, user: User | None, now: datetime | None = None) -> Money:
        spent = sum(total.usage.usd for total in await self._store.run_totals(owner))
        reserved = sum([rest(row) for row in await self._unfinished(owner)])
        allowances: list[Allowance] = []
        now = now or datetime.now(UTC)
        day = now.replace(hour=0, minute=0, second=0, microsecond=0)
        month = day.replace(day=1)
        if user is not None and user.budget_usd is not None:
            allowances.append(Allowance("total", user.budget_usd, spent, None))
        if user is not None and user.usd_per_month is not None:
            renewed = (month + timedelta(days=32)).replace(day=1)
            allowances.append(
                Allowance("month", user.usd_per_month, await self._since(owner, month), renewed)
            )
        if user is not None and user.usd_per_day is not None:
            renewed = day + timedelta(days=1)
            allowances.append(Allowance("day", user.usd_per_day, await self._since(owner, day), renewed))
        return Money(spent, reserved, allowances)

    async def ceiling(self, user: User | None, asked: Budget, row: RunRow | None = None) -> Budget:
        """Return the budget that a run gets, never more than is left.

        `row` is a run that is resumed; what it has spent is part of its new total. Call it within the user's
        `turn`. Raises `RefusedError` (422) if too little is left.
        """
        if user is None or not has_limits(user):
            await self._write_limit(user, None)
            return asked
        money = await self.money(user.name, user)
        own = row.usage.usd if row else 0.0
        reserved_before = rest(row) if row is not None and row.status in UNFINISHED else 0.0
        shared = await self._write_limit(user, money)
        reserved = 0.0 if shared else money.reserved - reserved_before
        tightest = min(money.allowances, key=lambda allowance: allowance.left(reserved))
        rest_usd = tightest.left(reserved)
        smallest = min(allowance.limit for allowance in money.allowances)
        usual = min(rest_usd, user.run_usd if user.run_usd is not None else smallest / 10)
        wanted = asked.usd if asked.usd is not None else own + usual
        if wanted - own > rest_usd + _CENT or rest_usd <= 0:
            raise _refused(tightest, rest_usd, wanted - own)
        return asked.merged(Budget(usd=wanted))

    async def _write_limit(self, user: User | None, money: Money | None) -> bool:
        """Write the user's limit to their account in a store that several machines share. Returns whether the
        store has accounts.

        All runs of the user draw on this account. It enforces the limit whatever the runs' budgets add up to,
        so nothing has to be reserved for them.
        """
        limits = self._store.limits
        if limits is None or user is None:
            return False
        most = (
            None
            if money is None
            else money.spent + min(allowance.left(0.0) for allowance in money.allowances)
        )
        await limits.set_account(user.name, most)
        return True

    async def _unfinished(self, owner: str) -> list[RunRow]:
        unfinished: list[RunRow] = []
        while True:
            before = unfinished[-1].run_id if unfinished else ""
            rows = await self._store.list_runs(status=UNFINISHED, owner=owner, limit=LIST, before=before)
            unfinished += rows
            if len(rows) < LIST:
                return unfinished

    async def _since(self, owner: str, moment: datetime) -> float:
        """Return the spending of a user's runs since a moment. For a run that started earlier, only its
        spending after the moment counts, computed from its log."""
        since_us = int(moment.timestamp()) * 1_000_000
        rows = await self._store.list_changed(since_us, owner=owner)
        earlier = [row for row in rows if row.created_us < since_us]
        return sum(row.usage.usd for row in rows) - sum([await self._had(row, since_us) for row in earlier])

    async def _had(self, row: RunRow, since_us: int) -> float:
        key = (row.run_id, since_us)
        if key not in self._before:
            self._before = {known: usd for known, usd in self._before.items() if known[1] >= since_us}
            rows = await self._store.read(row.run_id)
            earlier = (entry.to_event(row.run_id) for entry in rows if entry.time_us < since_us)
            self._before[key] = RunState.of(earlier).usage.usd
        return self._before[key]


def has_limits(user: User) -> bool:
    return (user.budget_usd, user.usd_per_month, user.usd_per_day) != (None, None, None)


def rest(row: RunRow) -> float:
    """Return the amount that a run may still spend, in US dollars."""
    return max(0.0, (row.budget.usd or 0.0) - row.usage.usd)


def _refused(tightest: Allowance, left: float, wanted: float) -> RefusedError:
    whose = {"total": "your budget", "month": "your budget for this month", "day": "your budget for today"}
    hint = "Ask for less, or let runs finish that hold money back."
    if tightest.renewed is not None:
        hint = f"Ask for less, or wait: it is renewed on {tightest.renewed:%Y-%m-%d} at 00:00 UTC."
    return RefusedError(
        422, f"${left:.2f} is left of {whose[tightest.period]}; this run asks for ${wanted:.2f}.", hint=hint
    )
