"""What projects know, in SQL: the writes, each a job of the writer's next transaction."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.engine.facts import Fact, FactChange, FactUpdate
from podium.engine.figures import LARGEST
from podium.stores.figures import charge_columns
from podium.stores.sqlite import words
from podium.stores.sqlite.bulk import Bulk

COLUMNS = "project, id, subject, predicate, value, kind, source_run, quote, status, created_at, updated_at"
_TEXT = ("subject", "predicate", "value")
"""What an embedding is made of."""

_KNOWN = Bulk(2, "SELECT group_concat(project || char(31) || id, char(30)) FROM fact "
              "WHERE (project, id) IN (VALUES {values})")  # fmt: skip
_STANDING = Bulk(
    2,
    "SELECT group_concat(project || char(31) || id || char(31) || number || char(31) || updated_at, "
    "char(30)) "
    "FROM fact WHERE (project, id) IN (VALUES {values})",
)
_ADD = Bulk(
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
"""Revisions are times, so that a project that was forgotten and told anew never has an old one."""
_SPEND = (
    "INSERT INTO brain (project, usd, input_tokens, output_tokens, calls, unpriced_calls) "
    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (project) DO UPDATE SET usd = usd + excluded.usd, "
    f"input_tokens = min(input_tokens + excluded.input_tokens, {LARGEST}), "
    f"output_tokens = min(output_tokens + excluded.output_tokens, {LARGEST}), "
    f"calls = min(calls + excluded.calls, {LARGEST}), "
    f"unpriced_calls = min(unpriced_calls + excluded.unpriced_calls, {LARGEST})"
)


def add(db: sqlite3.Connection, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
    """Those that are new, in a few statements however many they are."""
    words.prepare(db)
    asked = {(fact.project, fact.id): fact for fact in reversed(facts)}  # the first of two with one id
    known = _rows(_KNOWN.query(db, list(chain.from_iterable(asked))) if asked else [])
    new = [asked[key] for key in reversed(asked) if list(key) not in known]
    if not new:
        return []
    (last,) = db.execute("SELECT coalesce(max(number), 0) FROM fact").fetchone()
    numbered = list(enumerate(new, last + 1))
    _ADD.execute(db, [part for number, fact in numbered for part in (number, *_parts(fact))])
    words.add(db, numbered)
    _remember(db, [(fact, change) for fact in new])
    _revise(db, new)
    return new


def change(db: sqlite3.Connection, updates: Sequence[FactUpdate], at: str) -> list[str]:
    """Compare with what stands there, then set: two people who review at once do not undo each other."""
    words.prepare(db)
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
    words.remove(db, [number for number, _, _ in done])
    words.add(db, [(number, fact) for number, fact, _ in done])
    outdated = [fact for _, fact, change in done if not change.before.keys().isdisjoint(_TEXT)]
    if outdated:
        _OUTDATED.execute(db, [part for fact in outdated for part in (fact.project, fact.id)])
    _remember(db, [(fact, change) for _, fact, change in done])
    _revise(db, [fact for _, fact, _ in done])
    return [fact.id for _, fact, _ in done]


def forget(db: sqlite3.Connection, project: str, ids: Collection[str] | None) -> int:
    """With everything that was kept about them; a project that is forgotten leaves nothing."""
    which, given = "project = ?", [project]
    if ids is not None:
        which += " AND {column} IN (SELECT value FROM json_each(?))"
        given.append(encode(list(ids)).decode())
    here, elsewhere = which.format(column="id"), which.format(column="fact")
    (numbers,) = db.execute(f"SELECT group_concat(number) FROM fact WHERE {here}", given).fetchone()
    gone = [int(number) for number in numbers.split(",")] if numbers else []
    if gone:
        words.prepare(db)
        words.remove(db, gone)
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
    """What came back as one text, because a thread pays for every row that it fetches."""
    return [row.split("\x1f") for text in texts if text for row in text.split("\x1e")]
