"""The contract: who may write to a run's log, and who no longer."""

from __future__ import annotations

import asyncio
import os
import socket

import pytest

from podium.engine.budget import Budget
from podium.engine.log import Lease, Row, RunUpdate, Store
from podium.errors import FencedError, RunLockedError, StoreError, UnknownRunError
from podium.stores import open_store
from tests.stores.samples import a_row, a_run, append, commit, driven, run_id, seqs_of


async def test_a_lease_shows_where_the_log_stands(store: Store) -> None:
    await store.create(a_run(), [])
    lease = await store.acquire(run_id(1))
    assert (lease.run_id, lease.epoch, lease.last_seq, lease.last_time_us) == (run_id(1), 1, 0, 0)
    append(store, lease, 1, 2)
    await store.release(lease)
    lease = await store.acquire(run_id(1))
    assert (lease.epoch, lease.last_seq, lease.last_time_us) == (2, 2, a_row(2).time_us)


async def test_a_run_has_one_driver(store: Store, other: Store) -> None:
    lease = await driven(store)
    me = f"pid {os.getpid()} on {socket.gethostname()}"
    for second in (store, other):
        with pytest.raises(RunLockedError, match=f"is being driven by {me}") as caught:
            await second.acquire(run_id(1))
        assert caught.value.holder == me
    append(store, lease, 2)
    await commit(store, lease)
    assert lease.epoch == 1, "who was refused must not disturb the driver"
    assert await seqs_of(store) == [1, 2]


async def test_of_many_who_want_a_run_one_gets_it(store: Store, other: Store) -> None:
    await store.create(a_run(), [a_row(1)])
    wanting = [view.acquire(run_id(1)) for view in (store, other) * 5]
    got = await asyncio.gather(*wanting, return_exceptions=True)
    assert sorted(type(result).__name__ for result in got if isinstance(result, Exception)) == (
        ["RunLockedError"] * 9
    )


async def test_a_released_run_is_free(store: Store, other: Store) -> None:
    lease = await driven(store)
    append(store, lease, 2)
    await store.release(lease)
    await store.release(lease)
    second = await other.acquire(run_id(1))
    assert (second.epoch, second.last_seq) == (2, 2)
    with pytest.raises(StoreError, match="released"):
        await commit(store, lease)


async def test_a_closed_store_drives_nothing(url: str, store: Store) -> None:
    async with open_store(url) as gone:
        await driven(gone)
    assert (await store.acquire(run_id(1))).epoch == 2


async def test_an_unknown_run_is_not_driven(store: Store) -> None:
    for take_over in (False, True):
        with pytest.raises(UnknownRunError):
            await store.acquire("run-000404", take_over=take_over)


async def test_whoever_gives_up_waiting_for_a_run_does_not_keep_it(store: Store, other: Store) -> None:
    await store.create(a_run(), [a_row(1)])
    wanting = asyncio.create_task(store.acquire(run_id(1)))
    await asyncio.sleep(0)
    wanting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await wanting
    await store.post(run_id(1), "noise")  # written after the mark was taken off
    await store.post(run_id(1), "noise")
    assert (await other.acquire(run_id(1))).epoch in (1, 2), "it is free, whether it had been marked or not"


async def test_taking_over_fences_the_old_driver(store: Store, other: Store) -> None:
    old = await driven(store)
    append(store, old, 2)
    new = await other.acquire(run_id(1), take_over=True)
    assert new.epoch == old.epoch + 1
    append(other, new, new.last_seq + 1)
    await commit(other, new)
    seqs = await seqs_of(other)

    append(store, old, 3)
    with pytest.raises(FencedError):
        await commit(store, old)
    append(store, old, 4)
    pending = store.commit(old)
    assert pending is not None
    assert pending.done(), "from now on it is told at once"
    assert isinstance(pending.exception(), FencedError)
    await store.release(old)
    assert await seqs_of(other) == seqs
    with pytest.raises(RunLockedError):
        await store.acquire(run_id(1))


async def test_taking_over_from_oneself(store: Store) -> None:
    old = await driven(store)
    new = await store.acquire(run_id(1), take_over=True)
    newest = await store.acquire(run_id(1), take_over=True)
    for fenced in (old, new):
        append(store, fenced, 2)
        with pytest.raises(FencedError):
            await commit(store, fenced)
        await store.release(fenced)
    append(store, newest, 2)
    await commit(store, newest)
    with pytest.raises(RunLockedError):
        await store.acquire(run_id(1))
    await store.release(newest)
    assert await seqs_of(store) == [1, 2]


async def test_taking_over_twice_at_once_leaves_one(store: Store) -> None:
    await driven(store)
    leases = await asyncio.gather(*(store.acquire(run_id(1), take_over=True) for _ in range(3)))
    assert sorted(lease.epoch for lease in leases) == [2, 3, 4]
    results = await asyncio.gather(*(write_one(store, lease, 2) for lease in leases), return_exceptions=True)
    assert [type(result) for result in results].count(FencedError) == 2
    assert await seqs_of(store) == [1, 2]


async def write_one(store: Store, lease: Lease, seq: int) -> None:
    append(store, lease, seq)
    await commit(store, lease)


