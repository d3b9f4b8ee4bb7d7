"""Writing of batches, and rare writes, in shared SQL."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import NamedTuple

from podium.dimensions import DIMENSIONS
from podium.engine.log import Row, RunUpdate
from podium.errors import PodiumError
from podium.stores.batch import ROW_WIDTH, Acquisition, Batch, Key, Standing, ceilings, change_of
from podium.stores.reply_cache import write_notes
from podium.stores.rows import unknown
from podium.stores.sql import SEQ, Bulk, Database, Outcome


def _changes(columns: str) -> str:
    """Return assignments that keep a column where `b` has NULL."""
    names = [column.split()[0] for column in columns.split(",")]
    return ", ".join(f"{name} = coalesce(b.{name}, run.{name})" for name in names)


_LEASE = "number bigint, epoch bigint"
_IS_VALID = "run.number = b.number AND run.epoch = b.epoch"
_SUMMARY = (
    "updated_us bigint, status text, stop_reason text, model text, rehearsal boolean, driven_s float8, "
    "usd float8, input_tokens bigint, output_tokens bigint, calls bigint, unpriced_calls bigint"
)
_CEILINGS = ", ".join(
    f"max_{dimension.name} {'bigint' if dimension.whole else 'float8'}" for dimension in DIMENSIONS.values()
)
"""A column for each dimension of a budget, in the order of `podium.stores.batch.ceilings`."""

CREATION = (
    "run_id text, status text, stop_reason text, updated_us bigint, driven_s float8, usd float8, "
    "input_tokens bigint, output_tokens bigint, calls bigint, unpriced_calls bigint, model text, "
    "rehearsal boolean, created_us bigint, parent text, workflow text, request text, owner text, "
    f"{_CEILINGS}, start_key text, epoch bigint, driver text"
)
"""The columns of a new run; see `podium.stores.batch.Creation.columns`."""

UPDATE = Bulk(f"{_LEASE}, {_SUMMARY}", f"UPDATE run SET {_changes(_SUMMARY)} FROM {{rows}} WHERE {_IS_VALID}")
UPDATE_CEILINGS = Bulk(
    f"{_LEASE}, {_CEILINGS}", f"UPDATE run SET {_changes(_CEILINGS)} FROM {{rows}} WHERE {_IS_VALID}"
)
"""A statement of its own, because ceilings rarely change, while the rest of a summary changes with almost
every step."""
PUT_BLOBS = Bulk(
    "digest bytea, data bytea",
    "INSERT INTO blob (digest, data) SELECT b.digest, b.data FROM {rows} "
    "WHERE b.digest IS NOT NULL ON CONFLICT DO NOTHING",
)
RELEASE = Bulk(_LEASE, f"UPDATE run SET driver = '' FROM {{rows}} WHERE {_IS_VALID}")
ACQUIRE = Bulk(
    "run_id text, driver text, expected text",
    "UPDATE run SET epoch = run.epoch + 1, driver = b.driver FROM {rows} "
    "WHERE run.run_id = b.run_id AND run.driver = coalesce(b.expected, run.driver)",
)
_STANDING = (
    "run_id, number, epoch, coalesce(last, 0), "
    "coalesce((SELECT time_us FROM event WHERE id = last), 0), driver"
)
_STANDINGS = (
    "FROM (SELECT run_id, number, epoch, driver, (SELECT max(id) FROM event "
    f"WHERE id BETWEEN number << 32 AND (number << 32) + {SEQ}) AS last FROM run WHERE run_id IN ??) AS r"
)


class Written(NamedTuple):
    """The results of a batch that have to be checked."""

    rows: Outcome | None
    updates: Outcome | None
    created: Callable[[], Awaitable[None]] | None


async def write_batch(db: Database, batch: Batch) -> set[Key]:
    """Write all parts of a batch. Skips what fenced-off leases have queued and returns their keys."""
    fenced = await check_written(db, batch, await write_parts(db, batch))
    await write_rest(db, batch)
    return fenced


async def write_parts(db: Database, batch: Batch) -> Written:
    """Write the parts that need no results: blobs before the rows that name them, rows of old leases before
    the epochs are raised."""
    blobs = [*batch.blobs, *(blob for creation in batch.creations for blob in creation.blobs)]
    if blobs:
        await db.run_bulk(PUT_BLOBS, [(blob.digest, blob.data) for blob in blobs])
    rows = await db.insert_events(batch.rows) if batch.rows else None
    updates = await _change_runs(db, batch.updates) if batch.updates else None
    created = await db.create_runs(batch.creations) if batch.creations else None
    if batch.releases:
        await db.run_bulk(RELEASE, [release.key for release in batch.releases])
    return Written(rows, updates, created)


async def check_written(db: Database, batch: Batch, written: Written) -> set[Key]:
    """Set the numbers of new runs; return the leases that were fenced off."""
    if written.created is not None:
        await written.created()
    rows = written.rows.rowcount * ROW_WIDTH if written.rows is not None else 0
    updates = written.updates.rowcount if written.updates is not None else 0
    if rows < len(batch.rows) or updates < len(batch.updates):
        return await find_fenced(db, batch)
    return set()


async def write_rest(db: Database, batch: Batch) -> None:
    """Write the parts that need the results of their own statements."""
    if batch.acquisitions:
        await _acquire(db, batch.acquisitions)
    for job in batch.jobs:
        try:
            job.outcome, job.failure = await job.call(db), None
        except PodiumError as error:
            job.failure = error
    if batch.notes:
        await write_notes(db, batch.notes)


async def find_fenced(db: Database, batch: Batch) -> set[Key]:
    """Return the leases in a batch that are no longer valid."""
    keys = batch.keys
    rest = "FROM run WHERE number IN ??"
    current = await db.select("number, epoch", rest, ([number for number, _ in keys],))
    return keys - {(number, epoch) for number, epoch in current}


async def _change_runs(db: Database, updates: dict[Key, RunUpdate]) -> Outcome:
    """Change the summaries of runs whose leases are valid."""
    outcome = await db.run_bulk(UPDATE, [change_of(key, update) for key, update in updates.items()])
    limits = [
        (*key, *ceilings(change.budget)) for key, change in updates.items() if change.budget is not None
    ]
    if limits:
        await db.run_bulk(UPDATE_CEILINGS, limits)
    return outcome


async def _acquire(db: Database, acquisitions: list[Acquisition]) -> None:
    """Raise the epochs. A run that occurs twice (two take-overs) is raised twice: the first is fenced at
    once."""
    firsts = {acquisition.run_id: acquisition for acquisition in reversed(acquisitions)}
    rows = [(acquisition.run_id, acquisition.driver, acquisition.expected) for acquisition in firsts.values()]
    await db.run_bulk(ACQUIRE, rows)
    standings = {
        run_id: Standing(number, epoch, last & SEQ, time_us, driver)
        for run_id, number, epoch, last, time_us, driver in await db.select(
            _STANDING, _STANDINGS, (list(firsts),)
        )
    }
    for run_id, acquisition in firsts.items():
        acquisition.outcome = standings.get(run_id)
        acquisition.failure = None if run_id in standings else unknown(run_id)
    again = [acquisition for acquisition in acquisitions if firsts[acquisition.run_id] is not acquisition]
    if again:
        await _acquire(db, again)


async def post_message(db: Database, run_id: str, kind: str, data: bytes) -> int:
    """Put a message into a run's inbox; return its id."""
    runs = await db.all("SELECT number FROM run WHERE run_id = ?", (run_id,))
    if not runs:
        raise unknown(run_id)
    return await db.post_message(runs[0][0], kind, data)


async def discard_messages(db: Database, message_ids: Collection[int]) -> None:
    await db.run("DELETE FROM inbox WHERE id IN ??", (list(message_ids),))


async def fence_run(db: Database, run_id: str, rows: Sequence[Row], update: RunUpdate) -> int:
    """Raise a run's epoch and end its log with `rows`; return the run's number."""
    await db.run("UPDATE run SET epoch = epoch + 1, driver = '' WHERE run_id = ?", (run_id,))
    runs = await db.all("SELECT number, epoch FROM run WHERE run_id = ?", (run_id,))
    if not runs:
        raise unknown(run_id)
    number, epoch = runs[0]
    base = number << 32
    sql = f"SELECT id & {SEQ}, time_us FROM event WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1"
    last = await db.all(sql, (base, base + SEQ))
    seq, last_us = last[0] if last else (0, 0)
    parameters: list[object] = []
    for row in rows:
        seq += 1
        last_us = max(last_us, row.time_us)
        parameters += (base | seq, epoch, last_us, row.path, row.type, row.data)
    if parameters:
        await db.insert_events(parameters)
    await _change_runs(db, {(number, epoch): update})
    return number
