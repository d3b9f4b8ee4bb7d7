"""The contract: rows, blobs and commits."""

from __future__ import annotations

import asyncio
import hashlib
from functools import partial

import pytest

from podium.engine.log import Row, Store
from podium.errors import FencedError, StoreError
from podium.stores import open_store
from tests.stores.samples import a_row, append, commit, driven, run_id, seqs_of, take


@pytest.mark.parametrize("live", [0, 1, 2, 50])
async def test_a_row_is_there_for_all_once_its_commit_is_done(store: Store, other: Store, live: int) -> None:
    lease = await driven(store)
    store.live = live
    for seq in range(2, 40):
        append(store, lease, seq)
        await commit(store, lease)
        assert await seqs_of(other) == list(range(1, seq + 1))


async def test_a_commit_with_nothing_to_write_is_done(store: Store) -> None:
    lease = await driven(store)
    await commit(store, lease)
    store.live = 5
    await commit(store, lease)
    assert await seqs_of(store) == [1]


async def test_rows_come_back_exactly(store: Store, other: Store) -> None:
    lease = await driven(store)
    rows = [
        Row(2, 5, "", "run.started", b""),
        Row(3, 5, "a/ü/🎬#2", "weird.type", b'{"text":"\\u0000 \xc3\xbc"}'),
        Row(4, 2**53, "x" * 5000, "t", bytes(range(256)) * 200),
    ]
    for row in rows:
        store.append(lease, row)
    await commit(store, lease)
    assert (await other.read(run_id(1)))[1:] == rows


async def test_many_commits_of_many_runs_at_once(store: Store, other: Store) -> None:
    leases = [await driven(store, number) for number in range(1, 31)]
    store.live = 30
    for start in range(2, 42, 4):
        pending: list[asyncio.Future[None]] = []
        for seq in range(start, start + 4):
            for lease in leases:
                append(store, lease, seq)
                future = store.commit(lease)
                assert future is not None
                pending.append(future)
        await asyncio.gather(*pending)
    for number in range(1, 31):
        assert await seqs_of(other, number) == list(range(1, 42))


async def test_a_batch_larger_than_any_statement(store: Store) -> None:
    lease = await driven(store)
    append(store, lease, *range(2, 3002))
    await commit(store, lease)
    assert await seqs_of(store) == list(range(1, 3002))


async def test_a_caller_that_no_longer_waits_changes_nothing(store: Store) -> None:
    lease = await driven(store)
    store.live = 3
    append(store, lease, 2)
    first, second = store.commit(lease), store.commit(lease)
    assert first is not None
    assert second is not None
    first.cancel()
    await second
    assert await seqs_of(store) == [1, 2]


async def test_rows_that_nobody_commits_go_out_too(store: Store, other: Store) -> None:
    lease = await driven(store)
    tail = other.tail(run_id(1))
    append(store, lease, 2, 3)
    assert await take(tail, 3) == [1, 2, 3]
    append(store, lease, 4)
    assert await take(tail, 1) == [4]
    await tail.aclose()


@pytest.mark.parametrize("wrong", [1, 3, 0, -1, 2**31])
async def test_a_log_has_no_gaps_and_no_doubles(store: Store, wrong: int) -> None:
    lease = await driven(store)
    with pytest.raises(StoreError, match="2 is next"):
        append(store, lease, wrong)
    append(store, lease, 2)
    with pytest.raises(StoreError, match="3 is next"):
        append(store, lease, 2)
    append(store, lease, 3)
    await commit(store, lease)
    assert await seqs_of(store) == [1, 2, 3]


async def test_reading_a_part(store: Store) -> None:
    lease = await driven(store)
    for seq in range(2, 3001):
        store.append(lease, a_row(seq, "odd" if seq % 2 else "even"))
    await commit(store, lease)
    await driven(store, 2)

    async def read(after: int = 0, limit: int = 0, types: tuple[str, ...] = ()) -> list[int]:
        return [row.seq for row in await store.read(run_id(1), after=after, limit=limit, types=types)]

    assert await read() == list(range(1, 3001))
    assert await read(after=2990) == list(range(2991, 3001))
    assert await read(after=3000) == await read(after=5000) == []
    assert await read(limit=3) == [1, 2, 3]
    assert await read(after=5, limit=2500) == list(range(6, 2506))
    assert await read(limit=1000) == list(range(1, 1001))
    assert await read(types=("odd",), limit=3) == [3, 5, 7]
    assert await read(types=("even", "run.created"), after=2990) == [2992, 2994, 2996, 2998, 3000]
    assert await read(types=("odd", "even", "run.created")) == list(range(1, 3001))
    assert await read(types=("unheard.of",)) == []


