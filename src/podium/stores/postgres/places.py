"""Work for a fleet: which runs nobody drives, and whether their owners have room for another."""

from __future__ import annotations

from podium.stores.postgres.database import Db
from podium.stores.postgres.presence import FRESH

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
