"""Reply cache in shared SQL; see `podium.engine.store_parts.Samples`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from podium.engine.events import NOTHING, Charge
from podium.engine.store_parts import CacheShare, Cleared, Sample
from podium.stores.batch import Notes
from podium.stores.commit_queue import CommitQueue
from podium.stores.rows import charge_columns, charge_of
from podium.stores.sql import Bulk, Database, Queries, added, filters

TRIM_EVERY = 64
"""Number of stored replies between two checks of the cache size; the first reply of a process triggers one
too."""
_TRIM_TO = 0.9
"""Trim to less than the limit, so that the next reply does not trim again."""

_COLUMNS = (
    "id text, key text, number bigint, model text, usd float8, input_tokens bigint, output_tokens bigint, "
    "made_us bigint, used_us bigint, bytes bigint, data bytea"
)
_INSERT = (
    "INSERT INTO sample (id, key, number, model, usd, input_tokens, output_tokens, made_us, used_us, bytes, "
    "data) SELECT b.id, b.key, {number}, b.model, b.usd, b.input_tokens, b.output_tokens, b.made_us, "
    "b.used_us, b.bytes, b.data FROM {{rows}} WHERE b.id IS NOT NULL ON CONFLICT DO NOTHING"
)
_KEEP = Bulk(_COLUMNS, _INSERT.format(number="b.number"))
_KEEP_NEXT = Bulk(
    _COLUMNS,
    _INSERT.format(number="(SELECT coalesce(max(number) + 1, b.number) FROM sample WHERE key = b.key)"),
)
"""Gives a reply the next free number."""
_USE = Bulk(
    "id text, used_us bigint",
    "UPDATE sample SET used_us = b.used_us FROM {rows} WHERE sample.id = b.id AND sample.used_us < b.used_us",
)
_SAVED = (
    "INSERT INTO saving (model, hits, usd, input_tokens, output_tokens) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (model) DO UPDATE SET hits = saving.hits + excluded.hits, usd = saving.usd + excluded.usd, "
    f"{added('saving', 'input_tokens', 'output_tokens')}"
)
_TRIM = (
    "DELETE FROM sample WHERE id IN (SELECT id FROM (SELECT id, sum(bytes) OVER "
    "(ORDER BY used_us DESC, id) AS so_far FROM sample) AS s WHERE so_far > ?)"
)
_SHARES = (
    "SELECT model, entries, bytes, coalesce(hits, 0), coalesce(usd, 0.0), coalesce(input_tokens, 0), "
    "coalesce(output_tokens, 0), oldest, newest FROM (SELECT model, count(*) AS entries, "
    "CAST(sum(bytes) AS bigint) AS bytes, min(made_us) AS oldest, max(made_us) AS newest FROM sample "
    "GROUP BY model) AS s LEFT JOIN saving USING (model) UNION ALL "
    "SELECT model, 0, 0, hits, usd, input_tokens, output_tokens, 0, 0 FROM saving "
    "WHERE model NOT IN (SELECT model FROM sample) ORDER BY 3 DESC, 1"
)


class ReplyCache:
    """The reply cache of a store."""

    def __init__(self, queries: Queries, queue: CommitQueue) -> None:
        self._queries = queries
        self._queue = queue
        self._count = 0
        """Replies that were stored."""

    async def find_sample(self, key: str, skip: Collection[str] = ()) -> Sample | None:
        condition, skipped = filters(("NOT id IN ??", list(skip) or None))
        sql = (
            "SELECT id, number, model, data, usd, input_tokens, output_tokens, made_us FROM sample "
            f"WHERE key = ? {condition}ORDER BY number LIMIT 1"
        )
        rows = await self._queries.all(sql, (key, *skipped))
        if not rows:
            return None
        sample_id, number, model, data, usd, input_tokens, output_tokens, made_us = rows[0]
        return Sample(
            id=sample_id,
            key=key,
            number=number,
            model=model,
            data=bytes(data),
            charge=charge_of(usd, input_tokens, output_tokens, 1),
            made_us=made_us,
        )

    def keep_sample(self, sample: Sample, most_bytes: int) -> None:
        notes = self._queue.notes()
        notes.kept.append(sample)
        if self._count % TRIM_EVERY == 0:
            notes.most_bytes = most_bytes
        self._count += 1

    def use_sample(self, sample: Sample, now_us: int) -> None:
        self._queue.notes().used.append((sample, now_us))

    def drop_sample(self, sample_id: str) -> None:
        self._queue.notes().dropped.append(sample_id)

    async def cache_shares(self) -> list[CacheShare]:
        return [
            CacheShare(
                model=model,
                entries=entries,
                bytes=size,
                hits=hits,
                saved=charge_of(usd, input_tokens, output_tokens, hits),
                oldest_us=oldest,
                newest_us=newest,
            )
            for model, entries, size, hits, usd, input_tokens, output_tokens, oldest, newest in (
                await self._queries.all(_SHARES)
            )
        ]

    async def clear_cache(self, *, before_us: int | None = None, model: str = "") -> Cleared:
        return await self._queue.do(_clear, before_us, model)


async def write_notes(db: Database, notes: Notes) -> None:
    """Write the queued changes of the cache, in a few statements."""
    if notes.kept:
        await _keep(db, notes.kept)
    if notes.used:
        await _use(db, notes.used)
    if notes.dropped:
        await db.run("DELETE FROM sample WHERE id IN ??", (list(notes.dropped),))
    if notes.most_bytes is not None:
        ((size,),) = await db.all("SELECT coalesce(sum(bytes), 0) FROM sample")
        if size > notes.most_bytes:
            await db.run(_TRIM, (int(notes.most_bytes * _TRIM_TO),))


async def _keep(db: Database, samples: list[Sample]) -> None:
    """Insert all at once; if another process has taken a number, insert one by one."""
    rows = [
        (
            *(sample.id, sample.key, sample.number, sample.model),
            *charge_columns(sample.charge)[:3],
            *(sample.made_us, sample.made_us, len(sample.data), sample.data),
        )
        for sample in samples
    ]
    if (await db.run_bulk(_KEEP, rows)).rowcount < len(rows):
        for row in rows:
            await db.run_bulk(_KEEP_NEXT, [row])


async def _use(db: Database, used: list[tuple[Sample, int]]) -> None:
    latest: dict[str, int] = {}
    saved: dict[str, Charge] = {}
    for sample, now_us in used:
        latest[sample.id] = max(now_us, latest.get(sample.id, 0))
        saved[sample.model] = saved.get(sample.model, NOTHING) + sample.charge
    hits = Counter(sample.model for sample, _ in used)
    await db.run_bulk(_USE, list(latest.items()))
    for model, charge in saved.items():
        await db.run(_SAVED, (model, hits[model], *charge_columns(charge)[:3]))


async def _clear(db: Database, before_us: int | None, model: str) -> Cleared:
    """Remove replies. Clearing everything, or everything of a model, also resets the savings."""
    condition, parameters = filters(("used_us < ?", before_us), ("model = ?", model or None))
    sql = f"SELECT count(*), CAST(coalesce(sum(bytes), 0) AS bigint) FROM sample WHERE true {condition}"
    ((entries, size),) = await db.all(sql, parameters)
    await db.run(f"DELETE FROM sample WHERE true {condition}", parameters)
    if before_us is None:
        await db.run(f"DELETE FROM saving WHERE true {condition}", parameters)
    return Cleared(entries=entries, bytes=size)
