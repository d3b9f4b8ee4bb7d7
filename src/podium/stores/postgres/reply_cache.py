"""Reply cache in SQL. See `podium.engine.store_parts`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Any

from podium.engine.events import NOTHING, Charge
from podium.engine.store_parts import CacheShare, Cleared, Sample
from podium.stores.batch import Notes
from podium.stores.postgres.connection import Db
from podium.stores.rows import LARGEST_SQL, charge_columns, charge_of

_TRIM_TO = 0.9

_COLUMNS = "id, key, number, model, usd, input_tokens, output_tokens, made_us, used_us, bytes, data"
_KEEP = (
    f"INSERT INTO sample ({_COLUMNS}) VALUES (%(id)s, %(key)s, CASE WHEN EXISTS (SELECT 1 FROM sample "
    "WHERE key = %(key)s AND number = %(number)s) "
    "THEN (SELECT max(number) + 1 FROM sample WHERE key = %(key)s) ELSE %(number)s END, "
    "%(model)s, %(usd)s, %(into)s, %(out)s, %(made)s, %(made)s, %(bytes)s, %(data)s) "
    "ON CONFLICT DO NOTHING"
)
_USE = (
    "UPDATE sample SET used_us = greatest(sample.used_us, b.used_us) "
    "FROM (SELECT id, max(used_us) AS used_us FROM unnest(%s::text[], %s::bigint[]) "
    "AS v (id, used_us) GROUP BY id) AS b WHERE sample.id = b.id"
)
_SAVED = (
    "INSERT INTO saving (model, hits, usd, input_tokens, output_tokens) VALUES (%s, %s, %s, %s, %s) "
    "ON CONFLICT (model) DO UPDATE SET hits = saving.hits + excluded.hits, usd = saving.usd + excluded.usd, "
    f"input_tokens = least(saving.input_tokens::numeric + excluded.input_tokens, {LARGEST_SQL})::bigint, "
    f"output_tokens = least(saving.output_tokens::numeric + excluded.output_tokens, {LARGEST_SQL})::bigint"
)
_TRIM = (
    "DELETE FROM sample WHERE id IN (SELECT id FROM (SELECT id, sum(bytes) OVER "
    "(ORDER BY used_us DESC, id) AS so_far FROM sample) AS s WHERE so_far > %s)"
)
_SHARES = (
    "SELECT model, entries, bytes, coalesce(hits, 0), coalesce(usd, 0.0), coalesce(input_tokens, 0), "
    "coalesce(output_tokens, 0), oldest, newest FROM (SELECT model, count(*) AS entries, "
    "sum(bytes)::bigint AS bytes, min(made_us) AS oldest, max(made_us) AS newest FROM sample "
    "GROUP BY model) AS s LEFT JOIN saving USING (model) UNION ALL "
    "SELECT model, 0, 0, hits, usd, input_tokens, output_tokens, 0, 0 FROM saving "
    "WHERE model NOT IN (SELECT model FROM sample) ORDER BY 3 DESC, 1"
)


async def find(db: Db, key: str, skip: Collection[str]) -> Sample | None:
    """Return the first reply to a request whose id is not in `skip`, or None."""
    sql = (
        "SELECT id, key, number, model, data, usd, input_tokens, output_tokens, made_us FROM sample "
        "WHERE key = %s AND NOT id = ANY(%s::text[]) ORDER BY number LIMIT 1"
    )
    row = await (await db.execute(sql, (key, list(skip)))).fetchone()
    if row is None:
        return None
    sample_id, key, number, model, data, usd, into, out, made_us = row
    charge = charge_of(usd, into, out, 1)
    return Sample(
        id=sample_id, key=key, number=number, model=model, data=bytes(data), charge=charge, made_us=made_us
    )


async def shares(db: Db) -> list[CacheShare]:
    return [
        CacheShare(
            model=model, entries=entries, bytes=size, hits=hits, saved=charge_of(usd, into, out, hits),
            oldest_us=oldest, newest_us=newest,
        )
        for model, entries, size, hits, usd, into, out, oldest, newest in await (
            await db.execute(_SHARES)
        ).fetchall()
    ]  # fmt: skip


async def write_notes(db: Db, notes: Notes) -> None:
    """Write the queued changes of the cache."""
    for sample in notes.kept:
        await db.execute(_KEEP, _parts(sample))
    if notes.used:
        await _use(db, notes.used)
    if notes.dropped:
        await db.execute("DELETE FROM sample WHERE id = ANY(%s::text[])", (list(notes.dropped),))
    if notes.most_bytes is not None:
        row = await (await db.execute("SELECT coalesce(sum(bytes), 0) FROM sample")).fetchone()
        if row and row[0] > notes.most_bytes:
            await db.execute(_TRIM, (int(notes.most_bytes * _TRIM_TO),))


def _parts(sample: Sample) -> dict[str, Any]:
    usd, into, out, *_ = charge_columns(sample.charge)
    return {
        "id": sample.id, "key": sample.key, "number": sample.number, "model": sample.model,
        "usd": usd, "into": into, "out": out,
        "made": sample.made_us, "bytes": len(sample.data), "data": sample.data,
    }  # fmt: skip


async def _use(db: Db, used: list[tuple[Sample, int]]) -> None:
    await db.execute(_USE, ([sample.id for sample, _ in used], [now_us for _, now_us in used]))
    saved: dict[str, Charge] = {}
    for sample, _ in used:
        saved[sample.model] = saved.get(sample.model, NOTHING) + sample.charge
    hits = Counter(sample.model for sample, _ in used)
    for model, charge in saved.items():
        await db.execute(_SAVED, (model, hits[model], *charge_columns(charge)[:3]))


async def clear(db: Db, before_us: int | None, model: str) -> Cleared:
    """Remove replies. Clearing everything, or everything of a model, also resets the savings."""
    which = "(%(before)s::bigint IS NULL OR used_us < %(before)s) AND (%(model)s = '' OR model = %(model)s)"
    given = {"before": before_us, "model": model}
    sql = (
        f"WITH gone AS (DELETE FROM sample WHERE {which} RETURNING bytes) "
        "SELECT count(*), coalesce(sum(bytes), 0)::bigint FROM gone"
    )
    row = await (await db.execute(sql, given)).fetchone()
    if before_us is None:
        await db.execute("DELETE FROM saving WHERE %(model)s = '' OR model = %(model)s", given)
    return Cleared(entries=row[0], bytes=row[1]) if row else Cleared()
