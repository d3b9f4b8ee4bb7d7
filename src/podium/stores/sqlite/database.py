"""SQL on a connection (queries, batches, statements over many rows), and full-text search over facts.

A thread that shares the interpreter with a busy event loop waits up to 5 ms for it after every statement and
every fetched row, so `executemany` of 200 rows can take a second where one statement takes milliseconds. For
the same reason a writer gets the rows of a query as one JSON text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import astuple

from podium.engine.codec import decode, encode
from podium.engine.store_parts import Fact, FactUpdate
from podium.errors import StoreError
from podium.stores import sql as shared
from podium.stores.batch import ROW_WIDTH, Batch, Creation, Key
from podium.stores.facts import COLUMNS, SEARCHED
from podium.stores.rows import spaced
from podium.stores.sql import Bulk, Queries, filters, run_now
from podium.stores.sqlite.connection import explain
from podium.stores.statements import CREATION, find_fenced, write_batch

_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class BulkStatement:
    """One statement for many rows of parameters, with `{values}` in its text.

    There are a few fixed sizes, so that prepared statements are reused; a smaller number of rows is padded
    with NULLs (or another `filler`), which the statement must skip.

    For bytes and NULL, Python's module first searches for an adapter, which takes longer than everything else
    and blocks the event loop; for a `bytearray` it does not. `binary` are the columns of a row whose values
    are always bytes.
    """

    def __init__(
        self, width: int, sql: str, *, binary: Sequence[int] = (), filler: int | None = None
    ) -> None:
        self.width = width
        self._binary = binary
        self._filler = filler
        self.most = _SIZES[-1] * width
        self._sql = sql
        self._texts: dict[int, str] = {}
        self._fits: dict[int, tuple[str, list[int | None]]] = {}

    def execute(self, db: sqlite3.Connection, parameters: list[Any]) -> int:
        """Run it over all parameters; return the number of rows written."""
        if len(parameters) <= self.most:
            return self._run(db, parameters).rowcount
        slices = [parameters[start : start + self.most] for start in range(0, len(parameters), self.most)]
        return sum(self._run(db, part).rowcount for part in slices)

    def _run(self, db: sqlite3.Connection, parameters: list[Any]) -> sqlite3.Cursor:
        count = len(parameters) // self.width
        text, filler = self._fits.get(count) or self._fit(count)
        values = parameters + filler
        for column in self._binary:
            here = slice(column, len(parameters), self.width)
            values[here] = map(bytearray, values[here])
        return db.execute(text, values)

    def _fit(self, count: int) -> tuple[str, list[int | None]]:
        """Return the statement for this number of rows and its padding; built on first use."""
        size = next(size for size in _SIZES if size >= count)
        if size not in self._texts:
            row = f"({', '.join('?' * self.width)})"
            self._texts[size] = self._sql.format(values=", ".join([row] * size))
        fit = self._texts[size], [self._filler] * (self.width * (size - count))
        return self._fits.setdefault(count, fit)


EVENTS = BulkStatement(
    ROW_WIDTH,
    "INSERT INTO event (id, time_us, path, type, data) "
    "WITH b (id, epoch, time_us, path, type, data) AS (VALUES {values}) "
    "SELECT b.id, b.time_us, b.path, b.type, b.data "
    "FROM b CROSS JOIN run ON run.number = b.id >> 32 AND run.epoch = b.epoch",
    binary=(5,),
    filler=0,
)
"""Inserts the rows of valid leases. `CROSS JOIN` keeps SQLite from reordering the loops. No run has the
number 0."""

_CREATE = shared.Bulk(
    f"number bigint, {CREATION}",
    "INSERT INTO run (" + ", ".join(["number", *shared.Bulk(CREATION, "").names]) + ") "
    "SELECT b.* FROM {rows} WHERE b.number IS NOT NULL",
)

_bulks: dict[shared.Bulk, BulkStatement] = {}


def _statement(bulk: shared.Bulk) -> BulkStatement:
    """Return the SQLite form of a shared statement; built on first use."""
    table = f"(WITH v ({', '.join(bulk.names)}) AS (VALUES {{values}}) SELECT * FROM v) AS b"
    binary = [column for column, kind in enumerate(bulk.types) if kind == "bytea"]
    sql = bulk.sql.replace("{rows}", table)
    return _bulks.setdefault(bulk, BulkStatement(len(bulk.names), sql, binary=binary))


def _execute(db: sqlite3.Connection, sql: str, parameters: Sequence[Any]) -> sqlite3.Cursor:
    """Execute shared SQL. A list becomes one JSON text."""
    if "??" in sql:
        sql = sql.replace("IN ??", "IN (SELECT value FROM json_each(?))")
        parameters = [encode(value).decode() if isinstance(value, list) else value for value in parameters]
    return db.execute(sql, parameters)


class Count(NamedTuple):
    """The number of rows that a statement has written."""

    rowcount: int


class SqliteQueries:
    """Read queries. They run on the event loop's thread.

    A reader thread would be slower and could starve: it has to reacquire the interpreter after every row,
    which takes milliseconds each time beside a busy event loop. A slice of 1,000 rows takes about one.
    """

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    async def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        try:
            return _execute(self._connection, sql, parameters).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self._path) from error

    def version(self) -> int:
        """Return a number that changes when another connection, of any process, has committed."""
        return run_now(self.all("PRAGMA data_version"))[0][0]

    def close(self) -> None:
        self._connection.close()


class SqliteDatabase:
    """A connection that writes; see `podium.stores.sql.Database`."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def write(self, batch: Batch) -> set[Key]:
        """Write all of a batch, or raise and write nothing. Skips what fenced-off leases have queued and
        returns their keys."""
        db = self.connection
        if batch.only_rows and len(batch.rows) <= EVENTS.most:  # one statement is a transaction of its own
            if not batch.rows or EVENTS.execute(db, batch.rows) * ROW_WIDTH == len(batch.rows):
                return set()
            return run_now(find_fenced(self, batch))
        db.execute("BEGIN IMMEDIATE")
        try:
            fenced = run_now(write_batch(self, batch))
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise
        return fenced

    async def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        return _execute(self.connection, sql, parameters).fetchall()

    async def select(self, columns: str, rest: str, parameters: Sequence[Any] = ()) -> list[Any]:
        rows = await self.all(f"SELECT json_group_array(json_array({columns})) {rest}", parameters)
        return decode(rows[0][0].encode())

    async def run(self, sql: str, parameters: Sequence[Any] = ()) -> sqlite3.Cursor:
        return _execute(self.connection, sql, parameters)

    async def run_bulk(self, bulk: shared.Bulk, rows: Collection[Sequence[Any]]) -> Count:
        statement = _bulks.get(bulk) or _statement(bulk)
        return Count(statement.execute(self.connection, list(chain.from_iterable(rows))))

    async def insert_events(self, rows: list[Any]) -> Count:
        return Count(EVENTS.execute(self.connection, rows))

    async def create_runs(self, creations: list[Creation]) -> None:
        """Create runs. The write lock is held, so the next numbers are free."""
        ((last,),) = await self.all("SELECT coalesce(max(number), 0) FROM run")
        runs: list[tuple[Any, ...]] = []
        rows: list[Any] = []
        for number, creation in enumerate(creations, last + 1):
            runs.append((number, *creation.columns))
            for seq, time_us, path, kind, data in creation.rows:
                rows += (number << 32 | seq, creation.epoch, time_us, path, kind, data)
            creation.set_number(number)
        await self.run_bulk(_CREATE, runs)
        if rows and EVENTS.execute(self.connection, rows) * ROW_WIDTH != len(rows):
            raise StoreError("The first rows of a run were not accepted.")

    async def post_message(self, number: int, kind: str, data: bytes) -> int:
        sql = "INSERT INTO inbox (run, kind, data) VALUES (?, ?, ?)"
        return (await self.run(sql, (number, kind, data))).lastrowid or 0


