"""The rare writes: what people outside of a run do to it. Each raises before it writes, or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence

from podium.engine.log import Row, RunUpdate
from podium.stores.finding import unknown
from podium.stores.sqlite.writing import EVENTS, change_run


def post_message(db: sqlite3.Connection, run_id: str, kind: str, data: bytes) -> int:
    """Put a message into a run's inbox; returns its id."""
    number, _ = _find(db, run_id)
    sql = "INSERT INTO inbox (run, kind, data) VALUES (?, ?, ?)"
    return int(db.execute(sql, (number, kind, data)).lastrowid or 0)


def discard_messages(db: sqlite3.Connection, message_ids: Collection[int]) -> None:
    marks = ", ".join(str(int(message_id)) for message_id in message_ids)
    db.execute(f"DELETE FROM inbox WHERE id IN ({marks})")


def fence_run(db: sqlite3.Connection, run_id: str, rows: Sequence[Row], update: RunUpdate) -> int:
    """Raise a run's epoch and end its log with `rows`; returns the run's number."""
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
