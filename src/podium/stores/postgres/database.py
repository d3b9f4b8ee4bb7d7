"""SQL on connections (a pool, batches, statements over many rows), and full-text search over facts.

Rows are accepted only under the current epoch of the run. The run is locked `FOR SHARE` while its rows are
inserted: a process that takes it over waits for them and finds them in the log.
"""

from __future__ import annotations

import asyncio
import logging
import os
import unicodedata
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeVar, cast

import psycopg
from msgspec.structs import astuple
from psycopg import AsyncCursor
from psycopg.errors import InvalidParameterValue
from psycopg.pq import TransactionStatus
from psycopg_pool import AsyncConnectionPool, PoolClosed

from podium.engine.store_parts import Fact, FactUpdate
from podium.errors import StoreError
from podium.stores import shown
from podium.stores.batch import ROW_WIDTH, Batch, Creation, Key
from podium.stores.facts import COLUMNS, SEARCHED
from podium.stores.postgres.connection import (
    Db,
    Numbers,
    Patience,
    Texts,
    Values,
    configure,
    explain,
    is_lost,
    options,
)
from podium.stores.rows import spaced
from podium.stores.sql import Bulk, Queries, filters
from podium.stores.statements import CREATION, check_written, find_fenced, write_parts, write_rest

Answer = TypeVar("Answer")
Cursor = AsyncCursor[tuple[Any, ...]]

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # its warnings are handled here

CHANNEL = "podium"
"""Channel of notifications about new rows and messages."""
CONNECTIONS = 4
_PATIENCE_S = 30.0
"""Seconds that a query waits for a database that cannot be reached."""
_TURN_S = 2.0
"""Seconds that it waits for a connection before it requests another."""
_AGAIN_S = 0.05
_OPEN = (TransactionStatus.INTRANS, TransactionStatus.INERROR)

_EVENTS = (
    "WITH held AS MATERIALIZED (SELECT number, epoch FROM run WHERE number = ANY(%b::bigint[]) "
    "ORDER BY number FOR SHARE) "
    "INSERT INTO event (id, time_us, path, type, data) "
    "SELECT b.id, b.time_us, b.path, b.type, b.data "
    "FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::bytea[]) "
    "AS b (id, epoch, time_us, path, type, data) "
    "JOIN held ON held.number = b.id >> 32 AND held.epoch = b.epoch"
)
_RUN = Bulk(CREATION, "")
_RUN_COLUMNS = ", ".join(_RUN.names)
_CREATIONS = (
    f"WITH made AS (INSERT INTO run ({_RUN_COLUMNS}) SELECT {_RUN_COLUMNS} "
    f"FROM unnest({', '.join(f'%s::{kind}[]' for kind in _RUN.types)}) WITH ORDINALITY "
    f"AS b ({_RUN_COLUMNS}, place) ORDER BY place ON CONFLICT DO NOTHING RETURNING run_id, number), "
    "logged AS (INSERT INTO event (id, time_us, path, type, data) "
    "SELECT made.number << 32 | e.seq, e.time_us, e.path, e.type, e.data "
    "FROM unnest(%b::text[], %b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::bytea[]) "
    "AS e (run_id, seq, time_us, path, type, data) JOIN made ON made.run_id = e.run_id) "
    "SELECT run_id, number FROM made"
)
"""Inserts runs with the first rows of their logs; ids that already exist are skipped."""
_RECEIPT = (
    "INSERT INTO receipt (writer, ticket) VALUES (%s, %s) ON CONFLICT (writer) "
    "DO UPDATE SET ticket = excluded.ticket, at = now() RETURNING pg_current_xact_id()::text"
)


@lru_cache(512)
def _translated(sql: str) -> bytes:
    """Return shared SQL in PostgreSQL's notation."""
    return sql.replace("IN ??", "= ANY(%s)").replace("?", "%s").replace("instr(", "strpos(").encode()


