"""PostgreSQL's own: who drives what on which machine, a database that goes away, addresses with passwords."""

from __future__ import annotations

import asyncio
import signal

import psycopg
import pytest

from podium.errors import FencedError, RunLockedError, StoreError
from podium.stores import open_store
from tests.stores.children import child
from tests.stores.postgres import Server, server
from tests.stores.samples import a_row, a_run, append, commit, driven, run_id, seqs_of


async def test_a_killed_driver_of_this_machine_is_known_to_be_gone_at_once(pg_server: Server) -> None:
    url = pg_server.new_database()
    async with open_store(url) as store:
        await store.create(a_run(1, status="running"), [a_row(1)])
        async with child("drive_run", url, run_id(1)) as driver:
            assert await driver.line() == "driving"
            with pytest.raises(RunLockedError, match=f"pid {driver.process.pid} "):
                await store.acquire(run_id(1))
            await driver.kill()
        assert (await store.get(run_id(1))).status == "paused"
        assert (await store.acquire(run_id(1))).epoch == 2


async def test_a_driver_that_was_not_heard_of_for_its_lease_is_taken_for_dead(pg_server: Server) -> None:
    url = pg_server.new_database()
    async with open_store(url) as store:
        await store.create(a_run(1, status="running"), [a_row(1)])
        async with child("drive_run", url, run_id(1)) as driver:
            assert await driver.line() == "driving"
            driver.signal(signal.SIGSTOP)
            with pytest.raises(RunLockedError):
                await store.acquire(run_id(1))
            with psycopg.connect(url, autocommit=True) as db:  # as if its lease had passed
                db.execute("UPDATE driver SET seen = seen - interval '1 minute'")
            assert (await store.get(run_id(1))).holder == ""
            lease = await store.acquire(run_id(1))
            append(store, lease, 2)
            await commit(store, lease)
            driver.signal(signal.SIGCONT)
            await driver.say("write")
            assert await driver.line() == FencedError.__name__, "its late write is refused"
        assert await seqs_of(store) == [1, 2]


async def test_a_restarted_database_loses_nothing_and_doubles_nothing() -> None:
    with server() as own:
        url = own.new_database()
        async with open_store(url) as store:
            leases = [await driven(store, number) for number in range(1, 9)]
            store.live = 8
            done = asyncio.Event()

            async def write(lease: object, number: int) -> int:
                seq = 2
                while not done.is_set() or seq < 50:
                    append(store, leases[number], seq)  # pyright: ignore[reportArgumentType]
                    await commit(store, leases[number])
                    seq += 1
                return seq

            writing = [asyncio.create_task(write(lease, place)) for place, lease in enumerate(leases)]
            for mode in ("immediate", "fast", "immediate"):
                await asyncio.sleep(0.2)
                await asyncio.to_thread(own.stop, mode)
                await asyncio.to_thread(own.start)
            done.set()
            ends = await asyncio.gather(*writing)
            for number, end in enumerate(ends, start=1):
                assert await seqs_of(store, number) == list(range(1, end))


async def test_passwords_are_in_no_message() -> None:
    with pytest.raises(StoreError) as refused:
        await open_store("postgresql://podium:s3cret-word@127.0.0.1:1/podium")
    said = f"{refused.value} {refused.value.hint}"
    assert "cannot be reached" in said
    assert "s3cret-word" not in said


async def test_a_newer_schema_is_refused(pg_server: Server) -> None:
    url = pg_server.new_database()
    async with open_store(url):
        pass
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE podium_schema SET version = 99")
    with pytest.raises(StoreError, match="newer Podium"):
        await open_store(url)


async def test_two_processes_that_make_the_tables_at_once_both_find_them(pg_server: Server) -> None:
    url = pg_server.new_database()
    async with child("open_at_once", url) as one, child("open_at_once", url) as two:
        assert [await one.line(), await two.line()] == ["ready", "ready"]
        await one.say("go")
        await two.say("go")
        made = {await one.line(), await two.line()}
        assert (await one.end(), await two.end()) == (0, 0)
    async with open_store(url) as store:
        assert {run.run_id for run in await store.list_runs()} == made
