"""Read queries, over a few connections of their own, so that they never wait for a write."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool, PoolClosed

from podium.engine.budget import Budget
from podium.engine.log import DAMAGED, InboxMessage, Row, RunRow, RunTotal
from podium.errors import StoreError
from podium.stores.address import shown
from podium.stores.postgres.connection import Db, Patience, configure, explain, is_lost, options
from podium.stores.postgres.heartbeat import FRESH, UNATTENDED, is_gone
from podium.stores.rows import (
    LARGEST_SQL,
    SHORTEST_BEGINNING,
    charge_of,
    intact,
    message_data,
    the_one,
    time_of,
    unknown,
)

Answer = TypeVar("Answer")

logging.getLogger("psycopg").addHandler(logging.NullHandler())  # its warnings are handled here

SLICE = 1000
CONNECTIONS = 4
_PATIENCE_S = 30.0
"""Seconds that a query waits for a database that cannot be reached."""
_TURN_S = 2.0
"""Seconds that it waits for a connection before it requests another."""
_AGAIN_S = 0.05
_SEQ = 0xFFFFFFFF
_NEWEST = 1 << 31
"""Greater than every run number."""

_RUN = (
    "SELECT run_id, workflow, request, status, stop_reason, created_us, updated_us, model, rehearsal, "
    "parent, usd, input_tokens, output_tokens, calls, unpriced_calls, driven_s, number, "
    "owner, max_usd, max_tokens, max_calls, max_seconds, max_depth, start_key, "
    f"d.who, d.host, d.pid, d.began, {FRESH} "
    "FROM run LEFT JOIN driver AS d ON d.name = run.driver "
)
_DRIVER = (
    f"SELECT run.driver, d.who, d.host, d.pid, d.began, {FRESH} "
    "FROM run LEFT JOIN driver AS d ON d.name = run.driver WHERE run_id = %s"
)
_COUNTS = ("input_tokens", "output_tokens", "calls", "unpriced_calls")


class PostgresReader:
    """The read connections and the queries over them."""

    def __init__(self, url: str) -> None:
        self._where = shown(url)
        self._patience = Patience(_PATIENCE_S)
        self._pool: AsyncConnectionPool[Db] = AsyncConnectionPool(
            url,
            min_size=1,
            max_size=CONNECTIONS,
            open=False,
            timeout=_TURN_S,
            reconnect_timeout=_TURN_S / 2,
            configure=configure,
            kwargs=options(),
        )

    async def open(self) -> None:
        await self._pool.open()

    async def close(self) -> None:
        await self._pool.close()

    # ── runs ──

    async def number(self, run_id: str) -> int:
        """Return the run's number in this database."""
        found = await self.all("SELECT number FROM run WHERE run_id = %s", (run_id,))
        if not found:
            raise unknown(run_id)
        return found[0][0]

    async def run(self, run_id: str) -> RunRow:
        """Return the summary of the run whose id is, or unambiguously begins with, `run_id`."""
        found = await self.all(_RUN + "WHERE run_id = %s", (run_id,))
        if not found and len(run_id) >= SHORTEST_BEGINNING:
            sql = _RUN + "WHERE starts_with(run_id, %s) ORDER BY run_id LIMIT 2"
            found = await self.all(sql, (run_id,))
        return _summary(the_one(found, run_id))

    async def runs(
        self, status: Collection[str], workflow: str, limit: int, before: str, owner: str | None, text: str
    ) -> list[RunRow]:
        """Return runs, newest first. Whether a run is really driven is known only after its driver is
        checked, so pages are read until enough runs have the right status."""
        stored = {*status, "running"} if "paused" in status else set(status)
        sql = (
            f"{_RUN}WHERE number < %s AND (%s = '' OR workflow = %s) "
            "AND (%s::text[] IS NULL OR status = ANY(%s::text[])) AND (%s::text IS NULL OR owner = %s) "
            "AND (%s = '' OR strpos(lower(request), lower(%s)) > 0 OR starts_with(run_id, lower(%s))) "
            "ORDER BY number DESC LIMIT %s"
        )
        wanted = sorted(stored) or None
        rest = (workflow, workflow, wanted, wanted, owner, owner, text, text, text)
        runs: list[RunRow] = []
        number = await self.number(before) if before else _NEWEST
        while len(runs) < limit:
            page = await self.all(sql, (number, *rest, limit))
            shown_runs = [_summary(row) for row in page]
            runs += [run for run in shown_runs if not status or run.status in status]
            if len(page) < limit:
                break
            number = page[-1][16]
        return runs[:limit]

    async def start(self, owner: str, key: str) -> RunRow | None:
        """Return the owner's run with this idempotency key, or None."""
        sql = f"{_RUN}WHERE owner = %s AND start_key = %s AND start_key != ''"
        found = await self.all(sql, (owner, key))
        return _summary(found[0]) if found else None

    async def changed(self, since_us: int, owner: str | None) -> list[RunRow]:
        """Return runs that were changed at or after a time."""
        sql = f"{_RUN}WHERE updated_us >= %s AND (%s::text IS NULL OR owner = %s) ORDER BY updated_us, number"
        return [_summary(row) for row in await self.all(sql, (since_us, owner, owner))]

    async def unattended(self, stop_reason: str, limit: int, owner: str | None, after: str) -> list[RunRow]:
        """Return runs that should be driven and have no driver, oldest first."""
        sql = f"{UNATTENDED}{_RUN}WHERE number IN (SELECT number FROM wanted) ORDER BY number"
        return [_summary(row) for row in await self.all(sql, (owner, owner, stop_reason, after, limit))]

    async def totals(self, owner: str | None) -> list[RunTotal]:
        """Return the number of runs and their spending, by workflow and status."""
        sql = (
            f"SELECT workflow, status, count(*), sum(greatest(least(usd, 1e15), 0)), "
            f"{', '.join(map(_saturated, _COUNTS))} FROM run "
            "WHERE %s::text IS NULL OR owner = %s GROUP BY workflow, status"
        )
        return [
            RunTotal(row[0], row[1], row[2], charge_of(*row[3:]))
            for row in await self.all(sql, (owner, owner))
        ]

    async def driver(self, run_id: str) -> tuple[str, str]:
        """Return the mark and the name of a run's driver; the name is empty if the driver is gone."""
        found = await self.all(_DRIVER, (run_id,))
        if not found:
            raise unknown(run_id)
        mark, *driver = found[0]
        return mark, _holder(driver)

    # ── events and blobs ──

    async def rows(self, number: int, after: int, limit: int, types: Collection[str]) -> list[Row]:
        """Read rows in slices. A log only grows, so the slices are consistent."""
        rows: list[Row] = []
        while True:
            size = min(SLICE, limit - len(rows)) if limit else SLICE
            found = await self.slice(number, after, size, types)
            rows += found
            if len(found) < size or len(rows) == limit:
                return rows
            after = found[-1].seq

    async def slice(
        self, number: int, after: int, size: int = SLICE, types: Collection[str] = ()
    ) -> list[Row]:
        base = number << 32
        sql = (
            "SELECT id & 4294967295, time_us, path, type, data FROM event WHERE id > %s AND id <= %s "
            f"{'AND type = ANY(%s::text[]) ' if types else ''}ORDER BY id LIMIT %s"
        )
        given = (base + after, base | _SEQ, *([list(types)] if types else []), size)
        return [Row._make(row) for row in await self.all(sql, given)]

    async def last_seqs(self, numbers: list[int]) -> dict[int, int]:
        """Return the highest sequence number of each of these runs that has any event, in one query."""
        sql = (
            "SELECT n, (SELECT max(id) FROM event WHERE id BETWEEN n << 32 AND (n << 32) + 4294967295) "
            "FROM unnest(%s::bigint[]) AS n"
        )
        return {number: last & _SEQ for number, last in await self.all(sql, (numbers,)) if last is not None}

    async def blob(self, digest: str) -> bytes:
        found = await self.all("SELECT data FROM blob WHERE digest = %s", (_digest(digest),))
        if not found:
            raise StoreError(f"The store has no blob {digest}.", hint=DAMAGED)
        return intact(bytes(found[0][0]), digest)

    # ── inbox ──

    async def inbox(self, run_id: str, number: int) -> list[InboxMessage]:
        sql = "SELECT id, kind, data FROM inbox WHERE run = %s ORDER BY id"
        return [
            InboxMessage(id, run_id, kind, message_data(id, data))
            for id, kind, data in await self.all(sql, (number,))
        ]

    async def posted(self, numbers: list[int]) -> list[tuple[int, int, str, bytes]]:
        """Return the inbox messages of these runs: id, run number, kind, data."""
        sql = "SELECT id, run, kind, data FROM inbox WHERE run = ANY(%s::bigint[]) ORDER BY id"
        return await self.all(sql, (numbers,))

    # ── queries ──

    async def all(self, sql: str, parameters: Sequence[Any] | Mapping[str, Any] = ()) -> list[Any]:
        async def fetch(db: Db) -> list[Any]:
            return await (await db.execute(sql.encode(), parameters, binary=True)).fetchall()

        return await self.ask(fetch)

    async def ask(self, question: Callable[[Db], Awaitable[Answer]]) -> Answer:
        """Run a query; wait for a database that is away, and raise `StoreError` on failure."""
        while True:
            try:
                async with self._pool.connection() as db:
                    answer = await question(db)
                    self._patience.renew()
                    return answer
            except PoolClosed as error:
                raise StoreError("The store is closed.") from error
            except (psycopg.Error, OSError) as error:
                if not is_lost(error) or self._patience.is_over():
                    raise explain(error, self._where) from error
            await asyncio.sleep(_AGAIN_S)


def _saturated(column: str) -> str:
    """Return SQL for a sum that saturates at the largest 64-bit integer."""
    return f"least(sum({column}), {LARGEST_SQL})::bigint"


def _summary(row: Sequence[Any]) -> RunRow:
    run_id, workflow, request, status, stop_reason, created_us, updated_us, model, rehearsal, parent = row[
        :10
    ]
    holder = _holder(row[24:])
    if status == "running" and not holder:
        status = "paused"
    return RunRow(
        run_id=run_id, workflow=workflow, request=request, status=status, stop_reason=stop_reason,
        created_us=time_of(created_us), updated_us=time_of(updated_us), model=model, rehearsal=rehearsal,
        parent=parent, usage=charge_of(*row[10:15]), driven_s=row[15], holder=holder, owner=row[17],
        budget=Budget(*row[18:23]), start_key=row[23],
    )  # fmt: skip


def _holder(driver: Sequence[Any]) -> str:
    """Return the display name of a driver; empty if there is none or it is gone."""
    who, host, pid, began, fresh = driver
    return "" if who is None or not fresh or is_gone(host, pid, began) else who


def _digest(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        return b""  # an invalid digest names no blob