@lru_cache(64)
def _bulk_text(bulk: Bulk) -> bytes:
    arrays = ", ".join(f"%s::{kind}[]" for kind in bulk.types)
    return bulk.sql.replace("{rows}", f"unnest({arrays}) AS b ({', '.join(bulk.names)})").encode()


def _values(parameters: Sequence[Any] | Mapping[str, Any]) -> Sequence[Any] | Mapping[str, Any]:
    """Return parameters with lists of numbers as arrays of the type that columns have."""
    if isinstance(parameters, Mapping):
        return parameters
    return [Numbers(value) if _is_numbers(value) else value for value in parameters]


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and isinstance(next(iter(cast("list[Any]", value)), None), int)


def storable(value: Any) -> Any:
    """Replace NUL characters, which PostgreSQL's text cannot hold; other types are unchanged."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


def columns_of(rows: Collection[Sequence[Any]]) -> list[list[Any]]:
    """Return rows as columns, with texts that PostgreSQL can hold."""
    return [list(map(storable, column)) for column in zip(*rows, strict=True)]


class PostgresQueries:
    """Read queries, over a few connections of their own, so that they never wait for a write."""

    def __init__(self, url: str) -> None:
        self._where = shown(url)
        self._patience = Patience(_PATIENCE_S)
        self._pool: AsyncConnectionPool[Db] = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=CONNECTIONS,
            open=False,
            timeout=_TURN_S,
            reconnect_timeout=_TURN_S / 2,
            configure=configure,
            kwargs=options(),
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    async def all(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        async def fetch(db: Db) -> list[Any]:
            return await (await db.execute(_translated(sql), _values(parameters), binary=True)).fetchall()

        return await self.ask(fetch)

    async def ask(self, question: Callable[[Db], Awaitable[Answer]]) -> Answer:
        """Run a query; wait for a database that is away, and raise `StoreError` on failure."""
        while True:
            try:
                async with self._pool.connection() as db:
                    answer = await question(db)
                    self._patience.renew()
                    return answer
            except PoolClosed as error:
                raise StoreError("The store is closed.") from error
            except (psycopg.Error, OSError) as error:
                if not is_lost(error) or self._patience.is_over():
                    raise explain(error, self._where) from error
            await asyncio.sleep(_AGAIN_S)


class Receipt(NamedTuple):
    """Identifies a transaction of several statements when the response to its commit was lost."""

    number: str
    """The server's transaction id. After a crash it may be reused, so it only shows whether the transaction
    is still in progress."""
    ticket: str
    """A random token that is in the database if, and only if, the transaction was committed."""


class PostgresDatabase:
    """A connection that writes; see `podium.stores.sql.Database`."""

    def __init__(self, connection: Db) -> None:
        self.connection = connection

    async def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return await (await self.run(sql, parameters)).fetchall()

    async def select(self, columns: str, rest: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return await self.all(f"SELECT {columns} {rest}", parameters)

    async def run(self, sql: str, parameters: Sequence[Any] = ()) -> Cursor:
        return await self.connection.execute(_translated(sql), _values(parameters))

    async def run_bulk(self, bulk: Bulk, rows: Collection[Sequence[Any]]) -> Cursor:
        columns = zip(bulk.types, columns_of(rows), strict=True)
        parameters = [Values(column) if kind == "bytea" else column for kind, column in columns]
        return await self.connection.execute(_bulk_text(bulk), parameters)

    async def insert_events(self, rows: list[Any]) -> Cursor:
        ids = Numbers(rows[::ROW_WIDTH])
        parameters = (
            Numbers({row_id >> 32 for row_id in ids}),
            ids,
            Numbers(rows[1::ROW_WIDTH]),
            Numbers(rows[2::ROW_WIDTH]),
            Texts(map(storable, rows[3::ROW_WIDTH])),
            Texts(rows[4::ROW_WIDTH]),
            Values(rows[5::ROW_WIDTH]),
        )
        return await self.connection.execute(_EVENTS, parameters)

    async def create_runs(self, creations: list[Creation]) -> Callable[[], Awaitable[None]]:
        """Create runs; numbers follow the order of creation. An id that already exists fails alone."""
        rows = [
            (creation.run.run_id, seq, time_us, path, kind, data)
            for creation in creations
            for seq, time_us, path, kind, data in creation.rows
        ]
        ids, seqs, times, paths, kinds, values = columns_of(rows) if rows else ([],) * 6
        logged = (Texts(ids), Numbers(seqs), Numbers(times), Texts(paths), Texts(kinds), Values(values))
        runs = columns_of([creation.columns for creation in creations])
        created = await self.connection.execute(_CREATIONS.encode(), [*runs, *logged])
        return partial(_set_numbers, created, creations)

    async def post_message(self, number: int, kind: str, data: bytes) -> int:
        sql = "INSERT INTO inbox (run, kind, data) VALUES (?, ?, ?) RETURNING id"
        ((message_id,),) = await self.all(sql, (number, kind, data))
        await self.run("SELECT pg_notify(?, 'inbox:')", (CHANNEL,))
        return message_id


async def _set_numbers(created: Cursor, creations: list[Creation]) -> None:
    numbers: dict[str, int] = dict(await created.fetchall())
    for creation in creations:
        number = numbers.pop(creation.run.run_id, None)
        if number is None:
            creation.failure = StoreError(f"There is a run {creation.run.run_id} already.")
        else:
            creation.set_number(number)


async def write(db: PostgresDatabase, batch: Batch, writer: str, note: Callable[[Receipt], None]) -> set[Key]:
    """Write all of a batch, or raise and write nothing. Skips what fenced-off leases have queued and returns
    their keys. A transaction of several statements leaves a receipt."""
    if batch.only_rows:  # one statement is a transaction of its own
        if not batch.rows or (await db.insert_events(batch.rows)).rowcount * ROW_WIDTH == len(batch.rows):
            return set()
        return await find_fenced(db, batch)
    if batch.acquisitions or batch.jobs or batch.notes:
        async with db.connection.transaction():
            if batch.has_operations or batch.rows or batch.updates:
                await _leave_receipt(db.connection, writer, note)
            fenced = await check_written(db, batch, await write_parts(db, batch))
            await write_rest(db, batch)
        return fenced
    return await _write_at_once(db, batch, writer, note)


async def _write_at_once(
    db: PostgresDatabase, batch: Batch, writer: str, note: Callable[[Receipt], None]
) -> set[Key]:
    """Write a batch in which no statement needs the result of another, in two round trips. The receipt has to
    be known before the commit is sent."""
    connection = db.connection
    alone = connection.info.transaction_status is TransactionStatus.IDLE
    try:
        async with connection.pipeline():
            if alone:
                await connection.execute("BEGIN", prepare=False)
            await _leave_receipt(connection, writer, note)
            written = await write_parts(db, batch)
            if alone:
                await connection.execute("COMMIT", prepare=False)
    except BaseException:
        if alone and connection.info.transaction_status in _OPEN:
            await connection.rollback()
        raise
    return await check_written(db, batch, written)


async def _leave_receipt(db: Db, writer: str, note: Callable[[Receipt], None]) -> None:
    ticket = os.urandom(8).hex()
    row = await (await db.execute(_RECEIPT, (writer, ticket))).fetchone()
    note(Receipt(str(row[0]) if row else "0", ticket))


async def was_committed(db: Db, writer: str, receipt: Receipt) -> bool | None:
    """Return whether a transaction was committed; `None` if that is not decided yet."""
    try:
        row = await (await db.execute("SELECT pg_xact_status(%s::xid8)", (receipt.number,))).fetchone()
    except InvalidParameterValue:  # after a crash, no transaction has this id yet
        row = None
    if row is not None and row[0] == "in progress":
        return None
    sql = "SELECT 1 FROM receipt WHERE writer = %s AND ticket = %s"
    return bool(await (await db.execute(sql, (writer, receipt.ticket))).fetchall())


_LIST = ", ".join(COLUMNS)
_WORDS = (
    "setweight(to_tsvector('podium', b.w_subject), 'A') || "
    "setweight(to_tsvector('podium', b.w_predicate), 'B') || "
    "setweight(to_tsvector('podium', b.w_value), 'B') || setweight(to_tsvector('podium', b.w_quote), 'D')"
)
"""A match in the subject weighs more than one in the quote."""
_ROW = ", ".join(f"{name} text" for name in (*COLUMNS, *(f"w_{name}" for name in SEARCHED)))
_INSERT = Bulk(
    f"place bigint, {_ROW}",
    f"INSERT INTO fact ({_LIST}, words) SELECT {_LIST}, {_WORDS} FROM {{rows}} ORDER BY place "
    "ON CONFLICT (project, id) DO NOTHING RETURNING project, id",
)
_UPDATE = Bulk(
    f"changed_at text, {_ROW}",
    "UPDATE fact SET subject = b.subject, predicate = b.predicate, value = b.value, kind = b.kind, "
    "source_run = b.source_run, quote = b.quote, status = b.status, updated_at = b.changed_at, "
    f"words = {_WORDS} FROM {{rows}} "
    "WHERE fact.project = b.project AND fact.id = b.id AND fact.updated_at = b.updated_at "
    "RETURNING fact.project, fact.id",
)


class PostgresFacts:
    """Facts and their index, a column of the same table."""

    async def insert(self, db: PostgresDatabase, facts: Sequence[Fact]) -> list[Fact]:
        rows = [(place, *_row(fact)) for place, fact in enumerate(facts)]
        inserted = set(await (await db.run_bulk(_INSERT, rows)).fetchall())
        new: list[Fact] = []
        for fact in facts:  # the first of two with the same id
            if (key := (fact.project, fact.id)) in inserted:
                inserted.discard(key)
                new.append(fact)
        return new

    async def update(self, db: PostgresDatabase, updates: Sequence[FactUpdate], at: str) -> list[FactUpdate]:
        cursor = await db.run_bulk(_UPDATE, [(at, *_row(fact)) for fact, _ in updates])
        keys = set(await cursor.fetchall())
        return [update for update in updates if (update.fact.project, update.fact.id) in keys]

    async def delete(self, db: PostgresDatabase, project: str, ids: list[str] | None) -> int:
        condition, parameters = filters(("id IN ??", ids))
        return (
            await db.run(f"DELETE FROM fact WHERE project = ? {condition}", (project, *parameters))
        ).rowcount

    async def match(
        self, queries: Queries, project: str, terms: Sequence[str], status: list[str], limit: int
    ) -> list[Any]:
        query = query_of(terms)
        if not query:
            return []
        condition, parameters = filters(("status IN ??", status or None))
        sql = (
            f"SELECT {_LIST} FROM fact, (SELECT to_tsquery('podium', ?) AS query) AS q "
            f"WHERE words @@ q.query AND project = ? {condition}"
            "ORDER BY ts_rank('{0.1, 0.2, 0.5, 1.0}', words, q.query) DESC, number LIMIT ?"
        )
        return await queries.all(sql, (query, project, *parameters, limit))


def _row(fact: Fact) -> tuple[str, ...]:
    return (*astuple(fact), *(words_of(getattr(fact, name)) for name in SEARCHED))


def words_of(text: str) -> str:
    """Return text for indexing and search: without accents, with spaces around CJK and Thai letters."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return storable(spaced(plain))


def query_of(terms: Sequence[str]) -> str:
    """Return a query for any of these words or phrases, each quoted, so that user input is never an
    operator."""
    phrases: list[str] = []
    for term in terms:
        plain = "".join(c if c.isalnum() else " " for c in words_of(term)).split()
        if plain:
            phrases.append("(" + " <-> ".join(f"'{word}'" for word in plain) + ")")
    return " | ".join(phrases)
