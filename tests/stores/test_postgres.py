"""PostgreSQL's own: who drives what on which machine, a database that goes away, addresses with passwords."""

from __future__ import annotations

import asyncio
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from msgspec import structs

from podium.engine.log import InboxMessage, Lease, Row, RunUpdate, Store
from podium.errors import FencedError, RunLockedError, StoreError, UnknownRunError, UsageError
from podium.stores import open_store, shown
from podium.stores.postgres.connection import SCHEMA, Patience, connect, open_database
from podium.stores.postgres.database import PostgresDatabase
from podium.stores.reader import Reader
from tests.stores.children import child
from tests.stores.postgres import Server, look, server
from tests.stores.samples import (
    CEILINGS,
    KNOWN,
    OLD_RUN,
    PATIENCE_S,
    a_row,
    a_run,
    append,
    commit,
    driven,
    run_id,
    seqs_of,
    until,
)


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
        async with child("drive_run", f"{url}?lease_s=1", run_id(1)) as driver:
            assert await driver.line() == "driving"
            driver.signal(signal.SIGSTOP)
            with pytest.raises(RunLockedError):
                await store.acquire(run_id(1))
            lease = await _when_free(store)
            assert lease.epoch == 2
            append(store, lease, 2)
            await commit(store, lease)
            driver.signal(signal.SIGCONT)
            await driver.say("write")
            assert await driver.line() == FencedError.__name__, "its late write is refused"
        assert await seqs_of(store) == [1, 2]


