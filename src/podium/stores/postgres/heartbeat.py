"""Driver heartbeats, run slots of owners, and sweep claims.

A process that drives runs has one row, which it updates every few seconds. One that has not done so for
longer than its lease counts as dead; on the same machine its death is detected at once.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg

from podium.engine.log import this_process
from podium.stores.postgres.connection import Db, connect

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


def is_gone(host: str, pid: int, began: str) -> bool:
    """Return whether a process of this machine no longer exists."""
    return host == _machine() and bool(began) and _began(pid) != began


class Presence:
    """Heartbeat of this process as a driver. It has a connection of its own, so that it never waits behind
    readers or writers."""

    def __init__(self, url: str, lease_s: float, look: Callable[[Db], Awaitable[None]]) -> None:
        self.name = f"{os.getpid()}-{os.urandom(6).hex()}"
        """The mark on the runs of this process."""
        self._url = url
        self._lease_s = lease_s
        self._look = look
        self._db: Db | None = None
        self._beating: asyncio.Task[None] | None = None

    def join(self) -> bool:
        """Start the heartbeat. Returns `True` the first time: then run `enter` in the next transaction, so
        that no run has the mark of an unknown process."""
        if self._beating is not None:
            return False
        self._beating = asyncio.create_task(self._keep_beating(), name="podium-presence")
        return True

    async def enter(self, db: Db) -> None:
        """Insert the row of this process, and remove rows that long-dead processes left."""
        await db.execute(_JOIN, self._row())
        await db.execute(_CLEAR)
        await db.execute("DELETE FROM receipt WHERE at < now() - interval '1 day'")

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
                    await self._look(db)
            except (psycopg.Error, OSError, TimeoutError):  # an unreachable database is retried
                await self._hang_up()

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


async def claim_sweep(db: Db, seconds: float) -> bool:
    """Return whether this process does the sweep this time."""
    sql = "UPDATE sweep SET at = now() WHERE at < now() - make_interval(secs => %s) RETURNING at"
    return bool(await (await db.execute(sql, (seconds,))).fetchall())


async def set_limit(db: Db, owner: str, max_runs: int) -> None:
    sql = "INSERT INTO owner_limit VALUES (%s, %s) ON CONFLICT (owner) DO UPDATE SET max_runs = %s"
    await db.execute(sql, (owner, max_runs, max_runs))


async def take_place(db: Db, run_id: str, owner: str, driver: str) -> bool:
    """Take a run slot of an owner; return False if none is free. Requests of one owner are serialized, so
    that two cannot take the last slot."""
    found = await (await db.execute("SELECT max_runs FROM owner_limit WHERE owner = %s", (owner,))).fetchone()
    if found is None:
        return True
    await db.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7))", (f"podium place {owner}",))
    sql = f"SELECT count(*) FROM ({_TAKEN} AND p.owner = %s AND p.run_id <> %s) AS t"
    taken = await (await db.execute(sql.encode(), (owner, run_id))).fetchone()
    if taken is not None and taken[0] >= found[0]:
        return False
    sql = "INSERT INTO place VALUES (%s, %s, %s) ON CONFLICT (run_id) DO UPDATE SET driver = excluded.driver"
    await db.execute(sql, (run_id, owner, driver))
    return True


async def leave_place(db: Db, run_id: str, driver: str) -> None:
    await db.execute("DELETE FROM place WHERE run_id = %s AND driver = %s", (run_id, driver))
