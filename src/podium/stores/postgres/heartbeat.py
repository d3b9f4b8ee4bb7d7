"""Driver heartbeats, run slots of owners, sweep claims, and the limits that all processes share.

A process that drives runs has one row, which it updates every few seconds. One that has not done so for
longer than its lease counts as dead; on the same machine its death is detected at once. For the limits see
`podium.engine.owner_budget`.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from podium.engine.log import this_process
from podium.engine.owner_budget import Account, Drawn
from podium.errors import FencedError
from podium.stores.batch import HeldLease
from podium.stores.commit_queue import CommitQueue, heard
from podium.stores.postgres.connection import Db, connect
from podium.stores.postgres.database import PostgresDatabase, PostgresQueries
from podium.stores.rows import nano_column, usd_column

BEATS = 5
"""Heartbeats per lease."""
LEAVE_S = 2.0

FRESH = "greatest(d.seen, pg_postmaster_start_time()) > clock_timestamp() - make_interval(secs => d.lease_s)"
"""Condition: driver `d` may be alive. After a restart of the database, every driver gets time to report."""

_JOIN = (
    "INSERT INTO driver (name, who, host, pid, began, lease_s) VALUES (%s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (name) DO UPDATE SET seen = clock_timestamp()"
)
_CLEAR = "DELETE FROM driver WHERE seen < clock_timestamp() - make_interval(secs => lease_s * 10 + 60)"


class DriverRows:
    """SQL for the rows of drivers, and the check whether one is alive; see `podium.stores.reader.Holders`."""

    driver_columns = f"d.who, d.host, d.pid, d.began, {FRESH}"
    driver_join = "LEFT JOIN driver AS d ON d.name = run.driver"

    def holder(self, who: str | None, host: str, pid: int, began: str, fresh: bool) -> str:
        if who is None or not fresh:
            return ""
        ended = host == _machine() and bool(began) and _began(pid) != began
        return "" if ended else who


class Heartbeat:
    """Heartbeat of this process as a driver; see `podium.stores.store.Drivers`. It has a connection of its
    own, so that it never waits behind readers or writers."""

    def __init__(self, url: str, lease_s: float, queue: CommitQueue, durable: dict[int, int]) -> None:
        self.name = f"{os.getpid()}-{os.urandom(6).hex()}"
        """The mark on the runs of this process."""
        self._url = url
        self._lease_s = lease_s
        self._queue = queue
        self._durable = durable
        """See `podium.stores.postgres.store.PostgresTails.durable`."""
        self._db: Db | None = None
        self._beating: asyncio.Task[None] | None = None

    def join(self) -> str:
        """Start the heartbeat on first use. The row of this process is inserted in the next transaction, so
        that no run has the mark of an unknown process."""
        if self._beating is None:
            self._beating = asyncio.create_task(self._keep_beating(), name="podium-heartbeat")
            # if it fails, the next heartbeat makes up for it
            self._queue.do(self._enter).add_done_callback(heard)
        return self.name

    def on_hold(self, lease: HeldLease) -> None:
        self._durable[lease.key[0]] = lease.last_seq

    def on_drop(self, lease: HeldLease) -> None:
        self._durable.pop(lease.key[0], None)

    async def _enter(self, db: PostgresDatabase) -> None:
        """Insert the row of this process, and remove rows that long-dead processes left."""
        await db.run(_JOIN, self._row())
        await db.run(_CLEAR)
        await db.run("DELETE FROM receipt WHERE at < now() - interval '1 day'")

    async def leave(self) -> None:
        """Stop the heartbeat and remove the row of this process."""
        if self._beating is None:
            return
        self._beating.cancel()
        await asyncio.wait([self._beating])
        self._beating = None
        try:
            # a row that cannot be removed now soon counts as dead
            with suppress(psycopg.Error, OSError, TimeoutError):
                async with asyncio.timeout(LEAVE_S):
                    await (await self._connection()).execute(
                        "DELETE FROM driver WHERE name = %s", (self.name,)
                    )
        finally:
            await self._hang_up()

    def _row(self) -> tuple[Any, ...]:
        pid = os.getpid()
        return (self.name, this_process(), _machine(), pid, _began(pid), self._lease_s)

    async def _keep_beating(self) -> None:
        """Send heartbeats, and check that the runs are still held."""
        while True:
            await asyncio.sleep(self._lease_s / BEATS)
            try:
                async with asyncio.timeout(self._lease_s):
                    db = await self._connection()
                    await db.execute(_JOIN, self._row())
                    await self._check_leases(db)
            except (psycopg.Error, OSError, TimeoutError):  # an unreachable database is retried
                await self._hang_up()

    async def _check_leases(self, db: Db) -> None:
        """Invalidate the leases of runs that another process has taken over, even if they have nothing to
        write."""
        keys = list(self._queue.leases)
        if keys:
            sql = "SELECT number, epoch FROM run WHERE number = ANY(%s::bigint[])"
            rows = await (await db.execute(sql, ([number for number, _ in keys],))).fetchall()
            epochs: dict[int, int] = dict(rows)
            self._queue.invalidate({key: None for key in keys if epochs.get(key[0]) != key[1]})

    async def _connection(self) -> Db:
        if self._db is None or self._db.closed:
            self._db = await connect(self._url)
        return self._db

    async def _hang_up(self) -> None:
        db, self._db = self._db, None
        if db is not None:
            await db.close()


def _machine() -> str:
    """Return an id of this machine, boot and PID namespace: containers may share a host name."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot = space = ""
    return f"{socket.gethostname()} {boot} {space}"


