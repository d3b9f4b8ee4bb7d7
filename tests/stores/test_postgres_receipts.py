"""What became of a transaction whose answer was lost: it is found out before anything is written again."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from podium.stores import open_store
from podium.stores.batch import Batch, Creation
from podium.stores.postgres.connection import connect
from podium.stores.postgres.database import PostgresDatabase, Receipt, was_committed, write
from tests.stores.postgres import Server, look, server
from tests.stores.relay import relay
from tests.stores.samples import a_row, a_run, run_id, until

_SLOW_COMMIT = """
CREATE FUNCTION wait_for_it() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_advisory_xact_lock_shared(11); RETURN NULL; END';
CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON inbox DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION wait_for_it();
"""
"""A commit that lasts for as long as somebody else holds a lock: as one that waits for a replica."""


async def test_a_commit_that_is_still_under_way_is_waited_for_and_not_done_again(pg_server: Server) -> None:
    """The line is cut while the server commits, and the server goes on. Nobody can tell yet whether what was
    written counts: who writes it again has it twice."""
    url = pg_server.new_database()
    committing = "SELECT client_port FROM pg_stat_activity WHERE wait_event = 'advisory' AND query = 'COMMIT'"
    blocked = "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'"
    async with relay(url) as line, open_store(line.url) as store:
        await store.create(a_run(1), [a_row(1)])
        with psycopg.connect(url, autocommit=True) as db:
            db.execute(_SLOW_COMMIT.encode())
            db.execute("SELECT pg_advisory_lock(11)")
            posting = asyncio.create_task(store.post(run_id(1), "answer", "this"))
            await until(lambda: look(url, committing) != [])
            ((port,),) = look(url, committing)
            line.cut(port)
            await until(lambda: line.count("pg_xact_status") >= 2 or look(url, blocked) != [])
            assert not posting.done()
        await posting
        assert [message.data for message in await store.inbox(run_id(1))] == ["this"]


@pytest.mark.parametrize("ends", ["COMMIT", "ROLLBACK"])
async def test_what_becomes_of_a_transaction_is_not_reported_before_it_is_decided(
    pg_server: Server, ends: str
) -> None:
    url = pg_server.new_place()
    async with open_store(url):
        pass
    batch, receipts = Batch(), list[Receipt]()
    batch.creations.append(
        Creation(a_run(), [a_row(1)], [], future=asyncio.get_running_loop().create_future())
    )
    async with await connect(url) as db, await connect(url) as other:
        await db.execute("BEGIN")
        await write(PostgresDatabase(db), batch, "me", receipts.append)
        assert await was_committed(other, "me", receipts[0]) is None
        await db.execute(ends.encode())
        assert await was_committed(other, "me", receipts[0]) is (ends == "COMMIT")


async def test_a_transaction_that_a_crash_took_back_is_not_taken_for_another_one_of_its_number() -> None:
    """PostgreSQL gives the number of a transaction that left no trace to the next one after a crash."""
    with server() as running:
        url = running.new_database()
        async with open_store(url):
            pass
        lost = await connect(url)
        await lost.execute("BEGIN")
        batch = Batch()
        batch.creations.append(
            Creation(a_run(), [a_row(1)], [], future=asyncio.get_running_loop().create_future())
        )
        receipts: list[Receipt] = []
        await write(PostgresDatabase(lost), batch, "me", receipts.append)
        running.stop()
        running.start()
        await lost.close()
        db = await connect(url)
        while True:
            row = await (
                await db.execute(
                    "INSERT INTO saving VALUES (gen_random_uuid()::text, 0, 0, 0, 0) "
                    "RETURNING pg_current_xact_id()::text"
                )
            ).fetchone()
            if row is not None and int(row[0]) >= int(receipts[0].number):
                break
        row = await (await db.execute("SELECT pg_xact_status(%s::xid8)", (receipts[0].number,))).fetchone()
        assert row == ("committed",), "the number was not given away again: the test shows nothing"
        assert await was_committed(db, "me", receipts[0]) is False
        await db.close()
