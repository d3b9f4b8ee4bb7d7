"""Read queries for runs, events, blobs and inboxes, in shared SQL."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from podium.dimensions import DIMENSIONS
from podium.engine.budget import Budget
from podium.engine.log import DAMAGED, InboxMessage, Row, RunRow, RunTotal
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
from podium.stores.sql import SEQ, Queries, filters

SLICE = 1000
"""Rows per query of a log."""
_LAST_CHARACTER = "\U0010ffff"
_NEWEST = 1 << 31
"""Greater than every run number."""
_COLUMNS = (
    "number, run_id, workflow, request, status, stop_reason, created_us, updated_us, model, rehearsal, "
    "parent, usd, input_tokens, output_tokens, calls, unpriced_calls, driven_s, owner, start_key, "
    + ", ".join(f"max_{name}" for name in DIMENSIONS)
)
_WIDTH = len(_COLUMNS.split(","))
_TOTALS = (
    "SELECT workflow, status, count(*), "
    f"sum(CASE WHEN usd > {MOST_USD} THEN {MOST_USD} WHEN usd > 0 THEN usd ELSE 0 END), "
    + ", ".join(
        f"sum({column} >> 32), sum({column} & {SEQ})"
        for column in ("input_tokens", "output_tokens", "calls", "unpriced_calls")
    )
    + " FROM run "
)
"""Each sum in two halves, because a sum of 64-bit integers may not fit into one."""
_EVENTS = (
    f"SELECT id & {SEQ}, time_us, path, type, data FROM event WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
)
_EVENTS_OF = _EVENTS.replace("ORDER", "AND type IN ?? ORDER")


class Holders(Protocol):
    """SQL that finds the drivers of runs, and the check whether one is alive."""

    driver_columns: str
    """Columns that describe the driver of a run."""
    driver_join: str
    """A join of `run` with the table that they are in, if any."""

    @property
    def holder(self) -> Callable[..., str]:
        """Returns the display name of a driver from these columns; empty if there is none or it is gone."""
        ...


class Reader:
    """Read queries. A log only grows, so slices of it are consistent."""

    def __init__(self, queries: Queries, holders: Holders) -> None:
        self._queries = queries
        self._holders = holders
        self._run = f"SELECT {_COLUMNS}, {holders.driver_columns} FROM run {holders.driver_join} "

    # ── runs ──

    async def number(self, run_id: str) -> int:
        """Return the run's number in this database."""
        rows = await self._queries.all("SELECT number FROM run WHERE run_id = ?", (run_id,))
        if not rows:
            raise unknown(run_id)
        return rows[0][0]

    async def run(self, run_id: str) -> RunRow:
        """Return the summary of the run whose id is, or unambiguously begins with, `run_id`."""
        rows = await self._queries.all(f"{self._run}WHERE run_id = ?", (run_id,))
        if not rows and len(run_id) >= SHORTEST_BEGINNING:
            sql = f"{self._run}WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT 2"
            rows = await self._queries.all(sql, (run_id, run_id + _LAST_CHARACTER))
        return self._summary(the_one(rows, run_id))

    async def runs(
        self,
        *,
        status: Collection[str] = (),
        workflow: str = "",
        limit: int = 50,
        before: str = "",
        owner: str | None = None,
        text: str = "",
    ) -> list[RunRow]:
        """Return runs, newest first. Whether a run is really driven is known only after its driver is
        checked, so pages are read until enough runs have the right status."""
        stored = {*status, "running"} if "paused" in status else set(status)
        conditions, parameters = filters(
            ("workflow = ?", workflow or None), ("status IN ??", sorted(stored) or None), ("owner = ?", owner)
        )
        if text:
            conditions += "AND (instr(lower(request), lower(?)) > 0 OR substr(run_id, 1, ?) = lower(?)) "
            parameters += [text, len(text), text]
        sql = f"{self._run}WHERE number < ? {conditions}ORDER BY number DESC LIMIT ?"
        runs: list[RunRow] = []
        number = await self.number(before) if before else _NEWEST
        while len(runs) < limit:
            page = await self._queries.all(sql, (number, *parameters, limit))
            summaries = [self._summary(row) for row in page]
            runs += [run for run in summaries if not status or run.status in status]
            if len(page) < limit:
                break
            number = page[-1][0]
        return runs[:limit]

    async def start(self, owner: str, key: str) -> RunRow | None:
        """Return the owner's run with this idempotency key, or None."""
        runs = await self.summaries("WHERE owner = ? AND start_key = ? AND start_key != ''", (owner, key))
        return runs[0] if runs else None

    async def changed(self, since_us: int, *, owner: str | None = None) -> list[RunRow]:
        """Return runs that were changed at or after a time."""
        conditions, parameters = filters(("owner = ?", owner))
        rest = f"WHERE updated_us >= ? {conditions}ORDER BY updated_us, number"
        return await self.summaries(rest, (since_us, *parameters))

    async def totals(self, owner: str | None = None) -> list[RunTotal]:
        """Return the number of runs and their spending, by workflow and status."""
        conditions, parameters = filters(("owner = ?", owner))
        rows = await self._queries.all(
            f"{_TOTALS}WHERE true {conditions}GROUP BY workflow, status", parameters
        )
        return [_total(*row) for row in rows]

    async def driver(self, run_id: str) -> tuple[str, str]:
        """Return the mark and the name of a run's driver; the name is empty if the driver is gone."""
        holders = self._holders
        sql = f"SELECT run.driver, {holders.driver_columns} FROM run {holders.driver_join} WHERE run_id = ?"
        rows = await self._queries.all(sql, (run_id,))
        if not rows:
            raise unknown(run_id)
        mark, *columns = rows[0]
        return mark, holders.holder(*columns)

    async def summaries(self, rest: str, parameters: Sequence[Any], prefix: str = "") -> list[RunRow]:
        """Return the summaries that a query finds; `rest` follows its FROM clause."""
        rows = await self._queries.all(f"{prefix}{self._run}{rest}", parameters)
        return [self._summary(row) for row in rows]

    def _summary(self, row: Sequence[Any]) -> RunRow:
        _, run_id, workflow, request, status, stop_reason, created_us, updated_us, model, rehearsal = row[:10]
        holder = self._holders.holder(*row[_WIDTH:])
        if status == "running" and not holder:
            status = "paused"
        return RunRow(
            run_id=run_id,
            workflow=workflow,
            request=request,
            status=status,
            stop_reason=stop_reason,
            created_us=time_of(created_us),
            updated_us=time_of(updated_us),
            model=model,
            rehearsal=bool(rehearsal),
            parent=row[10],
            usage=charge_of(*row[11:16]),
            driven_s=row[16],
            holder=holder,
            owner=row[17],
            start_key=row[18],
            budget=Budget(**dict(zip(DIMENSIONS, row[19:_WIDTH], strict=True))),
        )

    # ── events and blobs ──

    async def rows(self, number: int, after: int, limit: int, types: Collection[str]) -> list[Row]:
        """Read rows in slices, so that a long log does not block the event loop."""
        rows: list[Row] = []
        while True:
            size = min(SLICE, limit - len(rows)) if limit else SLICE
            page = await self.slice(number, after, size, types)
            rows += page
            if len(page) < size or len(rows) == limit:
                return rows
            after = page[-1].seq
            await asyncio.sleep(0)

    async def slice(
        self, number: int, after: int, size: int = SLICE, types: Collection[str] = ()
    ) -> list[Row]:
        base = number << 32
        if types:
            rows = await self._queries.all(_EVENTS_OF, (base + after, base | SEQ, list(types), size))
        else:
            rows = await self._queries.all(_EVENTS, (base + after, base | SEQ, size))
        return [Row._make(row) for row in rows]

    async def last_seqs(self, numbers: list[int]) -> dict[int, int]:
        """Return the highest sequence number of each of these runs that has any event, in one query."""
        sql = (
            f"SELECT (SELECT max(id) FROM event WHERE id BETWEEN number << 32 AND (number << 32) + {SEQ}) "
            "FROM run WHERE number IN ??"
        )
        ids = [last for (last,) in await self._queries.all(sql, (numbers,)) if last is not None]
        return {last >> 32: last & SEQ for last in ids}

    async def blob(self, digest: str) -> bytes:
        try:
            key = bytes.fromhex(digest)
        except ValueError:
            key = b""  # an invalid digest names no blob
        rows = await self._queries.all("SELECT data FROM blob WHERE digest = ?", (key,))
        if not rows:
            raise StoreError(f"The store has no blob {digest}.", hint=DAMAGED)
        return intact(bytes(rows[0][0]), digest)

    # ── inbox ──

    async def inbox(self, run_id: str, number: int) -> list[InboxMessage]:
        return [
            InboxMessage(message_id, run_id, kind, message_data(message_id, data))
            for message_id, _, kind, data in await self.posted([number])
        ]

    async def posted(self, numbers: list[int]) -> list[tuple[int, int, str, bytes]]:
        """Return the inbox messages of these runs: id, run number, kind, data."""
        sql = "SELECT id, run, kind, data FROM inbox WHERE run IN ?? ORDER BY id"
        return await self._queries.all(sql, (numbers,))


def _total(workflow: str, status: str, runs: int, usd: float, *halves: Any) -> RunTotal:
    """Combine the halves of the sums."""
    sums = [(int(high) << 32) + int(low) for high, low in zip(halves[::2], halves[1::2], strict=True)]
    return RunTotal(workflow, status, runs, charge_of(usd, *sums))