async def _when_free(store: Store) -> Lease:
    """Take the run up as soon as nobody is thought to drive it."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await store.acquire(run_id(1))
            except RunLockedError:
                await asyncio.sleep(0.05)


async def test_a_driver_that_lives_keeps_its_run_beyond_its_lease(pg_server: Server) -> None:
    url = f"{pg_server.new_database()}?lease_s=0.5"
    async with open_store(url) as store:
        lease = await driven(store)
        with psycopg.connect(url.partition("?")[0], autocommit=True) as db:
            sql = "SELECT name FROM driver WHERE seen > %s + interval '2 seconds'"
            (began,) = db.execute("SELECT clock_timestamp()").fetchone() or ("",)
            await until(lambda: db.execute(sql, (began,)).fetchone() is not None)
            db.execute("UPDATE driver SET host = 'elsewhere'")  # only its beat tells of it
        with pytest.raises(RunLockedError):
            async with open_store(url) as other:
                await other.acquire(run_id(1))
        append(store, lease, 2)
        await commit(store, lease)


@pytest.mark.parametrize(("lease_s", "given"), [(3600, True), (0.5, False)])
async def test_a_database_that_was_away_gives_drivers_the_time_of_a_lease_to_report(
    pg_server: Server, lease_s: float, given: bool
) -> None:
    """It has heard nobody for longer than a lease, because it was not there: nobody is dead for that."""
    url = pg_server.new_database()
    async with open_store(url) as store, open_store(url) as other:
        await driven(store)
        with psycopg.connect(url, autocommit=True) as db:
            db.execute("UPDATE driver SET host = 'elsewhere', seen = seen - interval '2 hours'")
            db.execute("UPDATE driver SET lease_s = %s", (lease_s,))
        if given:
            with pytest.raises(RunLockedError):
                await other.acquire(run_id(1))
        else:
            assert (await other.acquire(run_id(1))).epoch == 2


async def test_whoever_takes_a_run_over_waits_for_rows_that_are_being_written(pg_server: Server) -> None:
    """Otherwise rows of the old driver could appear behind the place at which the new one goes on."""
    url = pg_server.new_database()
    async with open_store(url) as store, open_store(url) as other:
        lease = await driven(store)
        ((number,),) = look(url, "SELECT number FROM run")
        db = await connect(url)
        async with db, db.transaction():
            row = a_row(2)
            rows = [number << 32 | 2, lease.epoch, row.time_us, row.path, row.type, row.data]
            assert (await PostgresDatabase(db).insert_events(rows)).rowcount == 1
            taking = asyncio.create_task(other.acquire(run_id(1), take_over=True))
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
            await until(lambda: taking.done() or look(url, waiting) != [])
            assert not taking.done(), "it did not wait"
        assert (await taking).last_seq == 2
        assert await seqs_of(store) == [1, 2]


async def test_a_driver_with_nothing_to_write_notices_that_its_run_was_taken_over(pg_server: Server) -> None:
    url = f"{pg_server.new_database()}?lease_s=0.5"
    async with open_store(url) as store, open_store(url) as other:
        lease = await driven(store)
        await other.acquire(run_id(1), take_over=True)

        async def commit_on() -> None:
            while True:
                await commit(store, lease)  # nothing is queued, so the database is not asked
                await asyncio.sleep(0.05)

        with pytest.raises(FencedError):
            await asyncio.wait_for(commit_on(), PATIENCE_S)


async def test_a_restarted_database_loses_nothing_and_doubles_nothing() -> None:
    with server() as own:
        url = own.new_database()
        async with open_store(url) as store:
            leases = [await driven(store, number) for number in range(1, 9)]
            store.live = 8
            finished = asyncio.Event()

            async def write(lease: object, number: int) -> int:
                seq = 2
                while not finished.is_set() or seq < 50:
                    append(store, leases[number], seq)  # pyright: ignore[reportArgumentType]
                    await commit(store, leases[number])
                    seq += 1
                return seq

            writing = [asyncio.create_task(write(lease, place)) for place, lease in enumerate(leases)]
            for mode in ("immediate", "fast", "immediate"):
                await asyncio.sleep(0.2)
                await asyncio.to_thread(own.stop, mode)
                await asyncio.to_thread(own.start)
            finished.set()
            ends = await asyncio.gather(*writing)
            for number, end in enumerate(ends, start=1):
                assert await seqs_of(store, number) == list(range(1, end))


async def test_questions_and_tails_outlive_a_restart_of_the_database() -> None:
    with server() as own:
        url = own.new_database()
        async with open_store(url) as store, open_store(url) as other:
            lease = await driven(store)
            tail = other.tail(run_id(1))
            assert (await anext(tail)).seq == 1
            assert await other.get(run_id(1))
            await asyncio.to_thread(own.stop, "fast")
            await asyncio.to_thread(own.start)
            assert (await other.get(run_id(1))).run_id == run_id(1), "its connections were of the old server"
            append(store, lease, 2)
            await commit(store, lease)
            async with asyncio.timeout(PATIENCE_S):
                assert (await anext(tail)).seq == 2
            await tail.aclose()


async def test_a_commit_whose_answer_was_lost_shows_fenced_from_written(
    pg_server: Server,
) -> None:
    """The connection is cut while both wait for a lock, and one of the runs is taken over meanwhile."""
    url = pg_server.new_database()
    async with open_store(url) as store, open_store(url) as other:
        good, lost = await driven(store, 1), await driven(store, 2)
        store.live = 2
        await other.acquire(run_id(2), take_over=True)
        with psycopg.connect(url) as blocker:
            blocker.execute("LOCK TABLE event IN ACCESS EXCLUSIVE MODE")
            append(store, good, 2)
            append(store, lost, 2)
            first, second = store.commit(good), store.commit(lost)
            assert first is not None
            assert second is not None
            await asyncio.sleep(0)
            await _cut(url, "INSERT INTO event%")
            blocker.rollback()
        await first
        with pytest.raises(FencedError):
            await second
        assert (await seqs_of(store, 1), await seqs_of(store, 2)) == ([1, 2], [1])


async def _cut(url: str, statement: str) -> None:
    """End the connection that waits with this statement."""
    sql = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE wait_event_type = 'Lock' AND query LIKE %s"
    )
    with psycopg.connect(url, autocommit=True) as db:
        await until(lambda: bool(db.execute(sql, (f"%{statement}",)).fetchall()))


async def test_runs_that_wait_for_each_other_across_processes_are_written_all_the_same(
    pg_server: Server,
) -> None:
    url = pg_server.new_database()
    async with open_store(url) as store:
        leases = [await driven(store, number) for number in (1, 2)]
        store.live = 2
        with psycopg.connect(url) as rival:
            rival.execute("SELECT 1 FROM run WHERE run_id = %s FOR UPDATE", (run_id(2),))
            for lease in leases:
                append(store, lease, 2)
            commits = [store.commit(lease) for lease in leases]
            waiting = asyncio.to_thread(_lock, rival, run_id(1))
            await asyncio.gather(waiting, *(future for future in commits if future is not None))
        assert [await seqs_of(store, number) for number in (1, 2)] == [[1, 2], [1, 2]]


def _lock(db: psycopg.Connection[tuple[object, ...]], run: str) -> None:
    with suppress(psycopg.errors.DeadlockDetected):  # either of the two may be chosen
        db.execute("SELECT 1 FROM run WHERE run_id = %s FOR UPDATE", (run,))
    db.rollback()


async def test_a_message_that_becomes_visible_late_is_delivered(pg_server: Server) -> None:
    url = pg_server.new_database()
    heard: list[InboxMessage] = []
    async with open_store(url) as store:
        await driven(store)
        store.subscribe(run_id(1), heard.append)
        with psycopg.connect(url) as slow:
            sql = "INSERT INTO inbox (run, kind, data) SELECT number, 'early', '1' FROM run"
            slow.execute(sql)
            await store.post(run_id(1), "late")
            await until(lambda: [message.kind for message in heard] == ["late"])
            slow.commit()
        await until(lambda: [message.kind for message in heard] == ["late", "early"])


async def test_what_a_closed_or_refused_store_had_open_is_gone(pg_server: Server) -> None:
    url = pg_server.new_database()
    before = asyncio.all_tasks()
    async with open_store(url) as store:
        await driven(store)
        store.subscribe(run_id(1), lambda message: None)
        await anext(store.tail(run_id(1)))
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE podium_schema SET version = 99")
        with pytest.raises(StoreError):
            await open_store(url)
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == before
        sql = (
            "SELECT query FROM pg_stat_activity WHERE backend_type = 'client backend' "
            "AND datname = current_database() AND pid <> %s"
        )
        await until(lambda: not db.execute(sql, (db.info.backend_pid,)).fetchall())
        assert db.execute("SELECT count(*) FROM driver").fetchone() == (0,)


@pytest.mark.parametrize("key", ["no\0run at all", "no \ud800 run", "r" * 10_000])
async def test_whatever_is_asked_for_is_only_unknown(pg_server: Server, key: str) -> None:
    async with open_store(pg_server.new_place()) as store:
        for question in (store.get, store.inbox, store.read, store.acquire):
            with pytest.raises(UnknownRunError):
                await question(key)
        with pytest.raises(UnknownRunError):
            store.subscribe(key, lambda message: None)
        assert await store.list_runs(workflow=key, status=[key]) == []
        assert await store.list_facts(key, status=[key], ids=[key]) == []
        assert await store.match_facts(key, [key]) == []
        assert await store.find_sample(key, [key]) is None


async def test_nul_in_text_becomes_a_mark(pg_server: Server) -> None:
    async with open_store(pg_server.new_place()) as store:
        run = structs.replace(a_run(1), request="a\0b", workflow="w\0")
        lease = await store.create_driven(run, [Row(1, 1, "p\0", "t", b"{}")])
        store.append(lease, Row(2, 2, "q\0", "t", b"{}"))
        store.update(lease, RunUpdate(updated_us=5, stop_reason="why\0"))
        await commit(store, lease)
        stored = await store.get(run_id(1))
        assert (stored.request, stored.workflow, stored.stop_reason) == ("a\ufffdb", "w\ufffd", "why\ufffd")
        assert [row.path for row in await store.read(run_id(1))] == ["p\ufffd", "q\ufffd"]


def test_patience_counts_from_when_the_database_went() -> None:
    moments = iter((1000.0, 1030.0, 1060.0, 1061.0, 1062.0, 1200.0, 1250.0, 1270.0))
    patience = Patience(60, lambda: next(moments))
    over = [patience.is_over() for _ in range(5)]
    assert over == [False, False, False, True, True], "whoever comes later does not wait as long again"
    assert not patience.is_over(), "after a pause it begins anew"
    assert not patience.is_over()
    patience.renew()
    assert not patience.is_over(), "it had answered, 70 seconds after it went"


# ── addresses ──


@pytest.mark.parametrize(
    ("url", "reported"),
    [
        ("postgresql://me:s3cret-word@host/db", "postgresql://me@host/db"),
        (
            "postgresql://me:s3cret-word@a:1,b:2/db?sslmode=require",
            "postgresql://me@a:1,b:2/db?sslmode=require",
        ),
        ("postgresql:///db?host=/run/pg&password=s3cret-word", "postgresql:///db?host=/run/pg"),
        ("postgresql://me:s3cret/word@host/db", "postgresql://me@host/db"),
        ("postgresql://me:s3cret?word@host/db", "postgresql://…"),
        ("postgresql://me:x@s3cret-word@host/db", "postgresql://…"),
        ("postgresql:///db?password=x@s3cret-word", "postgresql://…"),
        ("postgre://me:s3cret-word@host/db", "postgre://me@host/db"),
        ("sqlite:///a@b/c.sqlite", "sqlite:///a@b/c.sqlite"),
    ],
)
def test_an_address_is_shown_without_its_password(url: str, reported: str) -> None:
    assert shown(url) == reported


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://podium:s3cret-word@127.0.0.1:1/podium", "cannot be reached"),
        ("postgresql://podium:s3cret/word@127.0.0.1/podium", "cannot be read"),
        ("postgresql://podium:s3cret%zz@127.0.0.1/podium", "cannot be read"),
        ("postgresql://podium:x@s3cret@127.0.0.1/podium", "cannot be read"),
        ("postgresql://podium@127.0.0.1/podium?s3cret=1", "cannot be read"),
        ("postgre://podium:s3cret@127.0.0.1/podium", "unknown scheme"),
    ],
)
async def test_passwords_are_in_no_message(url: str, reason: str) -> None:
    with pytest.raises((StoreError, UsageError)) as refused:
        await open_store(url)
    message = f"{refused.value} {refused.value.hint}"
    assert reason in message
    assert "s3cret" not in message


@pytest.mark.parametrize("lease", ["0", "-1", "soon", "nan", "1e9", ""])
async def test_a_lease_that_is_no_time_is_refused(lease: str) -> None:
    with pytest.raises(UsageError, match="lease_s"):
        await open_store(f"postgresql://127.0.0.1:1/podium?lease_s={lease}")


async def test_a_server_that_refuses_is_reported_from_one_that_is_not_there(pg_server: Server) -> None:
    with pytest.raises(StoreError, match=r'cannot be opened: database "nowhere" does not exist\.') as refused:
        await open_store(pg_server.url("nowhere"))
    assert refused.value.hint == "Check its user, password and database."


async def test_a_database_that_cannot_hold_every_character_is_refused(pg_server: Server) -> None:
    url = pg_server.new_database("ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0")
    with pytest.raises(StoreError, match="keeps text as SQL_ASCII") as refused:
        await open_store(url)
    assert "UTF8" in refused.value.hint


# ── the schema ──


async def test_a_newer_schema_is_refused(pg_server: Server) -> None:
    url = pg_server.new_database()
    async with open_store(url):
        pass
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("UPDATE podium_schema SET version = 99")
    with pytest.raises(StoreError, match="newer Podium"):
        await open_store(url)


async def test_runs_of_an_older_store_get_the_ceilings_that_their_logs_show(
    pg_server: Server, tmp_path: Path
) -> None:
    url = pg_server.new_database()
    for old in sorted(SCHEMA.glob("postgres_*.sql"))[:2]:
        shutil.copy(old, tmp_path)
    await (await open_database(url, tmp_path)).close()
    with psycopg.connect(url, autocommit=True) as db:
        for number in (1, 2):
            db.execute(OLD_RUN.format(run_id(number)).encode())
        for number, seq, kind, data in CEILINGS:
            db.execute("INSERT INTO event VALUES (%s, 0, '', %s, %s)", (number << 32 | seq, kind, data))
    async with open_store(url) as store:
        assert {run.run_id: run.budget for run in await store.list_runs()} == KNOWN


async def test_two_processes_that_make_the_tables_at_once_both_find_them(pg_server: Server) -> None:
    url = pg_server.new_database()
    async with child("open_at_once", url) as first, child("open_at_once", url) as two:
        assert [await first.line(), await two.line()] == ["ready", "ready"]
        await first.say("go")
        await two.say("go")
        made = {await first.line(), await two.line()}
        assert (await first.end(), await two.end()) == (0, 0)
    async with open_store(url) as store:
        assert {run.run_id for run in await store.list_runs()} == made


class LateReader(Reader):
    """A reader whose first answer about a driver comes late."""

    asked: asyncio.Event
    gate: asyncio.Event

    async def driver(self, run_id: str) -> tuple[str, str]:
        driver = await super().driver(run_id)
        if not self.asked.is_set():
            self.asked.set()
            await self.gate.wait()
        return driver


async def test_an_answer_that_comes_late_does_not_give_a_run_to_two_drivers_of_one_process(
    pg_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says that the run is free; meanwhile another task of this process has it."""
    monkeypatch.setattr("podium.stores.postgres.store.Reader", LateReader)
    LateReader.asked, LateReader.gate = asyncio.Event(), asyncio.Event()
    async with open_store(pg_server.new_database()) as store:
        await store.create(a_run(), [a_row(1)])
        late = asyncio.create_task(store.acquire(run_id(1)))
        await LateReader.asked.wait()
        lease = await store.acquire(run_id(1))
        LateReader.gate.set()
        with pytest.raises(RunLockedError):
            await late
        append(store, lease, 2)
        await commit(store, lease)
