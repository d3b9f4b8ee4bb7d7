"""Read queries. They run on the event loop's thread, in short slices.

A reader thread would be slower and could starve: it has to reacquire the interpreter after every row, which
takes milliseconds each time beside a busy event loop. A slice of 1,000 rows takes about one.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from podium.engine.budget import Budget
from podium.engine.log import DAMAGED, InboxMessage, Row, RunRow, RunTotal
from podium.engine.store_parts import CacheShare, Sample
from podium.errors import StoreError
from podium.stores.rows import (
    MOST_USD,
    SHORTEST_BEGINNING,
    charge_of,
    intact,
    message_data,
    the_one,
    time_of,
    unknown,
)
from podium.stores.sqlite import lock
from podium.stores.sqlite import reply_cache as samples
from podium.stores.sqlite.connection import Bulk, explain
from podium.stores.sqlite.facts import FactReader

SLICE = 1000
_SEQ = 0xFFFFFFFF
_LAST_CHARACTER = "\U0010ffff"
_NEWEST = 1 << 31
"""Greater than every run number."""

_RUN = (
    "SELECT run_id, workflow, request, status, stop_reason, created_us, updated_us, model, rehearsal, "
    "parent, usd, input_tokens, output_tokens, calls, unpriced_calls, driven_s, driver, owner, "
    "max_usd, max_tokens, max_calls, max_seconds, max_depth, start_key FROM run "
)
_EVENTS = (
    "SELECT id & 0xffffffff, time_us, path, type, data FROM event "
    "WHERE id > ? AND id <= ? {types}ORDER BY id LIMIT ?"
)
_LAST = Bulk(
    1,
    "WITH b (number) AS (VALUES {values}) SELECT group_concat((SELECT max(id) FROM event "
    "WHERE id BETWEEN number << 32 AND (number << 32) + 0xffffffff)) FROM b WHERE number IS NOT NULL",
)
_SUMS = ", ".join(
    f"sum({column} >> 32), sum({column} & 0xffffffff)"
    for column in ("input_tokens", "output_tokens", "calls", "unpriced_calls")
)
"""The halves of each sum: SQLite raises an error for an integer sum above 64 bits."""


class SqliteReader:
    """The read connection and the queries over it."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path
        self._locks = lock.folder_beside(path)
        self.brain = FactReader(db, path)
        """Queries for facts."""

    def close(self) -> None:
        self._db.close()

    # ── runs ──

    def number(self, run_id: str) -> int:
        """Return the run's number in this database."""
        return self._one("number", run_id)

    def run(self, run_id: str) -> RunRow:
        """Return the summary of the run whose id is, or unambiguously begins with, `run_id`."""
        found = self._all(_RUN + "WHERE run_id = ?", (run_id,))
        if not found and len(run_id) >= SHORTEST_BEGINNING:
            bounds = (run_id, run_id + _LAST_CHARACTER)
            found = self._all(_RUN + "WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT 2", bounds)
        return self._summary(the_one(found, run_id))

    def runs(
        self,
        status: Collection[str],
        workflow: str,
        limit: int,
        before: str,
        owner: str | None = None,
        text: str = "",
    ) -> list[RunRow]:
        """Return runs, newest first. Whether a run is really driven is known only after its lock is checked,
        so pages are read until enough runs have the right status."""
        stored = {*status, "running"} if "paused" in status else set(status)
        wanted, rest = _narrowed(stored, workflow, owner, text)
        sql = f"{_RUN}WHERE {' AND '.join(['number < ?', *wanted])} ORDER BY number DESC LIMIT ?"
        runs: list[RunRow] = []
        number = self.number(before) if before else _NEWEST
        while len(runs) < limit:
            page = [self._summary(row) for row in self._all(sql, (number, *rest, limit))]
            runs += [run for run in page if not status or run.status in status]
            if len(page) < limit:
                break
            number = self.number(page[-1].run_id)
        return runs[:limit]

    def start(self, owner: str, key: str) -> RunRow | None:
        """Return the owner's run with this idempotency key, or None."""
        found = self._all(f"{_RUN}WHERE owner = ? AND start_key = ? AND start_key != ''", (owner, key))
        return self._summary(found[0]) if found else None

    def changed(self, since_us: int, owner: str | None) -> list[RunRow]:
        """Return runs that were changed at or after a time."""
        wanted, rest = _narrowed((), "", owner, "")
        sql = f"{_RUN}WHERE {' AND '.join(['updated_us >= ?', *wanted])} ORDER BY updated_us, number"
        return [self._summary(row) for row in self._all(sql, (since_us, *rest))]

    def totals(self, owner: str | None) -> list[RunTotal]:
        """Return the number of runs and their spending, by workflow and status."""
        wanted, rest = _narrowed((), "", owner, "")
        sql = (
            f"SELECT workflow, status, count(*), sum(min(max(usd, 0.0), {MOST_USD})), {_SUMS} "
            f"FROM run WHERE {' AND '.join(['1', *wanted])} GROUP BY workflow, status"
        )
        return [_total(row) for row in self._all(sql, rest)]

    def _summary(self, row: tuple[Any, ...]) -> RunRow:
        run_id, workflow, request, status, stop_reason, created_us, updated_us, model, rehearsal, parent = (
            row[:10]
        )
        holder = lock.holder(self._locks, row[16])
        if status == "running" and not holder:
            status = "paused"
        return RunRow(
            run_id=run_id, workflow=workflow, request=request, status=status, stop_reason=stop_reason,
            created_us=time_of(created_us), updated_us=time_of(updated_us),
            model=model, rehearsal=bool(rehearsal),
            parent=parent, usage=charge_of(*row[10:15]), driven_s=row[15], holder=holder, owner=row[17],
            budget=Budget(*row[18:23]), start_key=row[23],
        )  # fmt: skip

    def driver(self, run_id: str) -> str:
        """Return the mark of a run's driver, alive or dead."""
        return self._one("driver", run_id)

    # ── events and blobs ──

    async def rows(self, number: int, after: int, limit: int, types: Collection[str]) -> list[Row]:
        """Read rows in slices, so that a long log does not block the event loop. A log only grows, so the
        slices are consistent."""
        rows: list[Row] = []
        while True:
            size = min(SLICE, limit - len(rows)) if limit else SLICE
            found = self.slice(number, after, size, types)
            rows += found
            if len(found) < size or len(rows) == limit:
                return rows
            after = found[-1].seq
            await asyncio.sleep(0)

    def slice(self, number: int, after: int, size: int = SLICE, types: Collection[str] = ()) -> list[Row]:
        base = number << 32
        sql = _EVENTS.format(types=f"AND type IN ({', '.join('?' * len(types))}) " if types else "")
        return [Row._make(row) for row in self._all(sql, (base | after, base | _SEQ, *types, size))]

    def last_seqs(self, numbers: list[int]) -> dict[int, int]:
        """Return the highest sequence number of each of these runs that has any event, in one query."""
        try:
            texts = _LAST.query(self._db, numbers)
        except sqlite3.Error as error:
            raise explain(error, self._path) from error
        ids = [int(last) for text in texts if text for last in text.split(",")]
        return {last >> 32: last & _SEQ for last in ids}

    def blob(self, digest: str) -> bytes:
        found = self._all("SELECT data FROM blob WHERE digest = ?", (_digest(digest),))
        if not found:
            raise StoreError(f"The store has no blob {digest}.", hint=DAMAGED)
        return intact(bytes(found[0][0]), digest)

    # ── reply cache ──

    def sample(self, key: str, skip: Collection[str]) -> Sample | None:
        return samples.find(self._db, self._path, key, skip)

    def shares(self) -> list[CacheShare]:
        return samples.shares(self._db, self._path)

    # ── inbox ──

    def inbox(self, run_id: str, number: int, after: int = 0) -> list[InboxMessage]:
        sql = "SELECT id, kind, data FROM inbox WHERE run = ? AND id > ? ORDER BY id"
        return [
            InboxMessage(id, run_id, kind, message_data(id, data))
            for id, kind, data in self._all(sql, (number, after))
        ]

    def posted(self, after: int) -> list[tuple[int, int, str, bytes]]:
        """Return the messages in any inbox after a message id: id, run number, kind, data."""
        return self._all("SELECT id, run, kind, data FROM inbox WHERE id > ? ORDER BY id", (after,))

    # ── changes ──

    def version(self) -> int:
        """Return a number that changes when another connection, of any process, has committed."""
        return self._all("PRAGMA data_version")[0][0]

    def _one(self, column: str, run_id: str) -> Any:
        found = self._all(f"SELECT {column} FROM run WHERE run_id = ?", (run_id,))
        if not found:
            raise unknown(run_id)
        return found[0][0]

    def _all(self, sql: str, parameters: Iterable[Any] = ()) -> list[Any]:
        try:
            return self._db.execute(sql, tuple(parameters)).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self._path) from error


def _total(row: tuple[Any, ...]) -> RunTotal:
    """Combine the halves of the sums."""
    workflow, status, runs, usd, *halves = row
    sums = [(high << 32) + low for high, low in zip(halves[::2], halves[1::2], strict=True)]
    return RunTotal(workflow, status, runs, charge_of(usd, *sums))


def _narrowed(
    status: Collection[str], workflow: str, owner: str | None, text: str
) -> tuple[list[str], list[str]]:
    """Return SQL conditions on runs, and their parameters."""
    wanted: list[str] = []
    rest: list[str] = []
    if workflow:
        wanted.append("workflow = ?")
        rest.append(workflow)
    if status:
        wanted.append(f"status IN ({', '.join('?' * len(status))})")
        rest += sorted(status)
    if owner is not None:
        wanted.append("owner = ?")
        rest.append(owner)
    if text:
        wanted.append("(instr(lower(request), lower(?)) OR substr(run_id, 1, length(?)) = lower(?))")
        rest += [text] * 3
    return wanted, rest


def _digest(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""  # an invalid digest names no blob
