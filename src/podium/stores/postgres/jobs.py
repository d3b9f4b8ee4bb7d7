"""The rare writes: what people outside of a run do to it. Each raises before it writes, or not at all."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from podium.engine.log import Row, RunUpdate
from podium.stores.finding import unknown
from podium.stores.postgres.database import Db
from podium.stores.postgres.watch import CHANNEL
from podium.stores.postgres.writing import change_run, insert_rows


async def post_message(db: Db, run_id: str, kind: str, data: bytes) -> int:
    """Put a message into a run's inbox; returns its id."""
    sql = "INSERT INTO inbox (run, kind, data) SELECT number, %s, %s FROM run WHERE run_id = %s RETURNING id"
    row = await (await db.execute(sql, (kind, data, run_id))).fetchone()
    if row is None:
        raise unknown(run_id)
    await db.execute("SELECT pg_notify(%s, 'inbox:')", (CHANNEL,))
    return int(row[0])


async def discard_messages(db: Db, message_ids: Collection[int]) -> None:
    await db.execute("DELETE FROM inbox WHERE id = ANY(%s::bigint[])", (list(message_ids),))


async def fence_run(db: Db, run_id: str, rows: Sequence[Row], update: RunUpdate) -> int:
    """Raise a run's epoch and end its log with `rows`; returns the run's number."""
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