def _began(pid: int) -> str:
    """Return the start time of a process in kernel ticks; empty if unknown."""
    try:
        return (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()[19]
        )
    except (OSError, IndexError):
        return ""


_TAKEN = f"SELECT p.owner FROM place AS p JOIN driver AS d ON d.name = p.driver WHERE {FRESH}"

UNATTENDED = (
    "WITH taken AS (SELECT owner, count(*) AS runs FROM (" + _TAKEN + ") AS t GROUP BY owner), "
    "idle AS (SELECT number, row_number() OVER (PARTITION BY owner ORDER BY number) AS turn, owner FROM run "
    "LEFT JOIN driver AS d ON d.name = run.driver "
    "WHERE status IN ('queued', 'running', 'waiting', 'paused') AND (%s::text IS NULL OR owner = %s) "
    f"AND (d.name IS NULL OR NOT {FRESH}) "
    "AND (status IN ('queued', 'running') OR (status = 'paused' AND "
    "(stop_reason = %s OR starts_with(stop_reason, 'asleep until '))) OR (status = 'waiting' "
    "AND EXISTS (SELECT 1 FROM inbox WHERE inbox.run = run.number AND kind = 'answer')))), "
    "wanted AS (SELECT number FROM idle LEFT JOIN owner_limit USING (owner) LEFT JOIN taken USING (owner) "
    "WHERE (max_runs IS NULL OR turn <= max_runs - coalesce(taken.runs, 0)) "
    "AND number > coalesce((SELECT number FROM run WHERE run_id = %s), 0) ORDER BY number LIMIT %s) "
)
"""Numbers of runs that should be driven and have no driver, oldest first; for each limited owner only as many
as there are free slots."""

COUNT = (
    "SELECT count(*) FILTER (WHERE status = 'running'), count(*) FILTER (WHERE status = 'queued') FROM run "
    "WHERE status IN ('queued', 'running', 'waiting', 'paused') AND (%s::text IS NULL OR owner = %s)"
)


async def claim_sweep(db: PostgresDatabase, seconds: float) -> bool:
    """Return whether this process does the sweep this time."""
    sql = "UPDATE sweep SET at = now() WHERE at < now() - make_interval(secs => ?)"
    return (await db.run(sql, (seconds,))).rowcount > 0


async def set_limit(db: PostgresDatabase, owner: str, max_runs: int) -> None:
    sql = (
        "INSERT INTO owner_limit VALUES (?, ?) ON CONFLICT (owner) DO UPDATE SET max_runs = excluded.max_runs"
    )
    await db.run(sql, (owner, max_runs))


