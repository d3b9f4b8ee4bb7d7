"""Connections, migrations, binary arrays, reconnect timeout and error messages."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from struct import Struct, pack
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection, Error, InterfaceError, OperationalError
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import DiskFull, InsufficientPrivilege, UndefinedTable
from psycopg.pq import Format
from psycopg.types.string import StrBinaryDumper, StrDumper

from podium.errors import StoreAwayError, StoreError, StoreFullError, UsageError
from podium.stores import shown, take_lease

_HEAD = Struct(">iiIii")
"""Header of a binary array: dimensions, has-NULLs flag, element type, length, lower bound."""
_BIGINT, _TEXT, _BYTEA = 20, 25, 17
_length: Callable[[int], bytes] = Struct(">i").pack


class Numbers(list[int]):
    """A `bigint[]` parameter."""


class Texts(list[str]):
    """A `text[]` parameter, without NUL characters."""


class Values(list[bytes]):
    """A `bytea[]` parameter."""


class _NumbersDumper(Dumper):
    format = Format.BINARY
    oid = 1016

    def dump(self, obj: Numbers) -> bytes:
        flat = [8] * (2 * len(obj))
        flat[1::2] = obj
        return _head(_BIGINT, len(obj)) + pack(f">{'iq' * len(obj)}", *flat)


class _TextsDumper(Dumper):
    format = Format.BINARY
    oid = 1009

    def dump(self, obj: Texts) -> bytes:
        return _joined(_TEXT, [text.encode() for text in obj])


class _ValuesDumper(Dumper):
    format = Format.BINARY
    oid = 1001

    def dump(self, obj: Values) -> bytes:
        return _joined(_BYTEA, obj)


def register(adapters: AdaptersMap) -> None:
    """Register the dumpers for these array types on a connection."""
    adapters.register_dumper(Numbers, _NumbersDumper)
    adapters.register_dumper(Texts, _TextsDumper)
    adapters.register_dumper(Values, _ValuesDumper)


def _head(element: int, size: int) -> bytes:
    return _HEAD.pack(1, 0, element, size, 1) if size else _HEAD.pack(0, 0, element, 0, 0)[:12]


def _joined(element: int, values: Iterable[bytes]) -> bytes:
    items = list(values)
    flat = [b""] * (2 * len(items))
    flat[::2] = [_length(len(value)) for value in items]
    flat[1::2] = items
    return _head(element, len(items)) + b"".join(flat)


_TOO_MANY_CONNECTIONS = "53300"
_REFUSAL = "FATAL:"
_NOT_NOW = (
    "starting up",
    "shutting down",
    "not yet accepting",
    "recovery mode",
    "too many clients",
    "slots are reserved",
)
"""Messages of a server that refuses connections only for a moment. Clients do not get its error code."""


def check_address(url: str) -> None:
    """Reject an address that PostgreSQL would not parse, or would misread: PostgreSQL's own error message may
    contain part of a password."""
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items()}
        ports = parts.get("port", "").split(",")
        misread = "@" in parts.get("host", "") + parts.get("dbname", "")
        misread = misread or not all(port.isdecimal() for port in ports if port)
    except Error:
        misread = True
    if misread:
        raise UsageError(
            "The address of the store cannot be read.",
            hint="Write it as postgresql://USER:PASSWORD@HOST/DATABASE, and in a password %40 for @, "
            "%2F for /, %3A for :, %3F for ? and %25 for %.",
        )


def is_lost(error: BaseException) -> bool:
    """Return whether the connection is lost or the server is not available (yet); the statement may or may
    not have been executed."""
    state = getattr(error, "sqlstate", None) or ""
    if state:
        return state.startswith(("08", "57P")) or state == _TOO_MANY_CONNECTIONS
    return isinstance(error, (OperationalError, InterfaceError, OSError))


def is_undone(error: BaseException) -> bool:
    """Return whether the server rolled back because of concurrent transactions, so that a retry makes
    sense."""
    return (getattr(error, "sqlstate", None) or "").startswith("40")


def explain(error: BaseException, where: str) -> StoreError:
    """Return the error for the caller: one sentence, and a hint."""
    if isinstance(error, StoreError):
        return error
    if isinstance(error, DiskFull):
        explained: StoreError = StoreFullError(
            f"There is no space left for the store {where}.", hint="Make room there, then resume the run."
        )
    elif isinstance(error, InsufficientPrivilege):
        explained = StoreError(
            f"The user of the store {where} lacks a privilege.", hint="Grant it all rights on the schema."
        )
    elif isinstance(error, UndefinedTable):
        explained = StoreError(
            f"{where} is not a Podium store.", hint="Create its tables with `podium migrate`."
        )
    elif _REFUSAL in _first_line(error) and not any(words in _first_line(error) for words in _NOT_NOW):
        reason = _first_line(error).rpartition(_REFUSAL)[2].strip()
        explained = StoreError(
            f"The store {where} cannot be opened: {reason}.", hint="Check its user, password and database."
        )
    elif is_lost(error):
        explained = StoreAwayError(
            f"The store {where} cannot be reached: {_first_line(error)}.",
            hint="Check the address, and that PostgreSQL is running there.",
        )
    else:
        explained = StoreError(f"The store {where} failed: {_first_line(error)}.")
    explained.__cause__ = error
    return explained


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


SCHEMA = Path(__file__).parent.parent / "schema"
CONNECT_S = 10
_CUT_OFF_S = 1.0
_MIGRATING = 0x506F6469
"""Advisory lock that a process holds while it creates or migrates the tables."""

Db = AsyncConnection[tuple[Any, ...]]


async def connect(url: str) -> Db:
    """Open a connection in autocommit mode."""
    db = await _connected(asyncio.ensure_future(AsyncConnection.connect(url, **options())))
    register(db.adapters)
    try:
        await db.execute(_SETTINGS)
    except BaseException:
        await db.close()
        raise
    return db


async def _connected(connecting: asyncio.Future[Db]) -> Db:
    """Wait for a connection. If cancelled, give it a moment to be established and close it: otherwise it
    would stay open at the server until garbage collection."""
    try:
        return await asyncio.shield(connecting)
    except asyncio.CancelledError:
        await asyncio.wait([connecting], timeout=_CUT_OFF_S)
        if connecting.done() and connecting.exception() is None:
            await connecting.result().close()
        connecting.cancel()
        raise


def connect_here(url: str) -> Connection[tuple[Any, ...]]:
    """Open a blocking connection, for the rare query that cannot be awaited."""
    db = Connection.connect(url, **options())
    _accept_any_text(db.adapters)
    return db


async def configure(db: Db) -> None:
    """Configure a connection for queries: text that PostgreSQL cannot store is simply not found."""
    register(db.adapters)
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
    """Return the options of every connection."""
    return {"autocommit": True, **_OPTIONS}


_SETTINGS = (
    "SELECT set_config('default_transaction_isolation', 'read committed', false), "
    "CASE current_setting('synchronous_commit') WHEN 'off' "
    "THEN set_config('synchronous_commit', 'on', false) END"
)
"""Settings that a durable log needs, whatever the defaults of the database are."""

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
    """Open the first connection to a store; create or migrate it if needed."""
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
    """Return the schema version of the store at `url`; 0 if there is none."""
    address, _ = take_lease(url)
    check_address(address)
    try:
        async with await connect(address) as db:
            return await _version(db)
    except (psycopg.Error, OSError) as error:
        raise explain(error, shown(address)) from error


async def migrate(db: Db, where: str, schema: Path = SCHEMA) -> int:
    """Migrate the tables to this version; return the number of scripts that were run."""
    scripts = sorted(schema.glob("postgres_*.sql"))  # noqa: ASYNC240 - a few small files, once
    version = await _version(db)
    if version == len(scripts):
        return 0
    await _check_encoding(db, where)
    async with db.transaction():
        await db.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATING,))
        version = await _version(db)  # another process may have migrated it meanwhile
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
    exists = await (await db.execute(sql, ("podium_schema",))).fetchone()
    if not exists or not exists[0]:
        return 0
    row = await (await db.execute("SELECT version FROM podium_schema")).fetchone()
    return int(row[0]) if row else 0


class Patience:
    """Reconnect timeout. It starts when the database goes away, so later callers do not wait for the full
    time again."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._clock = clock
        self._since = self._last = float("-inf")

    def is_over(self) -> bool:
        """Return whether the timeout has passed; called after each failed attempt. Restarts if there was none
        for a while."""
        now = self._clock()
        if now - self._last > self._seconds:
            self._since = now
        self._last = now
        return now - self._since > self._seconds

    def renew(self) -> None:
        """Reset the timeout after a success."""
        self._since = self._last = float("-inf")
