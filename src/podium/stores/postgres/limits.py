"""Limits shared by all processes, in SQL. See `podium.engine.owner_budget`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from podium.engine.owner_budget import Account, Drawn
from podium.errors import FencedError
from podium.stores.batch import HeldLease, WriteCall
from podium.stores.postgres.connection import Db
from podium.stores.postgres.heartbeat import FRESH
from podium.stores.postgres.reader import PostgresReader
from podium.stores.rows import nano_column, usd_column

NANO = 1_000_000_000
_SMALLER = 8
"""A run is lent at most this fraction (1/8) of the free amount: the less is free, the smaller the parts."""

_LEND = (
    "INSERT INTO pace AS p (name, taken) "
    "VALUES (%(name)s, clock_timestamp() + make_interval(secs => greatest(%(span)s, 0.0) - %(burst)s)) "
    "ON CONFLICT (name) DO UPDATE SET taken = make_interval(secs => greatest(%(span)s, 0.0)) "
    "+ greatest(p.taken + make_interval(secs => least(%(span)s, 0.0)), "
    "clock_timestamp() - make_interval(secs => %(burst)s)) "
    "RETURNING extract(epoch FROM taken - clock_timestamp())::float8 - greatest(%(span)s, 0.0)"
)
_HOLD = (
    "INSERT INTO pace AS p (name, taken) VALUES (%(name)s, clock_timestamp() + make_interval(secs => %(s)s)) "
    "ON CONFLICT (name) DO UPDATE SET taken = greatest(p.taken, excluded.taken)"
)
_SET = (
    "INSERT INTO account AS a (owner, usd, settled) SELECT %(owner)s, %(usd)s, "
    "round(least(coalesce(sum(greatest(least(usd, 1e15), 0)), 0) * 1e9, 9e18::float8))::bigint "
    "FROM run WHERE owner = %(owner)s "
    "ON CONFLICT (owner) DO UPDATE SET usd = excluded.usd "
    "RETURNING usd, least(settled + "
    "(SELECT coalesce(sum(lent), 0) FROM drawing WHERE owner = a.owner), 9e18)::bigint"
)
_LOCK = "SELECT owner FROM account WHERE owner = (SELECT owner FROM run WHERE "
_MINE = (
    "SELECT r.owner, coalesce(d.base, %(spent)s) FROM run AS r LEFT JOIN drawing AS d ON d.run = r.number "
    "WHERE r.number = %(run)s AND r.epoch = %(epoch)s"
)
_FOLD = (
    "WITH gone AS (DELETE FROM drawing WHERE owner = %(owner)s AND closed AND run <> %(run)s RETURNING lent) "
    "UPDATE account SET settled = "
    "least(settled + (SELECT coalesce(sum(lent), 0) FROM gone), 9e18)::bigint "
    "WHERE owner = %(owner)s AND EXISTS (SELECT 1 FROM gone)"
)
_OTHERS = (
    f"SELECT a.usd, a.settled, least(coalesce(sum(w.lent), 0), 9e18)::bigint, "
    f"least(coalesce(sum(CASE WHEN {FRESH} THEN w.spent ELSE w.lent END), 0), 9e18)::bigint "
    "FROM account AS a "
    "LEFT JOIN drawing AS w ON w.owner = a.owner AND w.run <> %(run)s LEFT JOIN run AS r ON r.number = w.run "
    "LEFT JOIN driver AS d ON d.name = r.driver WHERE a.owner = %(owner)s GROUP BY a.usd, a.settled"
)
_DRAW = (
    "INSERT INTO drawing (run, owner, base, lent, spent) "
    "VALUES (%(run)s, %(owner)s, %(base)s, %(lent)s, %(told)s) "
    "ON CONFLICT (run) DO UPDATE SET lent = excluded.lent, spent = excluded.spent, closed = false"
)
_SETTLE = (
    "UPDATE drawing SET lent = %(spent)s - base, spent = %(spent)s - base, closed = true "
    "FROM run WHERE run.number = drawing.run AND run.number = %(run)s AND run.epoch = %(epoch)s"
)


class PostgresLimits:
    """Shared limits. Each operation is a small transaction that locks one row of one owner, so none can
    deadlock."""

    def __init__(self, reader: PostgresReader, do: Callable[[WriteCall], None]) -> None:
        self._reader = reader
        self._do = do
        """Queues a call for the writer's next transaction."""

    async def lend_pace(self, name: str, span_s: float, burst_s: float) -> float:
        given = {"name": name, "span": float(span_s), "burst": float(burst_s)}
        return (await self._reader.all(_LEND, given))[0][0]

    async def hold_pace(self, name: str, seconds: float) -> None:
        await self._reader.ask(lambda db: db.execute(_HOLD, {"name": name, "s": float(seconds)}))

    async def set_account(self, owner: str, usd: float | None) -> Account:
        if usd is None:
            sql = "UPDATE account SET usd = NULL WHERE owner = %s"
            await self._reader.ask(lambda db: db.execute(sql, (owner,)))
            return Account()
        ((most, taken),) = await self._reader.all(
            _SET, {"owner": owner, "usd": nano_column(round(usd_column(usd) * NANO))}
        )
        return Account(usd=most / NANO, taken_usd=taken / NANO)

    async def draw(self, lease: Any, spent: int, held: int, need: int, want: int) -> Drawn:
        held_lease: HeldLease = lease
        return await self._reader.ask(lambda db: _draw(db, held_lease, spent, held, need, want))

    def settle(self, lease: Any, spent: int) -> None:
        held_lease: HeldLease = lease
        number, epoch = held_lease.key
        given = {"run": number, "epoch": epoch, "spent": nano_column(spent)}
        future = asyncio.get_running_loop().create_future()
        future.add_done_callback(_looked_at)  # an amount that is not settled counts as spent
        self._do(WriteCall(future, lambda db: db.execute(_SETTLE, given)))


async def _draw(db: Db, lease: HeldLease, spent: int, held: int, need: int, want: int) -> Drawn:
    number, epoch = lease.key
    given: dict[str, Any] = {"run": number, "epoch": epoch, "spent": nano_column(spent)}
    async with db.transaction():
        await db.execute(_LOCK + "number = %(run)s) FOR UPDATE", given)
        mine = await (await db.execute(_MINE, given)).fetchone()
        if mine is None:
            raise FencedError(lease.run_id)
        given["owner"], given["base"] = mine
        await db.execute(_FOLD, given)
        found = await (await db.execute(_OTHERS, given)).fetchone()
        if found is None or found[0] is None:
            return Drawn(want, want, None)
        limit, settled, lent, told = found
        own = spent - given["base"]
        free = limit - settled - lent - own - held
        granted = max(need, min(want, free // _SMALLER)) if free >= need else 0
        await db.execute(
            _DRAW, {**given, "lent": nano_column(own + held + granted), "told": nano_column(own)}
        )
        return Drawn(granted, limit - settled - told - own, limit)


def _looked_at(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
