"""SQL for batches and rare writes.

Rows are accepted only under the current epoch of the run. The run is locked `FOR SHARE` while its rows are
inserted: a process that takes it over waits for them and finds them in the log.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from psycopg import AsyncCursor
from psycopg.errors import InvalidParameterValue
from psycopg.pq import TransactionStatus

from podium.engine.log import Row, RunUpdate
from podium.errors import PodiumError, StoreError
from podium.stores.batch import (
    ROW_WIDTH,
    Acquisition,
    Batch,
    Blob,
    Creation,
    Key,
    Standing,
    ceilings,
    change_of,
)
from podium.stores.postgres.connection import Db, Numbers, Texts, Values
from podium.stores.postgres.reply_cache import write_notes
from podium.stores.postgres.tails import CHANNEL
from podium.stores.rows import charge_columns, unknown

_SEQ = 0xFFFFFFFF
_OPEN = (TransactionStatus.INTRANS, TransactionStatus.INERROR)

Cursor = AsyncCursor[tuple[Any, ...]]

_EVENTS = (
    "WITH held AS MATERIALIZED (SELECT number, epoch FROM run WHERE number = ANY(%b::bigint[]) "
    "ORDER BY number FOR SHARE) "
    "INSERT INTO event (id, time_us, path, type, data) "
    "SELECT b.id, b.time_us, b.path, b.type, b.data "
    "FROM unnest(%b::bigint[], %b::bigint[], %b::bigint[], %b::text[], %b::text[], %b::bytea[]) "
    "AS b (id, epoch, time_us, path, type, data) "
    "JOIN held ON held.number = b.id >> 32 AND held.epoch = b.epoch"
)
_UPDATES = (
    "UPDATE run SET updated_us = b.updated_us, status = coalesce(b.status, run.status), "
    "stop_reason = coalesce(b.stop_reason, run.stop_reason), model = coalesce(b.model, run.model), "
    "rehearsal = coalesce(b.rehearsal, run.rehearsal), driven_s = coalesce(b.driven_s, run.driven_s), "
    "usd = coalesce(b.usd, run.usd), input_tokens = coalesce(b.input_tokens, run.input_tokens), "
    "output_tokens = coalesce(b.output_tokens, run.output_tokens), calls = coalesce(b.calls, run.calls), "
    "unpriced_calls = coalesce(b.unpriced_calls, run.unpriced_calls) "
    "FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::text[], %s::text[], "
    "%s::boolean[], %s::float8[], %s::float8[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]) "
    "AS b (number, epoch, updated_us, status, stop_reason, model, rehearsal, driven_s, "
    "usd, input_tokens, output_tokens, calls, unpriced_calls) "
    "WHERE run.number = b.number AND run.epoch = b.epoch"
)
_CEILINGS = (
    "UPDATE run SET max_usd = coalesce(b.max_usd, run.max_usd), "
    "max_tokens = coalesce(b.max_tokens, run.max_tokens), max_calls = coalesce(b.max_calls, run.max_calls), "
    "max_seconds = coalesce(b.max_seconds, run.max_seconds), "
    "max_depth = coalesce(b.max_depth, run.max_depth) "
    "FROM unnest(%s::bigint[], %s::bigint[], %s::float8[], %s::bigint[], %s::bigint[], %s::float8[], "
    "%s::bigint[]) AS b (number, epoch, max_usd, max_tokens, max_calls, max_seconds, max_depth) "
    "WHERE run.number = b.number AND run.epoch = b.epoch"
)
_BLOBS = (
    "INSERT INTO blob (digest, data) SELECT DISTINCT ON (digest) digest, data "
    "FROM unnest(%b::bytea[], %b::bytea[]) AS b (digest, data) ON CONFLICT DO NOTHING"
)
_RUN_COLUMNS = (
    "run_id, status, stop_reason, updated_us, driven_s, usd, input_tokens, output_tokens, calls, "
    "unpriced_calls, model, rehearsal, created_us, parent, workflow, request, owner, max_usd, max_tokens, "
    "max_calls, max_seconds, max_depth, start_key, epoch, driver"
)
_CREATIONS = (
    f"WITH made AS (INSERT INTO run ({_RUN_COLUMNS}) SELECT {_RUN_COLUMNS} "
    "FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::float8[], %s::float8[], %s::bigint[], "
    "%s::bigint[], %s::bigint[], %s::bigint[], %s::text[], %s::boolean[], %s::bigint[], %s::text[], "
    "%s::text[], %s::text[], %s::text[], %s::float8[], %s::bigint[], %s::bigint[], %s::float8[], "
    "%s::bigint[], %s::text[], %s::bigint[], %s::text[]) WITH ORDINALITY "
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
_LIBERATIONS = (
    "UPDATE run SET driver = '' FROM unnest(%s::bigint[], %s::bigint[]) AS b (number, epoch) "
    "WHERE run.number = b.number AND run.epoch = b.epoch"
)
_ACQUISITIONS = (
    "UPDATE run SET epoch = run.epoch + 1, driver = b.driver "
    "FROM unnest(%s::text[], %s::text[], %s::text[]) AS b (run_id, driver, expected) "
    "WHERE run.run_id = b.run_id AND run.driver = coalesce(b.expected, run.driver)"
)
_STANDINGS = (
    "SELECT run_id, number, epoch, coalesce(last.id, 0), coalesce(last.time_us, 0), driver FROM run "
    "LEFT JOIN LATERAL (SELECT id, time_us FROM event WHERE id BETWEEN number << 32 AND "
    "(number << 32) + 4294967295 ORDER BY id DESC LIMIT 1) AS last ON true WHERE run_id = ANY(%s::text[])"
)


class Receipt(NamedTuple):
    """Identifies a transaction of several statements when the response to its commit was lost."""

    number: str
    """The server's transaction id. After a crash it may be reused, so it only shows whether the transaction
    is still in progress."""
    ticket: str
    """A random token that is in the database if, and only if, the transaction was committed."""


async def write(db: Db, batch: Batch, writer: str, note: Callable[[Receipt], None]) -> set[Key]:
    """Write all of a batch, or raise and write nothing. Skips what fenced-off leases have queued and returns
    their keys. A transaction of several statements leaves a receipt."""
    if batch.only_rows:  # one statement is a transaction of its own
        return await _write_rows(db, batch)
    if batch.acquisitions or batch.jobs or batch.notes:
        async with db.transaction():
            if batch.has_errands or batch.rows or batch.updates:
                await _leave_receipt(db, writer, note)
            fenced = await _check_written(db, batch, await _write_parts(db, batch))
            await _write_rest(db, batch)
        return fenced
    return await _write_at_once(db, batch, writer, note)


async def _write_at_once(db: Db, batch: Batch, writer: str, note: Callable[[Receipt], None]) -> set[Key]:
    """Write a batch in which no statement needs the result of another, in two round trips. The receipt has to
    be known before the commit is sent."""
    alone = db.info.transaction_status is TransactionStatus.IDLE
    try:
        async with db.pipeline():
            if alone:
                await db.execute("BEGIN", prepare=False)
            await _leave_receipt(db, writer, note)
            written = await _write_parts(db, batch)
            if alone:
                await db.execute("COMMIT", prepare=False)
    except BaseException:
        if alone and db.info.transaction_status in _OPEN:
            await db.rollback()
        raise
    return await _check_written(db, batch, written)


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
    found = await db.execute(
        "SELECT 1 FROM receipt WHERE writer = %s AND ticket = %s", (writer, receipt.ticket)
    )
    return bool(await found.fetchall())


async def _write_rows(db: Db, batch: Batch) -> set[Key]:
    if not batch.rows:
        return set()
    written = await insert_rows(db, batch.rows)
    return set() if written * ROW_WIDTH == len(batch.rows) else await find_fenced(db, batch)


async def insert_rows(db: Db, rows: list[Any]) -> int:
    """Insert the rows of valid leases; return how many were written."""
    return (await _insert(db, rows)).rowcount


async def _insert(db: Db, rows: list[Any]) -> Cursor:
    ids = Numbers(rows[::ROW_WIDTH])
    return await db.execute(
        _EVENTS,
        (
            Numbers({one >> 32 for one in ids}), ids, Numbers(rows[1::ROW_WIDTH]),
            Numbers(rows[2::ROW_WIDTH]), Texts([_text(path) for path in rows[3::ROW_WIDTH]]),
            Texts(rows[4::ROW_WIDTH]), Values(rows[5::ROW_WIDTH]),
        ),
    )  # fmt: skip


async def change_run(db: Db, key: Key, update: RunUpdate) -> None:
    """Change one summary, if the lease is still valid."""
    await db.execute(_UPDATES, _columns([map(_text, change_of(key, update))]))
    await _change_ceilings(db, {key: update})


class Written(NamedTuple):
    """The cursors of a batch whose results are checked."""

    rows: Cursor | None
    updates: Cursor | None
    creations: Cursor | None


async def _write_parts(db: Db, batch: Batch) -> Written:
    """Write the parts that need no results: blobs before the rows that name them, rows of old leases before
    the epochs are raised."""
    await _put_blobs(db, [*batch.blobs, *(blob for one in batch.creations for blob in one.blobs)])
    rows = await _insert(db, batch.rows) if batch.rows else None
    changes = [map(_text, change_of(key, update)) for key, update in batch.updates.items()]
    updates = await db.execute(_UPDATES, _columns(changes)) if changes else None
    await _change_ceilings(db, batch.updates)
    creations = await _create(db, batch.creations) if batch.creations else None
    if batch.liberations:
        await db.execute(_LIBERATIONS, _columns([one.key for one in batch.liberations]))
    return Written(rows, updates, creations)


async def _check_written(db: Db, batch: Batch, written: Written) -> set[Key]:
    """Set the numbers of new runs; return the leases that were fenced off."""
    if written.creations is not None:
        made: dict[str, int] = dict(await written.creations.fetchall())
        for creation in batch.creations:
            number = made.pop(creation.run.run_id, None)
            if number is None:
                creation.failure = StoreError(f"There is a run {creation.run.run_id} already.")
            else:
                creation.made(number)
    rows = written.rows.rowcount * ROW_WIDTH if written.rows is not None else 0
    updates = written.updates.rowcount if written.updates is not None else 0
    if rows < len(batch.rows) or updates < len(batch.updates):
        return await find_fenced(db, batch)
    return set()


async def _write_rest(db: Db, batch: Batch) -> None:
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


async def _put_blobs(db: Db, blobs: list[Blob]) -> None:
    if blobs:
        await db.execute(
            _BLOBS, (Values([blob.digest for blob in blobs]), Values([blob.data for blob in blobs]))
        )


async def find_fenced(db: Db, batch: Batch) -> set[Key]:
    """Return the leases in a batch that are no longer valid."""
    found = await db.execute(
        "SELECT number, epoch FROM run WHERE number = ANY(%s)", ([number for number, _ in batch.keys],)
    )
    current: set[Key] = {(number, epoch) for number, epoch in await found.fetchall()}
    return batch.keys - current


async def _change_ceilings(db: Db, updates: dict[Key, RunUpdate]) -> None:
    changes = [
        (*key, *ceilings(update.budget)) for key, update in updates.items() if update.budget is not None
    ]
    if changes:
        await db.execute(_CEILINGS, _columns(changes))


async def _create(db: Db, creations: list[Creation]) -> Cursor:
    """Create runs; numbers follow the order of creation. An id that already exists fails alone."""
    runs: list[tuple[Any, ...]] = []
    rows: list[tuple[Any, ...]] = []
    for creation in creations:
        run = creation.run
        runs.append((
            run.run_id, run.status, _text(run.stop_reason), run.updated_us, run.driven_s,
            *charge_columns(run.usage),
            _text(run.model), run.rehearsal, run.created_us, run.parent, _text(run.workflow),
            _text(run.request), run.owner, *ceilings(run.budget), run.start_key, creation.epoch,
            creation.driver,
        ))  # fmt: skip
        rows += [
            (run.run_id, seq, time_us, _text(path), kind, data)
            for seq, time_us, path, kind, data in creation.rows
        ]
    ids, seqs, times, paths, kinds, values = _columns(rows) if rows else ([],) * 6
    logged = (Texts(ids), Numbers(seqs), Numbers(times), Texts(paths), Texts(kinds), Values(values))
    return await db.execute(_CREATIONS, [*_columns(runs), *logged])


async def _acquire(db: Db, acquisitions: list[Acquisition]) -> None:
    """Raise the epochs. A run that occurs twice (two take-overs) is raised twice: the first is fenced at
    once."""
    now = {acquisition.run_id: acquisition for acquisition in reversed(acquisitions)}
    await db.execute(
        _ACQUISITIONS, _columns([(one.run_id, one.driver, one.expected) for one in now.values()])
    )
    found = await (await db.execute(_STANDINGS, (list(now),))).fetchall()
    standings = {
        run_id: Standing(number, epoch, last & _SEQ, time_us, driver)
        for run_id, number, epoch, last, time_us, driver in found
    }
    for run_id, acquisition in now.items():
        acquisition.outcome = standings.get(run_id)
        acquisition.failure = None if run_id in standings else unknown(run_id)
    again = [acquisition for acquisition in acquisitions if now[acquisition.run_id] is not acquisition]
    if again:
        await _acquire(db, again)


def _columns(rows: list[Any]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _text(value: Any) -> Any:
    """Replace NUL characters, which PostgreSQL's text cannot hold; other types are unchanged."""
    return value.replace("\0", "\ufffd") if isinstance(value, str) and "\0" in value else value