async def take_place(db: PostgresDatabase, run_id: str, owner: str, driver: str) -> bool:
    """Take a run slot of an owner; return False if none is free. Requests of one owner are serialized, so
    that two cannot take the last slot."""
    limits = await db.all("SELECT max_runs FROM owner_limit WHERE owner = ?", (owner,))
    if not limits:
        return True
    await db.run("SELECT pg_advisory_xact_lock(hashtextextended(?, 7))", (f"podium place {owner}",))
    sql = f"SELECT count(*) FROM ({_TAKEN} AND p.owner = ? AND p.run_id <> ?) AS t"
    ((taken,),) = await db.all(sql, (owner, run_id))
    if taken >= limits[0][0]:
        return False
    sql = "INSERT INTO place VALUES (?, ?, ?) ON CONFLICT (run_id) DO UPDATE SET driver = excluded.driver"
    await db.run(sql, (run_id, owner, driver))
    return True


async def leave_place(db: PostgresDatabase, run_id: str, driver: str) -> None:
    await db.run("DELETE FROM place WHERE run_id = ? AND driver = ?", (run_id, driver))


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
    "VALUES (%(run)s, %(owner)s, %(base)s, %(lent)s, %(own)s) "
    "ON CONFLICT (run) DO UPDATE SET lent = excluded.lent, spent = excluded.spent, closed = false"
)
_SETTLE = (
    "UPDATE drawing SET lent = %(spent)s - base, spent = %(spent)s - base, closed = true "
    "FROM run WHERE run.number = drawing.run AND run.number = %(run)s AND run.epoch = %(epoch)s"
)


class PostgresLimits:
    """Shared limits. Each operation is a small transaction that locks one row of one owner, so none can
    deadlock."""

    def __init__(self, queries: PostgresQueries, queue: CommitQueue) -> None:
        self._queries = queries
        self._queue = queue

    async def lend_pace(self, name: str, span_s: float, burst_s: float) -> float:
        parameters = {"name": name, "span": float(span_s), "burst": float(burst_s)}
        return (await self._queries.all(_LEND, parameters))[0][0]

    async def hold_pace(self, name: str, seconds: float) -> None:
        await self._queries.ask(lambda db: db.execute(_HOLD, {"name": name, "s": float(seconds)}))

    async def set_account(self, owner: str, usd: float | None) -> Account:
        if usd is None:
            sql = "UPDATE account SET usd = NULL WHERE owner = %s"
            await self._queries.ask(lambda db: db.execute(sql, (owner,)))
            return Account()
        ((most, taken),) = await self._queries.all(
            _SET, {"owner": owner, "usd": nano_column(round(usd_column(usd) * NANO))}
        )
        return Account(usd=most / NANO, taken_usd=taken / NANO)

    async def draw(self, lease: Any, spent: int, held: int, need: int, want: int) -> Drawn:
        return await self._queries.ask(lambda db: _draw(db, lease, spent, held, need, want))

    def settle(self, lease: Any, spent: int) -> None:
        number, epoch = lease.key
        parameters = {"run": number, "epoch": epoch, "spent": nano_column(spent)}

        async def settle(db: PostgresDatabase) -> None:
            await db.connection.execute(_SETTLE, parameters)

        self._queue.do(settle).add_done_callback(heard)  # an amount that is not settled counts as spent


async def _draw(db: Db, lease: HeldLease, spent: int, held: int, need: int, want: int) -> Drawn:
    number, epoch = lease.key
    parameters: dict[str, Any] = {"run": number, "epoch": epoch, "spent": nano_column(spent)}
    async with db.transaction():
        await db.execute(_LOCK + "number = %(run)s) FOR UPDATE", parameters)
        mine = await (await db.execute(_MINE, parameters)).fetchone()
        if mine is None:
            raise FencedError(lease.run_id)
        parameters["owner"], parameters["base"] = mine
        await db.execute(_FOLD, parameters)
        account = await (await db.execute(_OTHERS, parameters)).fetchone()
        if account is None or account[0] is None:
            return Drawn(want, want, None)
        limit, settled, lent, spent_by_others = account
        own = spent - parameters["base"]
        free = limit - settled - lent - own - held
        granted = max(need, min(want, free // _SMALLER)) if free >= need else 0
        await db.execute(
            _DRAW, {**parameters, "lent": nano_column(own + held + granted), "own": nano_column(own)}
        )
        return Drawn(granted, limit - settled - spent_by_others - own, limit)
