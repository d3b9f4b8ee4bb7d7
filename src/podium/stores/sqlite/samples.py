"""The cache in SQL: reading, and the small writes that ride with a batch."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from pathlib import Path
from typing import Any

from podium.engine.events import Charge
from podium.engine.samples import CacheShare, Cleared, Sample
from podium.stores.sqlite.failures import explain

TRIM_EVERY = 64
"""So many answers are kept between two looks at the size of the cache, the first of a process included."""
_TRIM_TO = 0.9
"""Less than the limit, so that the next answer does not trim again."""

_FIND = (
    "SELECT id, key, number, model, data, usd, input_tokens, output_tokens, made_us FROM sample "
    "WHERE key = ? {skip}ORDER BY number LIMIT 1"
)
_KEEP = (
    "INSERT OR IGNORE INTO sample (id, key, number, model, usd, input_tokens, output_tokens, made_us, "
    "used_us, bytes, data) SELECT :id, :key, CASE WHEN EXISTS (SELECT 1 FROM sample WHERE key = :key AND "
    "number = :number) THEN (SELECT max(number) + 1 FROM sample WHERE key = :key) ELSE :number END, :model, "
    ":usd, :input_tokens, :output_tokens, :made_us, :made_us, :bytes, :data"
)
_SAVED = (
    "INSERT INTO saving (model, hits, usd, input_tokens, output_tokens) VALUES (?, 1, ?, ?, ?) "
    "ON CONFLICT (model) DO UPDATE SET hits = hits + 1, usd = usd + excluded.usd, "
    "input_tokens = input_tokens + excluded.input_tokens, "
    "output_tokens = output_tokens + excluded.output_tokens"
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
    """The first answer to a question that is not one of `skip`."""
    marks = f"AND id NOT IN ({', '.join('?' * len(skip))}) " if skip else ""
    found = _all(db, path, _FIND.format(skip=marks), (key, *skip))
    if not found:
        return None
    sample_id, key, number, model, data, usd, into, out, made_us = found[0]
    charge = Charge(usd, into, out, 1)
    return Sample(
        id=sample_id, key=key, number=number, model=model, data=bytes(data), charge=charge, made_us=made_us
    )


def shares(db: sqlite3.Connection, path: Path) -> list[CacheShare]:
    return [
        CacheShare(
            model=model, entries=entries, bytes=size, hits=hits, saved=Charge(usd, into, out, hits),
            oldest_us=oldest, newest_us=newest,
        )
        for model, entries, size, hits, usd, into, out, oldest, newest in _all(db, path, _SHARES)
    ]  # fmt: skip


def keep(db: sqlite3.Connection, sample: Sample, most_bytes: int | None) -> None:
    """Write an answer; with `most_bytes`, look at the size of the cache too."""
    charge = sample.charge
    db.execute(
        _KEEP,
        {
            "id": sample.id, "key": sample.key, "number": sample.number, "model": sample.model,
            "usd": charge.usd, "input_tokens": charge.input_tokens, "output_tokens": charge.output_tokens,
            "made_us": sample.made_us, "bytes": len(sample.data), "data": sample.data,
        },
    )  # fmt: skip
    if most_bytes is not None:
        (held,) = db.execute("SELECT coalesce(sum(bytes), 0) FROM sample").fetchone()
        if held > most_bytes:
            db.execute(_TRIM, (int(most_bytes * _TRIM_TO),))


def use(db: sqlite3.Connection, sample: Sample, now_us: int) -> None:
    charge = sample.charge
    db.execute("UPDATE sample SET used_us = max(used_us, ?) WHERE id = ?", (now_us, sample.id))
    db.execute(_SAVED, (sample.model, charge.usd, charge.input_tokens, charge.output_tokens))


def drop(db: sqlite3.Connection, sample_id: str) -> None:
    db.execute("DELETE FROM sample WHERE id = ?", (sample_id,))


def clear(db: sqlite3.Connection, before_us: int | None, model: str) -> Cleared:
    """Whoever clears everything, or everything of a model, starts the count of what was saved anew too."""
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
