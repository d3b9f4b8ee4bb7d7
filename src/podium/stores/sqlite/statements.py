"""SQL for batches and rare writes.

A thread that shares the interpreter with a busy event loop waits up to 5 ms for it after every statement, so
`executemany` of 200 rows can take a second where one statement takes milliseconds. For the same reason
results come back as a single row.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

from podium.engine.log import Row, RunUpdate
from podium.errors import PodiumError, StoreError
from podium.stores.batch import ROW_WIDTH, Acquisition, Batch, Creation, Key, Standing, ceilings, change_of
from podium.stores.rows import charge_columns, unknown
from podium.stores.sqlite.connection import Bulk
from podium.stores.sqlite.reply_cache import write_notes

_SEQ = 0xFFFFFFFF

EVENTS = Bulk(
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

_UPDATES = Bulk(
    13,
    "UPDATE run SET updated_us = b.updated_us, status = coalesce(b.status, run.status), "
    "stop_reason = coalesce(b.stop_reason, run.stop_reason), model = coalesce(b.model, run.model), "
    "rehearsal = coalesce(b.rehearsal, run.rehearsal), driven_s = coalesce(b.driven_s, run.driven_s), "
    "usd = coalesce(b.usd, run.usd), input_tokens = coalesce(b.input_tokens, run.input_tokens), "
    "output_tokens = coalesce(b.output_tokens, run.output_tokens), calls = coalesce(b.calls, run.calls), "
    "unpriced_calls = coalesce(b.unpriced_calls, run.unpriced_calls) "
    "FROM (WITH v (number, epoch, updated_us, status, stop_reason, model, rehearsal, driven_s, "
    "usd, input_tokens, output_tokens, calls, unpriced_calls) AS (VALUES {values}) SELECT * FROM v) AS b "
    "WHERE run.number = b.number AND run.epoch = b.epoch",
)

_CEILINGS = Bulk(
    7,
    "UPDATE run SET max_usd = coalesce(b.max_usd, run.max_usd), "
    "max_tokens = coalesce(b.max_tokens, run.max_tokens), max_calls = coalesce(b.max_calls, run.max_calls), "
    "max_seconds = coalesce(b.max_seconds, run.max_seconds), "
    "max_depth = coalesce(b.max_depth, run.max_depth) "
    "FROM (WITH v (number, epoch, max_usd, max_tokens, max_calls, max_seconds, max_depth) "
    "AS (VALUES {values}) SELECT * FROM v) AS b WHERE run.number = b.number AND run.epoch = b.epoch",
)
"""A statement of its own, because ceilings rarely change, while the rest of a summary changes with almost
every step."""

_BLOBS = Bulk(
    2,
    "INSERT OR IGNORE INTO blob (digest, data) "
    "WITH b (digest, data) AS (VALUES {values}) SELECT digest, data FROM b WHERE typeof(digest) = 'blob'",
    binary=(0, 1),
    filler=0,
)

_RUNS = Bulk(
    26,
    "INSERT INTO run (number, run_id, status, stop_reason, updated_us, driven_s, usd, input_tokens, "
    "output_tokens, calls, unpriced_calls, model, rehearsal, created_us, parent, workflow, request, owner, "
    "max_usd, max_tokens, max_calls, max_seconds, max_depth, start_key, epoch, driver) "
    "WITH b AS (VALUES {values}) SELECT * FROM b WHERE column1 IS NOT NULL",
)

_LIBERATIONS = Bulk(
    2,
    "UPDATE run SET driver = '' FROM (WITH v (number, epoch) AS (VALUES {values}) SELECT * FROM v) AS b "
    "WHERE run.number = b.number AND run.epoch = b.epoch",
)

_ACQUISITIONS = Bulk(
    3,
    "UPDATE run SET epoch = run.epoch + 1, driver = b.driver "
    "FROM (WITH v (run_id, driver, expected) AS (VALUES {values}) SELECT * FROM v) AS b "
    "WHERE run.run_id = b.run_id AND run.driver = coalesce(b.expected, run.driver)",
)

_STANDINGS = Bulk(
    1,
    "SELECT group_concat(run_id || char(31) || number || char(31) || epoch || char(31) || last || char(31) "
    "|| coalesce((SELECT time_us FROM event WHERE id = last), 0) || char(31) || driver, char(30)) "
    "FROM (SELECT run_id, number, epoch, driver, coalesce((SELECT max(id) FROM event "
    "WHERE id BETWEEN number << 32 AND (number << 32) + 0xffffffff), 0) AS last "
    "FROM run WHERE run_id IN (VALUES {values}))",
)


def write(db: sqlite3.Connection, batch: Batch) -> set[Key]:
    """Write all of a batch, or raise and write nothing. Skips what fenced-off leases have queued and returns
    their keys."""
    if batch.only_rows and len(batch.rows) <= EVENTS.most:  # one statement is a transaction of its own
        if not batch.rows:
            return set()
        written = EVENTS.execute(db, batch.rows)
        return set() if written * ROW_WIDTH == len(batch.rows) else _find_fenced(db, batch)
    db.execute("BEGIN IMMEDIATE")
    try:
        fenced = _write_parts(db, batch)
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise
    return fenced


def change_run(db: sqlite3.Connection, key: Key, update: RunUpdate) -> None:
    """Change one summary, if the lease is still valid."""
    _UPDATES.execute(db, list(change_of(key, update)))
    _change_ceilings(db, {key: update})


def _write_parts(db: sqlite3.Connection, batch: Batch) -> set[Key]:
    """Write all parts: blobs before the rows that name them, rows of old leases before the epochs are
    raised."""
    fenced: set[Key] = set()
    blobs = [*batch.blobs, *(blob for creation in batch.creations for blob in creation.blobs)]
    if blobs:
        _BLOBS.execute(db, [part for blob in blobs for part in (blob.digest, blob.data)])
    written = EVENTS.execute(db, batch.rows) * ROW_WIDTH if batch.rows else 0
    changes = list(chain.from_iterable(change_of(key, update) for key, update in batch.updates.items()))
    changed = _UPDATES.execute(db, changes) if changes else 0
    _change_ceilings(db, batch.updates)
    if written < len(batch.rows) or changed < len(batch.updates):
        fenced = _find_fenced(db, batch)
    if batch.creations:
        _create(db, batch.creations)
    if batch.liberations:
        _LIBERATIONS.execute(db, [part for liberation in batch.liberations for part in liberation.key])
    if batch.acquisitions:
        _acquire(db, batch.acquisitions)
    for job in batch.jobs:
        try:
            job.outcome, job.failure = job.call(db), None
        except PodiumError as error:
            job.failure = error
    if batch.notes:
        write_notes(db, batch.notes)
    return fenced


def _find_fenced(db: sqlite3.Connection, batch: Batch) -> set[Key]:
    marks = ", ".join(str(number) for number, _ in batch.keys)
    current = set(db.execute(f"SELECT number, epoch FROM run WHERE number IN ({marks})"))
    return batch.keys - current


def _change_ceilings(db: sqlite3.Connection, updates: dict[Key, RunUpdate]) -> None:
    changes = [
        part
        for key, update in updates.items()
        if update.budget is not None
        for part in (*key, *ceilings(update.budget))
    ]
    if changes:
        _CEILINGS.execute(db, changes)


def _create(db: sqlite3.Connection, creations: list[Creation]) -> None:
    """Create runs. The write lock is held, so the next numbers are free."""
    (number,) = db.execute("SELECT coalesce(max(number), 0) FROM run").fetchone()
    runs: list[Any] = []
    rows: list[Any] = []
    for creation in creations:
        number += 1
        run = creation.run
        runs += (
            number, run.run_id, run.status, run.stop_reason, run.updated_us, run.driven_s,
            *charge_columns(run.usage),
            run.model, run.rehearsal, run.created_us, run.parent, run.workflow, run.request, run.owner,
            *ceilings(run.budget), run.start_key, creation.epoch, creation.driver,
        )  # fmt: skip
        for seq, time_us, path, kind, data in creation.rows:
            rows += (number << 32 | seq, creation.epoch, time_us, path, kind, data)
        creation.made(number)
    _RUNS.execute(db, runs)
    if rows and EVENTS.execute(db, rows) * ROW_WIDTH != len(rows):
        raise StoreError("The first rows of a run were not accepted.")


def _acquire(db: sqlite3.Connection, acquisitions: list[Acquisition]) -> None:
    """Raise the epochs. A run that occurs twice (two take-overs) is raised twice: the first is fenced at
    once."""
    now = {acquisition.run_id: acquisition for acquisition in reversed(acquisitions)}
    _ACQUISITIONS.execute(
        db, [part for one in now.values() for part in (one.run_id, one.driver, one.expected)]
    )
    standings: dict[str, Standing] = {}
    for text in _STANDINGS.query(db, list(now)):
        for entry in text.split("\x1e") if text else ():
            run_id, number, epoch, last, time_us, driver = entry.split("\x1f")
            standings[run_id] = Standing(int(number), int(epoch), int(last) & _SEQ, int(time_us), driver)
    for run_id, acquisition in now.items():
        acquisition.outcome = standings.get(run_id)
        acquisition.failure = None if run_id in standings else unknown(run_id)
    again = [acquisition for acquisition in acquisitions if now[acquisition.run_id] is not acquisition]
    if again:
        _acquire(db, again)


def post_message(db: sqlite3.Connection, run_id: str, kind: str, data: bytes) -> int:
    """Put a message into a run's inbox; return its id."""
    number, _ = _find(db, run_id)
    sql = "INSERT INTO inbox (run, kind, data) VALUES (?, ?, ?)"
    return int(db.execute(sql, (number, kind, data)).lastrowid or 0)


