"""Work for a fleet, as the store tells it: which runs nobody drives, and who has room for another."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import psycopg
import pytest
from msgspec import structs

from podium.cluster.port import SharedStore, shared
from podium.engine.log import RunRow, RunUpdate
from podium.stores import open_store
from podium.stores.postgres.connection import connect
from podium.stores.postgres.database import PostgresDatabase
from podium.stores.postgres.heartbeat import take_place
from tests.stores.postgres import Server, look
from tests.stores.samples import PATIENCE_S, a_row, a_run, append, commit, run_id, until

STOPPED = "worker stopped"


@pytest.fixture
def url(pg_server: Server) -> str:
    return pg_server.new_place()


@pytest.fixture
async def store(url: str) -> AsyncGenerator[SharedStore]:
    async with open_store(url) as opened:
        yield shared(opened)


@pytest.fixture
async def other(url: str) -> AsyncGenerator[SharedStore]:
    """Another machine."""
    async with open_store(url) as opened:
        yield shared(opened)


def ask(url: str, sql: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(sql.encode())


async def until_it_waits(url: str, waiter: asyncio.Task[bool]) -> None:
    """Until whoever asked is kept waiting by a lock."""
    await until(lambda: waiter.done() or look(url, "SELECT 1 FROM pg_locks WHERE NOT granted") != [])
    assert not waiter.done(), "it did not wait"


def forget_drivers(url: str) -> None:
    """Nobody was heard of for an hour: the database has been up for longer than any lease."""
    ask(url, "UPDATE driver SET seen = seen - interval '1 hour', lease_s = 0.0")


async def make(store: SharedStore, number: int, status: str = "queued", owner: str = "") -> RunRow:
    run = structs.replace(a_run(number, status=status), owner=owner)
    await store.create(run, [a_row(1, "run.created")])
    return run


async def idle(store: SharedStore, owner: str | None = None, after: str = "", limit: int = 99) -> list[str]:
    return [run.run_id for run in await store.list_unattended(STOPPED, limit=limit, owner=owner, after=after)]


# ── places ──


async def test_an_owner_without_a_limit_has_as_many_places_as_they_like(store: SharedStore) -> None:
    assert all([await store.take_place(f"run {number}", "alice") for number in range(5)])


async def test_an_owner_has_as_many_places_as_they_may_on_all_machines(
    store: SharedStore, other: SharedStore
) -> None:
    await store.set_limit("alice", 2)
    await store.set_limit("bob", 1)
    assert await store.take_place("a", "alice")
    assert await other.take_place("b", "alice")
    assert not await store.take_place("c", "alice")
    assert await store.take_place("a", "alice"), "one that has its place keeps it"
    assert await store.take_place("d", "bob")
    await other.leave_place("b")
    assert await store.take_place("c", "alice")
    await store.set_limit("alice", 3)
    assert await store.take_place("e", "alice")


async def test_of_many_who_ask_at_once_for_the_last_place_one_gets_it(
    store: SharedStore, other: SharedStore
) -> None:
    await store.set_limit("alice", 1)
    for turn in range(10):
        requests = [
            opened.take_place(f"{turn} {name}", "alice") for name in "ab" for opened in (store, other)
        ]
        assert sum(await asyncio.gather(*requests)) in (1, 2), "the same run may be told of its place twice"
        for opened in (store, other):
            for name in "ab":
                await opened.leave_place(f"{turn} {name}")


async def test_whoever_asks_for_the_last_place_waits_for_whoever_is_taking_it(
    url: str, store: SharedStore, other: SharedStore
) -> None:
    """The first one is half-way: it has its place, and has not committed. Others of the owner wait for what
    becomes of it; those of another owner do not."""
    await store.set_limit("alice", 1)
    await store.set_limit("bob", 2)
    assert await other.take_place("b", "bob")
    ((driver,),) = look(url, "SELECT name FROM driver")
    async with asyncio.timeout(PATIENCE_S), await connect(url) as db:
        async with db.transaction():
            assert await take_place(PostgresDatabase(db), "a", "alice", driver)
            assert await store.take_place("c", "bob")
            taking = asyncio.create_task(store.take_place("d", "alice"))
            await until_it_waits(url, taking)
        assert not await taking


async def test_a_place_that_was_not_taken_after_all_is_for_the_next(
    url: str, store: SharedStore, other: SharedStore
) -> None:
    await store.set_limit("alice", 1)
    assert await other.take_place("a", "alice")
    await other.leave_place("a")
    ((driver,),) = look(url, "SELECT name FROM driver")
    async with asyncio.timeout(PATIENCE_S), await connect(url) as db:
        async with db.transaction():
            assert await take_place(PostgresDatabase(db), "b", "alice", driver)
            taking = asyncio.create_task(store.take_place("c", "alice"))
            await until_it_waits(url, taking)
            raise psycopg.Rollback
        assert await taking


async def test_a_place_is_left_only_by_whoever_has_it_now(store: SharedStore, other: SharedStore) -> None:
    """A worker that was thought dead must not give away the place of the one that took over."""
    await store.set_limit("alice", 1)
    assert await store.take_place("a", "alice")
    assert await other.take_place("a", "alice")
    await store.leave_place("a")
    assert not await store.take_place("b", "alice")
    await other.leave_place("a")
    assert await store.take_place("b", "alice")


async def test_the_place_of_a_worker_that_is_gone_is_free(
    url: str, store: SharedStore, other: SharedStore
) -> None:
    await store.set_limit("alice", 1)
    assert await other.take_place("a", "alice")
    assert not await store.take_place("b", "alice")
    forget_drivers(url)
    assert await store.take_place("b", "alice")


# ── runs that nobody drives ──


async def test_runs_that_want_to_be_driven_and_that_nobody_drives_are_found(
    store: SharedStore, other: SharedStore
) -> None:
    wanted = [(await make(store, 1)).run_id, (await make(store, 2, "running")).run_id]
    for number, status in ((3, "waiting"), (4, "paused"), (5, "completed"), (6, "failed"), (7, "cancelled")):
        await make(store, number, status)
    assert await idle(store) == wanted
    await store.post(run_id(3), "note")
    assert await idle(store) == wanted, "no answer"
    await store.post(run_id(3), "answer", "this")
    assert await idle(store) == [*wanted, run_id(3)]
    for reason, is_listed in (
        ("paused", False),
        (STOPPED, True),
        ("asleep until 2026", True),
        ("budget", False),
    ):
        lease = await store.acquire(run_id(4))
        append(store, lease, lease.last_seq + 1)
        store.update(lease, RunUpdate(updated_us=9, status="paused", stop_reason=reason))
        await commit(store, lease)
        await store.release(lease)
        assert (run_id(4) in await idle(store)) is is_listed, reason
    lease = await other.acquire(run_id(1))
    assert run_id(1) not in await idle(store), "it is driven"
    await other.release(lease)
    assert run_id(1) in await idle(store)


async def test_runs_of_a_driver_that_was_not_heard_of_are_found(
    url: str, store: SharedStore, other: SharedStore
) -> None:
    await make(store, 1, "running")
    await other.acquire(run_id(1))
    assert await idle(store) == []
    forget_drivers(url)
    assert await idle(store) == [run_id(1)]


async def test_they_come_page_by_page_the_oldest_first(store: SharedStore) -> None:
    made = [(await make(store, number)).run_id for number in (3, 1, 2, 5, 4)]
    assert await idle(store, limit=2) == made[:2]
    assert await idle(store, limit=2, after=made[1]) == made[2:4]
    assert await idle(store, after=made[3]) == made[4:]


async def test_of_an_owner_whose_runs_are_limited_as_many_as_there_is_room_for(store: SharedStore) -> None:
    alices = [(await make(store, number, owner="alice")).run_id for number in (1, 2, 3)]
    bobs = [(await make(store, number, owner="bob")).run_id for number in (4, 5)]
    await store.set_limit("alice", 2)
    assert await idle(store) == [*alices[:2], *bobs]
    assert await store.take_place("another", "alice")
    assert await idle(store) == [*alices[:1], *bobs]
    assert await idle(store, owner="bob") == bobs


async def test_one_of_many_looks_at_a_time(store: SharedStore, other: SharedStore) -> None:
    claims = await asyncio.gather(*(opened.claim_sweep(60.0) for opened in (store, other, store, other)))
    assert sorted(claims) == [False, False, False, True]
    assert await other.claim_sweep(0.0)


async def test_how_many_are_under_way_is_reported_of_everybody_and_of_one(store: SharedStore) -> None:
    await make(store, 1, "running", "alice")
    await make(store, 2, "queued", "alice")
    await make(store, 3, "running")
    await make(store, 4, "completed", "alice")
    assert await store.count_open("alice") == (1, 1)
    assert await store.count_open(None) == (2, 1)
