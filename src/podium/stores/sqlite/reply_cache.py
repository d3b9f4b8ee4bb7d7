"""Reply cache in SQL: queries, and the small writes that are part of a batch."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection
from itertools import chain
from pathlib import Path
from typing import Any

from podium.engine.budget import LARGEST
from podium.engine.events import NOTHING, Charge
from podium.engine.store_parts import CacheShare, Cleared, Sample
from podium.stores.batch import Notes
from podium.stores.rows import charge_columns, charge_of
from podium.stores.sqlite.connection import Bulk, explain

_TRIM_TO = 0.9
"""Trim to less than the limit, so that the next reply does not trim again."""

_FIND = (
    "SELECT id, key, number, model, data, usd, input_tokens, output_tokens, made_us FROM sample "
    "WHERE key = ? {skip}ORDER BY number LIMIT 1"
)
_COLUMNS = "id, key, number, model, usd, input_tokens, output_tokens, made_us, used_us, bytes, data"
_KEEP = Bulk(
    11,
    f"INSERT OR IGNORE INTO sample ({_COLUMNS}) "
    "WITH b AS (VALUES {values}) SELECT * FROM b WHERE column1 IS NOT NULL",
)
_NEXT_FREE = (
    f"INSERT OR IGNORE INTO sample ({_COLUMNS}) SELECT ?1, ?2, "
    "max(?3, coalesce((SELECT max(number) + 1 FROM sample WHERE key = ?2), ?3)), "
    "?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11"
)
_USE = Bulk(
    2,
    "UPDATE sample SET used_us = max(sample.used_us, b.used_us) "
    "FROM (WITH v (id, used_us) AS (VALUES {values}) SELECT * FROM v) AS b WHERE sample.id = b.id",
)
_DROP = Bulk(1, "DELETE FROM sample WHERE id IN (VALUES {values})")
_SAVED = (
    "INSERT INTO saving (model, hits, usd, input_tokens, output_tokens) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (model) DO UPDATE SET hits = hits + excluded.hits, usd = usd + excluded.usd, "
    f"input_tokens = min(input_tokens + excluded.input_tokens, {LARGEST}), "
    f"output_tokens = min(output_tokens + excluded.output_tokens, {LARGEST})"
)
_TRIM = (
    "DELETE FROM sample WHERE id IN (SELECT id FROM (SELECT id, sum(bytes) OVER "
    "(ORDER BY used_us DESC, id) AS so_far FROM sample) WHERE so_far > ?)"
)
_SHARES = (
    "SELECT model, entries, bytes, coalesce(hits, 0), coalesce(usd, 0.0), coalesce(input_tokens, 0), "
    "coalesce(output_tokens, 0), oldest, newest FROM (SELECT model, count(*) AS entries, "
    "sum(bytes) AS bytes, min(made_us) AS oldest, max(made_us) AS newest FROM sample GROUP BY model) "
    "LEFT JOIN saving USING (model) UNION ALL "
    "SELECT model, 0, 0, hits, usd, input_tokens, output_tokens, 0, 0 FROM saving "
    "WHERE model NOT IN (SELECT model FROM sample) ORDER BY 3 DESC, 1"
)


def find(db: sqlite3.Connection, path: Path, key: str, skip: Collection[str]) -> Sample | None:
    """Return the first reply to a request whose id is not in `skip`, or None."""
    marks = f"AND id NOT IN ({', '.join('?' * len(skip))}) " if skip else ""
    found = _all(db, path, _FIND.format(skip=marks), (key, *skip))
    if not found:
        return None
    sample_id, key, number, model, data, usd, into, out, made_us = found[0]
    charge = charge_of(usd, into, out, 1)
    return Sample(
        id=sample_id, key=key, number=number, model=model, data=bytes(data), charge=charge, made_us=made_us
    )


def shares(db: sqlite3.Connection, path: Path) -> list[CacheShare]:
    return [
        CacheShare(
            model=model, entries=entries, bytes=size, hits=hits, saved=charge_of(usd, into, out, hits),
            oldest_us=oldest, newest_us=newest,
        )
        for model, entries, size, hits, usd, into, out, oldest, newest in _all(db, path, _SHARES)
    ]  # fmt: skip


def write_notes(db: sqlite3.Connection, notes: Notes) -> None:
    """Write the queued changes of the cache, in a few statements."""
    if notes.kept:
        _keep(db, notes.kept)
    if notes.used:
        _use(db, notes.used)
    if notes.dropped:
        _DROP.execute(db, list(notes.dropped))
    if notes.most_bytes is not None:
        (held,) = db.execute("SELECT coalesce(sum(bytes), 0) FROM sample").fetchone()
        if held > notes.most_bytes:
            db.execute(_TRIM, (int(notes.most_bytes * _TRIM_TO),))


def _keep(db: sqlite3.Connection, kept: list[Sample]) -> None:
    """Insert all at once; if another process has taken a number, insert one by one."""
    rows = [
        (
            sample.id, sample.key, sample.number, sample.model, *charge_columns(sample.charge)[:3],
            sample.made_us, sample.made_us,
            len(sample.data), sample.data,
        )
        for sample in kept
    ]  # fmt: skip
    if _KEEP.execute(db, list(chain.from_iterable(rows))) < len(rows):
        for row in rows:
            db.execute(_NEXT_FREE, row)


def _use(db: sqlite3.Connection, used: list[tuple[Sample, int]]) -> None:
    _USE.execute(db, [part for sample, now_us in used for part in (sample.id, now_us)])
    saved: dict[str, Charge] = {}
    for sample, _ in used:
        saved[sample.model] = saved.get(sample.model, NOTHING) + sample.charge
    hits = Counter(sample.model for sample, _ in used)
    for model, charge in saved.items():
        db.execute(_SAVED, (model, hits[model], *charge_columns(charge)[:3]))


def clear(db: sqlite3.Connection, before_us: int | None, model: str) -> Cleared:
    """Remove replies. Clearing everything, or everything of a model, also resets the savings."""
    wanted, given = ["1"], list[Any]()
    if before_us is not None:
        wanted.append("used_us < ?")
        given.append(before_us)
    if model:
        wanted.append("model = ?")
        given.append(model)
    which = " AND ".join(wanted)
    entries, size = db.execute(
        f"SELECT count(*), coalesce(sum(bytes), 0) FROM sample WHERE {which}", given
    ).fetchone()
    db.execute(f"DELETE FROM sample WHERE {which}", given)
    if before_us is None:
        db.execute(f"DELETE FROM saving WHERE {which}", given)
    return Cleared(entries=entries, bytes=size)


def _all(db: sqlite3.Connection, path: Path, sql: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
    try:
        return db.execute(sql, parameters).fetchall()
    except sqlite3.Error as error:
        raise explain(error, path) from error