_MAKE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS fact_words USING fts5 "
    "(subject, predicate, value, quote, tokenize = 'porter unicode61 remove_diacritics 2')"
)
_IS_MADE = "SELECT 1 FROM sqlite_master WHERE name = 'fact_words'"
_FACT = ", ".join(f"{name} text" for name in COLUMNS)
_INSERT = Bulk(
    f"number bigint, {_FACT}",
    f"INSERT INTO fact (number, {', '.join(COLUMNS)}) SELECT b.* FROM {{rows}} WHERE b.number IS NOT NULL",
)
_UPDATE = Bulk(
    f"number bigint, {_FACT}",
    "UPDATE fact SET subject = b.subject, predicate = b.predicate, value = b.value, kind = b.kind, "
    "source_run = b.source_run, quote = b.quote, status = b.status, updated_at = b.updated_at "
    "FROM {rows} WHERE fact.number = b.number",
)
_ADD_WORDS = Bulk(
    "number bigint, subject text, predicate text, value text, quote text",
    "INSERT INTO fact_words (rowid, subject, predicate, value, quote) "
    "SELECT b.* FROM {rows} WHERE b.number IS NOT NULL",
)
_REMOVE_WORDS = "DELETE FROM fact_words WHERE rowid IN ??"


class SqliteFacts:
    """Facts and their index, a virtual table that is created with the first fact."""

    async def insert(self, db: SqliteDatabase, facts: Sequence[Fact]) -> list[Fact]:
        await _prepare(db)
        known = await _standings(db, facts)
        new = {(fact.project, fact.id): fact for fact in reversed(facts)}  # the first of two with one id
        facts = [fact for key, fact in reversed(new.items()) if key not in known]
        ((last,),) = await db.all("SELECT coalesce(max(number), 0) FROM fact")
        numbered = list(enumerate(facts, last + 1))
        if numbered:
            await db.run_bulk(_INSERT, [(number, *astuple(fact)) for number, fact in numbered])
            await _add_words(db, numbered)
        return facts

    async def update(self, db: SqliteDatabase, updates: Sequence[FactUpdate], at: str) -> list[FactUpdate]:
        await _prepare(db)
        standings = await _standings(db, [fact for fact, _ in updates])
        done = [
            update
            for update in updates
            if standings.get((update.fact.project, update.fact.id), (0, None))[1] == update.fact.updated_at
        ]
        if done:
            numbered = [(standings[fact.project, fact.id][0], fact) for fact, _ in done]
            await db.run_bulk(_UPDATE, [(number, *astuple(fact)[:-1], at) for number, fact in numbered])
            await db.run(_REMOVE_WORDS, ([number for number, _ in numbered],))
            await _add_words(db, numbered)
        return done

    async def delete(self, db: SqliteDatabase, project: str, ids: list[str] | None) -> int:
        condition, parameters = filters(("id IN ??", ids))
        rest = f"FROM fact WHERE project = ? {condition}"
        numbers = [number for (number,) in await db.select("number", rest, (project, *parameters))]
        if numbers:
            await _prepare(db)
            await db.run(_REMOVE_WORDS, (numbers,))
            await db.run(f"DELETE {rest}", (project, *parameters))
        return len(numbers)

    async def match(
        self, queries: Queries, project: str, terms: Sequence[str], status: list[str], limit: int
    ) -> list[Any]:
        query = query_of(terms)
        if not query or not await queries.all(_IS_MADE):
            return []
        await check_full_text(queries)
        condition, parameters = filters(("status IN ??", status or None))
        sql = (
            f"SELECT {', '.join(f'fact.{column}' for column in COLUMNS)} "
            "FROM fact_words JOIN fact ON fact.number = fact_words.rowid "
            f"WHERE fact_words MATCH ? AND project = ? {condition}"
            "ORDER BY bm25(fact_words, 4.0, 2.0, 2.0, 0.5), fact.number LIMIT ?"
        )  # a match in the subject weighs more than one in the quote
        return await queries.all(sql, (query, project, *parameters, limit))


