"""The tables of Procrastinate, and those of ours that stand beside them."""

from __future__ import annotations

from pathlib import Path

import psycopg
from procrastinate.schema import SchemaManager

from podium.errors import StoreError
from podium.stores.address import shown
from podium.stores.postgres.database import Db, connect
from podium.stores.postgres.failures import check_address, explain

MIGRATING = 0x506F6463
"""The lock that one process holds while it makes or changes the tables."""

_OURS = """
CREATE TABLE podium_engine (migration TEXT NOT NULL);
CREATE TABLE podium_schedule (
    name        TEXT COLLATE "C" PRIMARY KEY,
    cron        TEXT NOT NULL,
    workflow    TEXT NOT NULL,
    start       TEXT NOT NULL, -- JSON
    created_at  DOUBLE PRECISION NOT NULL
);
-- Which job carries a run; also asked for each job that is fetched, among all that wait.
CREATE INDEX podium_jobs_by_lock ON procrastinate_jobs (lock) WHERE status IN ('todo', 'doing');
"""


async def ensure_schema(url: str) -> None:
    """Make the tables, or bring them to the installed version of Procrastinate."""
    check_address(url)
    scripts = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))  # noqa: ASYNC240 - once
    newest = scripts[-1].name
    try:
        async with await connect(url) as db:
            if await _version(db) == newest:
                return
            async with db.transaction():
                await db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
                await _bring(db, await _version(db), scripts, shown(url))
    except psycopg.Error as error:
        raise explain(error, shown(url)) from error


async def _bring(db: Db, version: str, scripts: list[Path], where: str) -> None:
    newest = scripts[-1].name
    if version > newest:
        raise StoreError(
            f"The queue in {where} was made by a newer Procrastinate (its schema: {version}).",
            hint="Upgrade with: pip install --upgrade 'podium[cluster]'.",
        )
    if not version:
        await db.execute(SchemaManager.get_schema().encode())
        await db.execute(_OURS.encode())
        await db.execute("INSERT INTO podium_engine VALUES (%s)", (newest,))
    for script in scripts:
        if version and script.name > version:
            await db.execute(script.read_bytes())
    await db.execute("UPDATE podium_engine SET migration = %s", (newest,))


async def _version(db: Db) -> str:
    """The last script that was applied; empty where there are no tables. The catalogue is read, because for
    a name alone PostgreSQL would repeat what it knew before it waited for the lock."""
    sql = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'podium_engine'"
    if not await (await db.execute(sql)).fetchall():
        return ""
    row = await (await db.execute("SELECT migration FROM podium_engine")).fetchone()
    return str(row[0]) if row else ""