async def post_message(db: Db, run_id: str, kind: str, data: bytes) -> int:
    """Put a message into a run's inbox; return its id."""
    sql = "INSERT INTO inbox (run, kind, data) SELECT number, %s, %s FROM run WHERE run_id = %s RETURNING id"
    row = await (await db.execute(sql, (kind, data, run_id))).fetchone()
    if row is None:
        raise unknown(run_id)
    await db.execute("SELECT pg_notify(%s, 'inbox:')", (CHANNEL,))
    return int(row[0])


async def discard_messages(db: Db, message_ids: Collection[int]) -> None:
    await db.execute("DELETE FROM inbox WHERE id = ANY(%s::bigint[])", (list(message_ids),))


async def fence_run(db: Db, run_id: str, rows: Sequence[Row], update: RunUpdate) -> int:
    """Raise a run's epoch and end its log with `rows`; return the run's number."""
    sql = "UPDATE run SET epoch = epoch + 1, driver = '' WHERE run_id = %s RETURNING number, epoch"
    found = await (await db.execute(sql, (run_id,))).fetchone()
    if found is None:
        raise unknown(run_id)
    number, epoch = found
    base = number << 32
    sql = "SELECT id & 4294967295, time_us FROM event WHERE id BETWEEN %s AND %s ORDER BY id DESC LIMIT 1"
    seq, last_us = await (await db.execute(sql, (base, base + 0xFFFFFFFF))).fetchone() or (0, 0)
    parameters: list[object] = []
    for row in rows:
        seq += 1
        last_us = max(last_us, row.time_us)
        parameters += (base | seq, epoch, last_us, row.path, row.type, row.data)
    if parameters:
        await insert_rows(db, parameters)
    await change_run(db, (number, epoch), update)
    return number
