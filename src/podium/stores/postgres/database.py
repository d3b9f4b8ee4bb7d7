"""Connections with the right settings, and numbered migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection

from podium.errors import StoreError
from podium.stores.postgres.failures import explain, shown

SCHEMA = Path(__file__).parent.parent / "schema"
CONNECT_S = 10
_MIGRATING = 0x506F6469
"""The lock that one process holds while it makes or changes the tables."""

Db = AsyncConnection[tuple[Any, ...]]


async def connect(url: str) -> Db:
    """A connection on which every statement is a transaction, unless one was begun."""
    db = await AsyncConnection.connect(url, autocommit=True, **_OPTIONS)
    await db.execute("SET synchronous_commit = on")
    return db


def connect_here(url: str) -> Connection[tuple[Any, ...]]:
    """A connection that is waited for on the spot: for the rare question that cannot be awaited."""
    return Connection.connect(url, autocommit=True, **_OPTIONS)


_OPTIONS: dict[str, Any] = {
    "connect_timeout": CONNECT_S,
    "application_name": "podium",
    "keepalives_idle": 10,
    "keepalives_interval": 3,
    "keepalives_count": 3,
    "prepare_threshold": 2,
}


async def open_database(url: str, schema: Path = SCHEMA) -> Db:
    """The first connection to a store: makes or migrates it where that is needed."""
    where = shown(url)
    try:
        db = await connect(url)
    except (psycopg.Error, OSError) as error:
        raise explain(error, where) from error
    try:
        await migrate(db, where, schema)
    except BaseException as error:
        await db.close()
        if isinstance(error, psycopg.Error):
            raise explain(error, where) from error
        raise
    return db


async def migrate(db: Db, where: str, schema: Path = SCHEMA) -> int:
    """Bring the tables to this version; tells how many steps that took."""
    scripts = sorted(schema.glob("postgres_*.sql"))  # noqa: ASYNC240 - a few small files, once
    version = await _version(db)
    if version == len(scripts):
        return 0
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
        version = await _version(db)  # another process may have been quicker
        if version > len(scripts):
            raise StoreError(
                f"The store {where} was written by a newer Podium (schema {version}; known: {len(scripts)}).",
                hint="Upgrade Podium, or name another store.",
            )
        if version == 0:
            await db.execute("CREATE TABLE podium_schema (version INTEGER NOT NULL)")
            await db.execute("INSERT INTO podium_schema VALUES (0)")
        for script in scripts[version:]:
            await db.execute(script.read_bytes())
        await db.execute("UPDATE podium_schema SET version = %s", (len(scripts),))
    return len(scripts) - version


async def _version(db: Db) -> int:
    sql = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = %s)"
    found = await (await db.execute(sql, ("podium_schema",))).fetchone()
    if not found or not found[0]:
        return 0
    row = await (await db.execute("SELECT version FROM podium_schema")).fetchone()
    return int(row[0]) if row else 0
