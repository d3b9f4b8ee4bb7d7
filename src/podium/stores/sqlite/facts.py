"""Project facts and full-text search in SQL."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from podium.engine.budget import LARGEST
from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.engine.store_parts import Fact, FactChange, FactUpdate, ProjectShare
from podium.errors import StoreError
from podium.stores.rows import charge_columns, charge_of, fact_data, spaced
from podium.stores.sqlite.connection import Bulk, explain

_MAKE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS fact_words USING fts5 "
    "(subject, predicate, value, quote, tokenize = 'porter unicode61 remove_diacritics 2')"
)
MATCH = (
    "SELECT {columns} FROM fact_words JOIN fact ON fact.number = fact_words.rowid "
    "WHERE fact_words MATCH ? AND project = ? {status}"
    "ORDER BY bm25(fact_words, 4.0, 2.0, 2.0, 0.5), fact.number LIMIT ?"
)
"""A match in the subject weighs more than one in the quote."""

_ADD = Bulk(
    5,
    "INSERT INTO fact_words (rowid, subject, predicate, value, quote) "
    "WITH b AS (VALUES {values}) SELECT * FROM b WHERE column1 IS NOT NULL",
)
_REMOVE = Bulk(1, "DELETE FROM fact_words WHERE rowid IN (VALUES {values})")


def prepare(db: sqlite3.Connection) -> None:
    """Create the index if there is none. Raises before anything is written if FTS5 is missing."""
    found = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'fact_words'").fetchone()
    check(db)
    if found is None:
        db.execute(_MAKE)


def check(db: sqlite3.Connection, module: str = "fts5") -> None:
    """Raise `StoreError` if this SQLite has no full-text search."""
    if db.execute("SELECT 1 FROM pragma_module_list WHERE name = ?", (module,)).fetchone() is None:
        raise StoreError(
            f"The brain needs full-text search ({module.upper()}), and the SQLite {sqlite3.sqlite_version} "
            "of this Python has none.",
            hint="Use a Python whose SQLite was built with FTS5; everything but the brain works without.",
        )


def is_made(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'fact_words'").fetchone() is not None


def add(db: sqlite3.Connection, facts: Sequence[tuple[int, Fact]]) -> None:
    parts: list[object] = []
    for number, fact in facts:
        texts = (fact.subject, fact.predicate, fact.value, fact.quote)
        parts += (number, *(spaced(text) for text in texts))
    _ADD.execute(db, parts)


def remove(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    _REMOVE.execute(db, list(numbers))


def query_of(terms: Sequence[str]) -> str:
    """Return a query for any of these words, each quoted, so that user input is never an operator."""
    phrases = [spaced(term).replace('"', " ").strip() for term in terms]
    return " OR ".join(f'"{phrase}"' for phrase in phrases if phrase)


COLUMNS = "project, id, subject, predicate, value, kind, source_run, quote, status, created_at, updated_at"
_TEXT = ("subject", "predicate", "value")
"""The fields that an embedding is made of."""

_KNOWN = Bulk(2, "SELECT group_concat(project || char(31) || id, char(30)) FROM fact "
              "WHERE (project, id) IN (VALUES {values})")  # fmt: skip
_STANDING = Bulk(
    2,
    "SELECT group_concat(project || char(31) || id || char(31) || number || char(31) || updated_at, "
    "char(30)) "
    "FROM fact WHERE (project, id) IN (VALUES {values})",
)
_ADD_FACT = Bulk(
    12,
    f"INSERT INTO fact (number, {COLUMNS}) "
    "WITH b AS (VALUES {values}) SELECT * FROM b WHERE column1 IS NOT NULL",
)
_CHANGE = Bulk(
    12,
    "UPDATE fact SET subject = b.column4, predicate = b.column5, value = b.column6, kind = b.column7, "
    "source_run = b.column8, quote = b.column9, status = b.column10, updated_at = b.column12 "
    "FROM (VALUES {values}) AS b WHERE fact.number = b.column1",
)
_REMEMBER = Bulk(
    7,
    "INSERT INTO fact_change (project, fact, at, by, action, before, after) "
    "WITH b AS (VALUES {values}) SELECT * FROM b WHERE column1 IS NOT NULL",
)
_VECTORS = Bulk(
    4,
    "INSERT OR REPLACE INTO fact_vector (project, model, fact, data) "
    "WITH b AS (VALUES {values}) SELECT * FROM b WHERE column1 IS NOT NULL",
)
_OUTDATED = Bulk(2, "DELETE FROM fact_vector WHERE (project, fact) IN (VALUES {values})")
_REVISE = (
    "INSERT INTO brain (project, revision) VALUES (?, ?) "
    "ON CONFLICT (project) DO UPDATE SET revision = max(revision + 1, excluded.revision)"
)
"""Revisions are timestamps, so that a project that was removed and created again never has an old one."""
_SPEND = (
    "INSERT INTO brain (project, usd, input_tokens, output_tokens, calls, unpriced_calls) "
    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (project) DO UPDATE SET usd = usd + excluded.usd, "
    f"input_tokens = min(input_tokens + excluded.input_tokens, {LARGEST}), "
    f"output_tokens = min(output_tokens + excluded.output_tokens, {LARGEST}), "
    f"calls = min(calls + excluded.calls, {LARGEST}), "
    f"unpriced_calls = min(unpriced_calls + excluded.unpriced_calls, {LARGEST})"
)


def add_facts(db: sqlite3.Connection, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
    """Insert facts that are new, in a constant number of statements, and return them."""
    prepare(db)
    asked = {(fact.project, fact.id): fact for fact in reversed(facts)}  # the first of two with one id
    known = _rows(_KNOWN.query(db, list(chain.from_iterable(asked))) if asked else [])
    new = [asked[key] for key in reversed(asked) if list(key) not in known]
    if not new:
        return []
    (last,) = db.execute("SELECT coalesce(max(number), 0) FROM fact").fetchone()
    numbered = list(enumerate(new, last + 1))
    _ADD_FACT.execute(db, [part for number, fact in numbered for part in (number, *_parts(fact))])
    add(db, numbered)
    _remember(db, [(fact, change) for fact in new])
    _revise(db, new)
    return new


def change(db: sqlite3.Connection, updates: Sequence[FactUpdate], at: str) -> list[str]:
    """Update facts that are unchanged since they were read (optimistic locking); return their ids."""
    prepare(db)
    keys = [part for fact, _ in updates for part in (fact.project, fact.id)]
    standing = {
        (project, fact_id): (int(number), updated_at)
        for project, fact_id, number, updated_at in _rows(_STANDING.query(db, keys) if keys else [])
    }
    done = [
        (standing[fact.project, fact.id][0], fact, change)
        for fact, change in updates
        if standing.get((fact.project, fact.id), (0, None))[1] == fact.updated_at
    ]
    if not done:
        return []
    rows = [(number, *_parts(fact)[:-1], at) for number, fact, _ in done]
    _CHANGE.execute(db, list(chain.from_iterable(rows)))
    remove(db, [number for number, _, _ in done])
    add(db, [(number, fact) for number, fact, _ in done])
    outdated = [fact for _, fact, change in done if not change.before.keys().isdisjoint(_TEXT)]
    if outdated:
        _OUTDATED.execute(db, [part for fact in outdated for part in (fact.project, fact.id)])
    _remember(db, [(fact, change) for _, fact, change in done])
    _revise(db, [fact for _, fact, _ in done])
    return [fact.id for _, fact, _ in done]


def forget(db: sqlite3.Connection, project: str, ids: Collection[str] | None) -> int:
    """Remove facts with their history and embeddings; removing a whole project leaves nothing."""
    which, given = "project = ?", [project]
    if ids is not None:
        which += " AND {column} IN (SELECT value FROM json_each(?))"
        given.append(encode(list(ids)).decode())
    here, elsewhere = which.format(column="id"), which.format(column="fact")
    (numbers,) = db.execute(f"SELECT group_concat(number) FROM fact WHERE {here}", given).fetchone()
    gone = [int(number) for number in numbers.split(",")] if numbers else []
    if gone:
        prepare(db)
        remove(db, gone)
        db.execute(f"DELETE FROM fact WHERE {here}", given)
        _revise(db, [project])
    for table in ("fact_change", "fact_vector"):
        db.execute(f"DELETE FROM {table} WHERE {elsewhere}", given)
    if ids is None:
        db.execute("DELETE FROM brain WHERE project = ?", (project,))
    return len(gone)


def put_vectors(
    db: sqlite3.Connection, project: str, model: str, vectors: Mapping[str, bytes], charge: Charge
) -> None:
    if vectors:
        _revise(db, [project])
        _VECTORS.execute(
            db, [part for fact, data in vectors.items() for part in (project, model, fact, data)]
        )
    db.execute(_SPEND, (project, *charge_columns(charge)))


def _parts(fact: Fact) -> tuple[str, ...]:
    return (
        fact.project, fact.id, fact.subject, fact.predicate, fact.value, fact.kind, fact.source_run,
        fact.quote, fact.status, fact.created_at, fact.updated_at,
    )  # fmt: skip


def _remember(db: sqlite3.Connection, changed: Sequence[tuple[Fact, FactChange]]) -> None:
    parts: list[Any] = []
    for fact, change in changed:
        before, after = (encode(side).decode() for side in (change.before, change.after))
        parts += (fact.project, fact.id, change.at, change.by, change.action, before, after)
    _REMEMBER.execute(db, parts)


def _revise(db: sqlite3.Connection, changed: Sequence[Fact | str]) -> None:
    for project in {one if isinstance(one, str) else one.project for one in changed}:
        db.execute(_REVISE, (project, time.time_ns() // 1000))


def _rows(texts: list[str | None]) -> list[list[str]]:
    """Split rows that were fetched as one text, because a thread pays for every row that it fetches."""
    return [row.split("\x1f") for text in texts if text for row in text.split("\x1e")]


SLICE = 1000
_PROJECTS = (
    "SELECT f.project, sum(status = 'accepted'), sum(status = 'proposed'), sum(status = 'discarded'), "
    "max(updated_at), coalesce(usd, 0.0), coalesce(input_tokens, 0), coalesce(output_tokens, 0), "
    "coalesce(calls, 0), coalesce(unpriced_calls, 0) "
    "FROM fact AS f LEFT JOIN brain USING (project) GROUP BY f.project ORDER BY f.project"
)


class FactReader:
    """Read queries for facts."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path

    async def facts(
        self, project: str, status: Collection[str], source_run: str, ids: Collection[str], limit: int
    ) -> list[Fact]:
        wanted, given = ["number > ?"], list[Any]()
        for column, value in (("project", project), ("source_run", source_run)):
            if value:
                wanted.append(f"{column} = ?")
                given.append(value)
        for column, values in (("status", status), ("id", ids)):
            if values:
                wanted.append(f"{column} IN (SELECT value FROM json_each(?))")
                given.append(encode(list(values)).decode())
        sql = f"SELECT {COLUMNS}, number FROM fact WHERE {' AND '.join(wanted)} ORDER BY number LIMIT ?"
        found: list[Fact] = []
        after = 0
        while True:
            size = min(SLICE, limit - len(found)) if limit else SLICE
            rows = self._all(sql, (after, *given, size))
            found += [_fact(row) for row in rows]
            if len(rows) < size or len(found) == limit:
                return found
            after = rows[-1][-1]
            await asyncio.sleep(0)

    def match(self, project: str, terms: Sequence[str], status: Collection[str], limit: int) -> list[Fact]:
        query = query_of(terms)
        if not query or not is_made(self._db):
            return []
        check(self._db)
        marks = f"AND status IN ({', '.join('?' * len(status))}) " if status else ""
        columns = ", ".join(f"fact.{column.strip()}" for column in COLUMNS.split(","))
        sql = MATCH.format(columns=columns, status=marks)
        return [_fact(row) for row in self._all(sql, (query, project, *status, limit))]

    def history(self, project: str, fact_id: str) -> list[FactChange]:
        sql = (
            "SELECT at, by, action, before, after FROM fact_change "
            "WHERE project = ? AND fact = ? ORDER BY number"
        )
        return [
            FactChange(
                project=project, fact=fact_id, at=at, by=by, action=action,
                before=fact_data(fact_id, before), after=fact_data(fact_id, after),
            )
            for at, by, action, before, after in self._all(sql, (project, fact_id))
        ]  # fmt: skip

    def projects(self) -> list[ProjectShare]:
        return [
            ProjectShare(
                project=row[0], accepted=row[1], proposed=row[2], discarded=row[3], updated_at=row[4],
                embedding=charge_of(*row[5:]),
            )
            for row in self._all(_PROJECTS)
        ]  # fmt: skip

    def revision(self, project: str) -> int:
        found = self._all("SELECT revision FROM brain WHERE project = ?", (project,))
        return found[0][0] if found else 0

    def vectors(self, project: str, model: str, ids: Collection[str] | None) -> dict[str, bytes]:
        sql = "SELECT fact, data FROM fact_vector WHERE project = ? AND model = ?"
        if ids is None:
            return dict(self._all(sql, (project, model)))
        some = f"{sql} AND fact IN (SELECT value FROM json_each(?))"
        return dict(self._all(some, (project, model, encode(list(ids)).decode())))

    def _all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._db.execute(sql, tuple(parameters)).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self._path) from error


def _fact(row: Sequence[Any]) -> Fact:
    project, fact_id, subject, predicate, value, kind, source_run, quote, status, created_at, updated_at = (
        row[:11]
    )
    return Fact(
        id=fact_id, project=project, subject=subject, predicate=predicate, value=value, kind=kind,
        source_run=source_run, quote=quote, status=status, created_at=created_at, updated_at=updated_at,
    )  # fmt: skip