async def test_blobs_are_named_by_their_content(store: Store, other: Store) -> None:
    lease = await driven(store)
    data = bytes(range(256)) * 1000
    digest = store.put_blob(data)
    assert digest == hashlib.sha256(data).hexdigest()
    assert store.put_blob(data) == digest
    empty = store.put_blob(b"")
    append(store, lease, 2)
    await commit(store, lease)
    assert await other.get_blob(digest) == data
    assert await other.get_blob(empty) == b""
    store.put_blob(data)
    append(store, lease, 3)
    await commit(store, lease)
    assert await other.get_blob(digest) == data


@pytest.mark.parametrize("digest", ["0" * 64, "abc", "", "not hex at all"])
async def test_an_unknown_blob(store: Store, digest: str) -> None:
    with pytest.raises(StoreError):
        await store.get_blob(digest)


@pytest.mark.parametrize("live", [1, 9])
async def test_no_row_is_seen_before_the_blob_that_it_names(store: Store, other: Store, live: int) -> None:
    lease = await driven(store)
    store.live = live

    async def write() -> None:
        for seq in range(2, 60):
            digest = store.put_blob(b"blob %d " % seq * 5000)
            store.append(lease, a_row(seq, data=digest.encode()))
            if seq % 3:
                await commit(store, lease)
        await store.release(lease)

    writing = asyncio.create_task(write())
    tail = other.tail(run_id(1), after=1)
    for seq in range(2, 60):
        row = await anext(tail)
        assert await other.get_blob(row.data.decode()) == b"blob %d " % seq * 5000
    await tail.aclose()
    await writing


async def test_closing_commits_what_is_queued(url: str) -> None:
    async with open_store(url) as store:
        lease = await driven(store)
        digest = store.put_blob(b"last words")
        append(store, lease, 2, 3)
    async with open_store(url) as store:
        assert await seqs_of(store) == [1, 2, 3]
        assert await store.get_blob(digest) == b"last words"


async def test_a_closed_store_says_so(url: str) -> None:
    async with open_store(url) as store:
        lease = await driven(store)
    await store.close()
    pending = store.commit(lease)
    assert pending is not None
    with pytest.raises(StoreError, match="closed"):
        await pending
    for attempt in (store.read(run_id(1)), store.get(run_id(1)), store.acquire(run_id(1)), store.list_runs()):
        with pytest.raises(StoreError, match="closed"):
            await attempt


async def test_the_url_opens_the_same_store_again(store: Store) -> None:
    await driven(store)
    async with open_store(store.url) as again:
        assert await seqs_of(again) == [1]


async def test_what_comes_first_is_done_before_anybody_who_waits_goes_on(store: Store) -> None:
    """All of a batch's: a slot that one step gives back must not wait for the work of another."""
    leases = [await driven(store, number) for number in (1, 2, 3)]
    store.live = 3
    order: list[str] = []
    pending: list[asyncio.Future[None]] = []
    for number, lease in enumerate(leases):
        append(store, lease, 2)
        future = store.commit(lease, None, None, partial(order.append, f"first {number}"))
        assert future is not None
        future.add_done_callback(lambda _, number=number: order.append(f"waited {number}"))
        pending.append(future)
    await asyncio.gather(*pending)
    assert order == ["first 0", "first 1", "first 2", "waited 0", "waited 1", "waited 2"]


async def test_what_comes_first_is_done_also_when_the_rows_are_refused(store: Store, other: Store) -> None:
    lease = await driven(store)
    store.live = 2
    await other.acquire(run_id(1), take_over=True)
    called: list[str] = []
    append(store, lease, 2)
    with pytest.raises(FencedError):
        await commit(store, lease, partial(called.append, "given back"))
    assert called == ["given back"]