async def _prepare(db: SqliteDatabase) -> None:
    """Create the index if there is none. Raises before anything is written if FTS5 is missing."""
    await check_full_text(db)
    if not await db.all(_IS_MADE):
        await db.run(_MAKE)


async def check_full_text(db: Queries, module: str = "fts5") -> None:
    """Raise `StoreError` if this SQLite has no full-text search."""
    if not await db.all("SELECT 1 FROM pragma_module_list WHERE name = ?", (module,)):
        raise StoreError(
            f"The brain needs full-text search ({module.upper()}), and the SQLite {sqlite3.sqlite_version} "
            "of this Python has none.",
            hint="Use a Python whose SQLite was built with FTS5; everything but the brain works without.",
        )


async def _standings(db: SqliteDatabase, facts: Sequence[Fact]) -> dict[tuple[str, str], tuple[int, str]]:
    """Return the numbers of facts and when they were changed, by project and id."""
    rest = "FROM fact WHERE id IN ?? AND project IN ??"
    keys = [list({fact.id for fact in facts}), list({fact.project for fact in facts})]
    rows = await db.select("project, id, number, updated_at", rest, keys)
    return {(project, fact_id): (number, updated_at) for project, fact_id, number, updated_at in rows}


async def _add_words(db: SqliteDatabase, facts: Sequence[tuple[int, Fact]]) -> None:
    rows = [(number, *(spaced(getattr(fact, name)) for name in SEARCHED)) for number, fact in facts]
    await db.run_bulk(_ADD_WORDS, rows)


def query_of(terms: Sequence[str]) -> str:
    """Return a query for any of these words, each quoted, so that user input is never an operator."""
    phrases = [spaced(term).replace('"', " ").strip() for term in terms]
    return " OR ".join(f'"{phrase}"' for phrase in phrases if phrase)
