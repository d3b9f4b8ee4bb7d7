"""Connections with the right settings, and numbered migrations."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap
from psycopg.types.string import StrBinaryDumper, StrDumper

from podium.errors import StoreError
from podium.stores.address import shown, take_lease
from podium.stores.postgres.arrays import register
from podium.stores.postgres.failures import check_address, explain

SCHEMA = Path(__file__).parent.parent / "schema"
CONNECT_S = 10
_CUT_OFF_S = 1.0
_MIGRATING = 0x506F6469
"""The lock that one process holds while it makes or changes the tables."""

Db = AsyncConnection[tuple[Any, ...]]


async def connect(url: str) -> Db:
    """A connection on which every statement is a transaction, unless one was begun."""
    db = await _connected(asyncio.ensure_future(AsyncConnection.connect(url, **options())))
    register(db.adapters)
    try:
        await db.execute(_SETTINGS)
    except BaseException:
        await db.close()
        raise
    return db


async def _connected(connecting: asyncio.Future[Db]) -> Db:
    """A connection whose making is cut off would stay open at the server until some garbage is collected: it
    gets a moment to be made, and is closed."""
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        await asyncio.wait([connecting], timeout=_CUT_OFF_S)
        if connecting.done() and connecting.exception() is None:
            await connecting.result().close()
        connecting.cancel()
        raise


def connect_here(url: str) -> Connection[tuple[Any, ...]]:
    """A connection that is waited for on the spot: for the rare question that cannot be awaited."""
    db = Connection.connect(url, **options())
    _accept_any_text(db.adapters)
    return db


async def configure(db: Db) -> None:
    """Make a connection one for questions: whatever text they ask for, it is only not found."""
    _accept_any_text(db.adapters)


def _accept_any_text(adapters: AdaptersMap) -> None:
    adapters.register_dumper(str, _AnyText)
    adapters.register_dumper(str, _AnyBinaryText)


class _AnyText(StrDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(_storable(obj))


class _AnyBinaryText(StrBinaryDumper):
    def dump(self, obj: str) -> Buffer | None:
        return super().dump(_storable(obj))


def _storable(text: str) -> str:
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def options() -> dict[str, Any]:
    """How every connection is made."""
    return {"autocommit": True, **_OPTIONS}


_SETTINGS = (
    "SELECT set_config('default_transaction_isolation', 'read committed', false), "
    "CASE current_setting('synchronous_commit') WHEN 'off' "
    "THEN set_config('synchronous_commit', 'on', false) END"
)
"""What a durable log needs, whatever the database is set to."""

_OPTIONS: dict[str, Any] = {
    "connect_timeout": CONNECT_S,
    "tcp_user_timeout": 20_000,
    "client_encoding": "utf8",
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


async def read_version(url: str) -> int:
    """The schema of the store at `url`; 0 where there is none."""
    address, _ = take_lease(url)
    check_address(address)
    try:
        async with await connect(address) as db:
            return await _version(db)
    except (psycopg.Error, OSError) as error:
        raise explain(error, shown(address)) from error


async def migrate(db: Db, where: str, schema: Path = SCHEMA) -> int:
    """Bring the tables to this version; tells how many steps that took."""
    scripts = sorted(schema.glob("postgres_*.sql"))  # noqa: ASYNC240 - a few small files, once
    version = await _version(db)
    if version == len(scripts):
        return 0
    await _check_encoding(db, where)
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


async def _check_encoding(db: Db, where: str) -> None:
    row = await (await db.execute("SHOW server_encoding")).fetchone()
    if row and row[0] != "UTF8":
        raise StoreError(
            f"The database {where} keeps text as {row[0]}, which cannot hold every character.",
            hint="Make one with: CREATE DATABASE podium ENCODING 'UTF8' TEMPLATE template0.",
        )


async def _version(db: Db) -> int:
    sql = "SELECT EXISTS (SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = %s)"
    found = await (await db.execute(sql, ("podium_schema",))).fetchone()
    if not found or not found[0]:
        return 0
    row = await (await db.execute("SELECT version FROM podium_schema")).fetchone()
    return int(row[0]) if row else 0