def discard_messages(db: sqlite3.Connection, message_ids: Collection[int]) -> None:
    marks = ", ".join(str(int(message_id)) for message_id in message_ids)
    db.execute(f"DELETE FROM inbox WHERE id IN ({marks})")


def fence_run(db: sqlite3.Connection, run_id: str, rows: Sequence[Row], update: RunUpdate) -> int:
    """Raise a run's epoch and end its log with `rows`; return the run's number."""
    number, epoch = _find(db, run_id)
    base = number << 32
    db.execute("UPDATE run SET epoch = epoch + 1, driver = '' WHERE number = ?", (number,))
    sql = "SELECT id & 0xffffffff, time_us FROM event WHERE id BETWEEN ? AND ? ORDER BY id DESC LIMIT 1"
    seq, last_us = db.execute(sql, (base, base + 0xFFFFFFFF)).fetchone() or (0, 0)
    parameters: list[object] = []
    for row in rows:
        seq += 1
        last_us = max(last_us, row.time_us)
        parameters += (base | seq, epoch + 1, last_us, row.path, row.type, row.data)
    if parameters:
        EVENTS.execute(db, parameters)
    change_run(db, (number, epoch + 1), update)
    return number


def _find(db: sqlite3.Connection, run_id: str) -> tuple[int, int]:
    found = db.execute("SELECT number, epoch FROM run WHERE run_id = ?", (run_id,)).fetchone()
    if found is None:
        raise unknown(run_id)
    return found