@pytest.mark.parametrize("with_updates", [False, True])
async def test_a_fenced_run_does_not_sink_the_others_of_its_batch(
    store: Store, other: Store, with_updates: bool
) -> None:
    leases = {number: await driven(store, number) for number in range(1, 41)}
    fenced = {3, 17, 40}
    for number in fenced:
        await other.acquire(run_id(number), take_over=True)
    store.live = 40
    pending: dict[int, asyncio.Future[None] | None] = {}
    for number, lease in leases.items():
        append(store, lease, 2, 3)
        if with_updates:
            store.update(lease, RunUpdate(updated_us=77, model="other"))
        pending[number] = store.commit(lease)
    for number, future in pending.items():
        assert future is not None
        if number in fenced:
            with pytest.raises(FencedError, match=run_id(number)):
                await future
        else:
            await future
        assert await seqs_of(other, number) == ([1] if number in fenced else [1, 2, 3])
        changed = with_updates and number not in fenced
        assert (await other.get(run_id(number))).model == ("other" if changed else "")


async def test_a_fenced_driver_that_has_nothing_but_an_update_is_reported(store: Store, other: Store) -> None:
    lease = await driven(store)
    await other.acquire(run_id(1), take_over=True)
    store.update(lease, RunUpdate(updated_us=9, status="completed", budget=Budget(usd=5)))
    with pytest.raises(FencedError):
        await commit(store, lease)
    run = await other.get(run_id(1))
    assert (run.status, run.budget) == ("queued", Budget())


@pytest.mark.parametrize("live", [1, 5])
async def test_what_one_run_cannot_write_does_not_sink_the_others(store: Store, live: int) -> None:
    good, bad = await driven(store, 1), await driven(store, 2)
    store.live = live
    store.append(bad, Row(2, 5, "not \ud800 text", "t", b"{}"))
    append(store, good, 2)
    digest = store.put_blob(b"x" * 100)
    append(store, good, 3)
    first, second = store.commit(bad), store.commit(good)
    assert first is not None
    with pytest.raises(StoreError):
        await first
    if second is not None:
        await second
    assert await seqs_of(store, 1) == [1, 2, 3]
    assert await store.get_blob(digest) == b"x" * 100

    append(store, bad, 3)
    with pytest.raises(StoreError):
        await commit(store, bad)
    assert await seqs_of(store, 2) == [1], "a row behind a lost one would leave a gap"
    await store.release(bad)
    again = await store.acquire(run_id(2))
    append(store, again, 2)
    await commit(store, again)
    assert await seqs_of(store, 2) == [1, 2]


async def test_letting_go_shows_what_could_not_be_written(store: Store, other: Store) -> None:
    lease = await driven(store)
    new = await other.acquire(run_id(1), take_over=True)
    append(store, lease, 2)
    with pytest.raises(FencedError):
        await store.release(lease)
    await other.release(new)
    assert (await store.acquire(run_id(1))).last_seq == 1


async def test_a_run_is_ended_from_outside(store: Store, other: Store) -> None:
    hung = await driven(store, status="running")
    append(store, hung, 2)
    await commit(store, hung)
    rows = [
        Row(0, 5, "", "run.warned", b"{}"),
        Row(0, a_row(3).time_us, "", "run.cancelled", b'{"reason":"x"}'),
    ]
    await other.fence(run_id(1), rows, RunUpdate(updated_us=99, status="cancelled"))

    assert (await other.read(run_id(1)))[2:] == [
        Row(3, a_row(2).time_us, "", "run.warned", b"{}"),  # time does not go backwards
        Row(4, a_row(3).time_us, "", "run.cancelled", b'{"reason":"x"}'),
    ]
    ended = await other.get(run_id(1))
    assert (ended.status, ended.updated_us) == ("cancelled", 99)
    append(store, hung, 3)
    with pytest.raises(FencedError):
        await commit(store, hung)
    assert await seqs_of(other) == [1, 2, 3, 4]
    assert (await other.acquire(run_id(1))).last_seq == 4, "it can be taken up although the old driver hangs"


async def test_a_run_can_be_created_and_taken_up_in_one_transaction(store: Store, other: Store) -> None:
    lease = await store.create_driven(a_run(1, status="queued"), [a_row(1)])
    assert (lease.run_id, lease.last_seq) == (run_id(1), 1)
    assert (await other.get(run_id(1))).holder.startswith("pid ")
    with pytest.raises(RunLockedError):
        await other.acquire(run_id(1))
    store.append(lease, a_row(2))
    await commit(store, lease)
    assert [row.seq for row in await other.read(run_id(1))] == [1, 2]
    await store.release(lease)
    await other.release(await other.acquire(run_id(1)))


async def test_a_run_that_exists_already_is_not_taken_up_by_creating_it(store: Store, other: Store) -> None:
    lease = await store.create_driven(a_run(1), [a_row(1)])
    with pytest.raises(StoreError):
        await store.create_driven(a_run(1), [a_row(1)])
    store.append(lease, a_row(2))
    await commit(store, lease)
    assert [row.seq for row in await other.read(run_id(1))] == [1, 2], "the first lease is still good"


async def test_who_is_cancelled_while_creating_leaves_a_run_that_others_can_take_up(store: Store) -> None:
    creating = asyncio.create_task(store.create_driven(a_run(1), [a_row(1)]))
    await asyncio.sleep(0)
    creating.cancel()
    with pytest.raises(asyncio.CancelledError):
        await creating
    async with asyncio.timeout(5):
        while True:
            try:
                lease = await store.acquire(run_id(1))
            except (RunLockedError, UnknownRunError):
                await asyncio.sleep(0.01)
            else:
                break
    assert lease.last_seq == 1
