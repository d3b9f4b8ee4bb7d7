"""The contract: rows as they become durable, whoever writes them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest

from podium.engine.log import Row, RunUpdate, Store
from podium.stores import open_store
from tests.stores.children import child
from tests.stores.samples import PATIENCE_S, a_row, a_run, append, commit, driven, run_id, take, until


async def follow(rows: AsyncGenerator[Row], last: int) -> list[int]:
    """Everything up to a sequence number."""
    seqs: list[int] = []
    async with asyncio.timeout(PATIENCE_S):
        async for row in rows:
            seqs.append(row.seq)
            if row.seq >= last:
                break
    await rows.aclose()
    return seqs


@pytest.mark.parametrize("live", [1, 20])
async def test_tails_see_every_row_once_and_in_order(store: Store, other: Store, live: int) -> None:
    lease = await driven(store)
    store.live = live
    early = [asyncio.create_task(follow(view.tail(run_id(1)), 400)) for view in (store, other) * 3]
    late: list[asyncio.Task[list[int]]] = []
    for seq in range(2, 401):
        append(store, lease, seq)
        if seq % 3:
            await commit(store, lease)
        if seq % 50 == 0:
            late.append(asyncio.create_task(follow(store.tail(run_id(1), after=seq - 10), 400)))
            await asyncio.sleep(0)
    await store.release(lease)
    for seqs in await asyncio.gather(*early):
        assert seqs == list(range(1, 401))
    for start, seqs in enumerate(await asyncio.gather(*late), start=1):
        assert seqs == list(range(start * 50 - 9, 401))


@pytest.mark.parametrize("live", [1, 20])
async def test_tails_in_the_same_process_are_woken_by_the_commit_itself(store: Store, live: int) -> None:
    lease = await driven(store)
    store.live = live
    tail = store.tail(run_id(1), after=1)
    for seq in range(2, 12):
        following = asyncio.create_task(take(tail, 1))
        await asyncio.sleep(0)
        append(store, lease, seq)
        await commit(store, lease)
        for _ in range(5):
            await asyncio.sleep(0)
        assert following.done(), "a few turns of the loop, not the next look at the database"
        assert await following == [seq]
    await tail.aclose()


async def test_a_tail_begins_with_what_is_there(store: Store) -> None:
    lease = await driven(store)
    append(store, lease, *range(2, 2501))
    await commit(store, lease)
    tail = store.tail(run_id(1))
    assert await take(tail, 2500) == list(range(1, 2501))
    append(store, lease, 2501)
    await commit(store, lease)
    assert await take(tail, 1) == [2501]
    await tail.aclose()


async def test_a_tail_waits_for_rows_behind_its_place(store: Store) -> None:
    lease = await driven(store)
    tail = store.tail(run_id(1), after=3)
    following = asyncio.create_task(take(tail, 1))
    append(store, lease, 2, 3)
    await commit(store, lease)
    append(store, lease, 4)
    await commit(store, lease)
    assert await following == [4]
    await tail.aclose()


async def test_tails_of_many_runs_do_not_mix(store: Store, other: Store) -> None:
    leases = [await driven(store, number) for number in range(1, 21)]
    store.live = 20
    following = [
        asyncio.create_task(follow(view.tail(run_id(number)), 30 + number))
        for number in range(1, 21)
        for view in (store, other)
    ]
    await asyncio.sleep(0)
    for seq in range(2, 51):
        for number, lease in enumerate(leases, start=1):
            if seq <= 30 + number:
                append(store, lease, seq)
                store.commit(lease)
        await asyncio.sleep(0)
    rows = await asyncio.gather(*following)
    assert rows == [list(range(1, 31 + number)) for number in range(1, 21) for _ in "ab"]


async def test_a_tail_sees_what_is_appended_from_outside(store: Store, other: Store) -> None:
    await driven(store)
    tails = [view.tail(run_id(1), after=1) for view in (store, other)]
    following = [asyncio.create_task(take(tail, 1)) for tail in tails]
    await asyncio.sleep(0)
    await other.fence(run_id(1), [a_row(0)], RunUpdate(updated_us=1, status="cancelled"))
    assert await asyncio.gather(*following) == [[2], [2]]
    for tail in tails:
        await tail.aclose()


@pytest.mark.parametrize("group", [1, 25])
async def test_tails_see_what_other_processes_write(url: str, store: Store, group: int) -> None:
    for number in (1, 2):
        await store.create(a_run(number), [a_row(1)])
    async with (
        child("write_rows", url, run_id(1), 500, group) as first,
        child("write_rows", url, run_id(2), 500, group) as second,
    ):
        following = [follow(store.tail(run_id(number)), 501) for number in (1, 2, 1, 2)]
        for seqs in await asyncio.gather(*following):
            assert seqs == list(range(1, 502))
        assert [int(line) for line in await first.lines()] == list(range(2, 502))
        assert [await process.end() for process in (first, second)] == [0, 0]


async def test_tails_end_when_the_store_is_closed(url: str) -> None:
    async with open_store(url) as store:
        await driven(store)
        seen: list[int] = []

        async def watch() -> None:
            async for row in store.tail(run_id(1)):
                seen.append(row.seq)

        watching = asyncio.create_task(watch())
        await until(lambda: bool(seen))
    async with asyncio.timeout(PATIENCE_S):
        await watching
    assert seen == [1]
