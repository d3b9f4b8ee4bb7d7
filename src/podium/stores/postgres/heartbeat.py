"""Driver heartbeats, owner run slots, sweep claims.

A process that drives runs has one row, which says every few seconds that it is alive. One that has not said
so for longer than its lease is taken for dead; on the same machine it is known at once.
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
"""How often in the length of its lease a process says that it is there."""
LEAVE_S = 2.0

FRESH = "greatest(d.seen, pg_postmaster_start_time()) > clock_timestamp() - make_interval(secs => d.lease_s)"
"""Whether driver `d` may be alive. A database that was away for a while gives everybody time to report."""

_JOIN = (
    "INSERT INTO driver (name, who, host, pid, began, lease_s) VALUES (%s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (name) DO UPDATE SET seen = clock_timestamp()"
)
_CLEAR = "DELETE FROM driver WHERE seen < clock_timestamp() - make_interval(secs => lease_s * 10 + 60)"


def is_gone(host: str, pid: int, began: str) -> bool:
    """A process of this machine that is not there any more."""
    return host == _machine() and bool(began) and _began(pid) != began


class Presence:
    """This process as one that drives runs. It has a connection of its own: to be heard in time it must not
    wait behind those who read or write."""

    def __init__(self, url: str, lease_s: float, look: Callable[[Db], Awaitable[None]]) -> None:
        self.name = f"{os.getpid()}-{os.urandom(6).hex()}"
        """What runs are marked with."""
        self._url = url
        self._lease_s = lease_s
        self._look = look
        self._db: Db | None = None
        self._beating: asyncio.Task[None] | None = None

    def join(self) -> bool:
        """Be there, from now on. `True` the first time: then `enter` belongs into the next transaction, so
        that no run bears the mark of a process that nobody knows."""
        if self._beating is not None:
            return False
        self._beating = asyncio.create_task(self._keep_beating(), name="podium-presence")
        return True

    async def enter(self, db: Db) -> None:
        """Say that this process is there; what processes that died long ago have left is cleared away."""
        await db.execute(_JOIN, self._row())
        await db.execute(_CLEAR)
        await db.execute("DELETE FROM receipt WHERE at < now() - interval '1 day'")

    async def leave(self) -> None:
        """Drive nothing any more."""
        if self._beating is None:
            return
        self._beating.cancel()
        await asyncio.wait([self._beating])
        self._beating = None
        try:
            # a row that cannot be removed now is taken for dead soon
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
        """Say it again and again, and look whether the runs are still ours."""
        while True:
            await asyncio.sleep(self._lease_s / BEATS)
            try:
                async with asyncio.timeout(self._lease_s):
                    db = await self._connection()
                    await db.execute(_JOIN, self._row())
                    await self._look(db)
            except (psycopg.Error, OSError, TimeoutError):  # a database that is away is tried again
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
    """The name of this machine and of its boot: a container may have the name of another one."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot = space = ""
    return f"{socket.gethostname()} {boot} {space}"


def _began(pid: int) -> str:
    """When a process began, in the kernel's own count; empty where that cannot be told."""
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
"""Numbers of runs that want to be driven and that nobody drives; of each limited owner so many as there is
room for, the oldest."""

COUNT = (
    "SELECT count(*) FILTER (WHERE status = 'running'), count(*) FILTER (WHERE status = 'queued') FROM run "
    "WHERE status IN ('queued', 'running', 'waiting', 'paused') AND (%s::text IS NULL OR owner = %s)"
)


async def claim_sweep(db: Db, seconds: float) -> bool:
    """Whether it is this process that looks this time."""
    sql = "UPDATE sweep SET at = now() WHERE at < now() - make_interval(secs => %s) RETURNING at"
    return bool(await (await db.execute(sql, (seconds,))).fetchall())


async def set_limit(db: Db, owner: str, max_runs: int) -> None:
    sql = "INSERT INTO owner_limit VALUES (%s, %s) ON CONFLICT (owner) DO UPDATE SET max_runs = %s"
    await db.execute(sql, (owner, max_runs, max_runs))


async def take_place(db: Db, run_id: str, owner: str, driver: str) -> bool:
    """One after the other for each owner, so that two who ask at once do not both get the last place."""
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
