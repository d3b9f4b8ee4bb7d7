"""The contract: telling something to whoever drives a run, now or later."""

from __future__ import annotations

import asyncio

from podium.engine.log import InboxMessage, Store
from podium.stores import open_store
from tests.stores.children import child
from tests.stores.samples import a_run, driven, run_id, until


async def test_messages_lie_in_order_until_they_are_discarded(store: Store, other: Store) -> None:
    await store.create(a_run(1), [])
    await store.create(a_run(2), [])
    first = await store.post(run_id(1), "answer", {"text": "Jä 🎬", "n": [1, None]})
    elsewhere = await other.post(run_id(2), "cancel")
    second = await other.post(run_id(1), "pause", "because")
    assert first < elsewhere < second
    assert await store.inbox(run_id(1)) == [
        InboxMessage(first, run_id(1), "answer", {"text": "Jä 🎬", "n": [1, None]}),
        InboxMessage(second, run_id(1), "pause", "because"),
    ]
    await store.discard([first, 999])
    assert [message.id for message in await other.inbox(run_id(1))] == [second]
    await store.discard([])
    await store.discard([second, elsewhere])
    assert await other.inbox(run_id(1)) == await other.inbox(run_id(2)) == []


async def test_ids_are_never_used_twice(store: Store) -> None:
    await store.create(a_run(1), [])
    first = await store.post(run_id(1), "answer")
    await store.discard([first])
    assert await store.post(run_id(1), "answer") > first


async def test_messages_outlive_the_process(url: str) -> None:
    async with open_store(url) as store:
        await store.create(a_run(1), [])
        posted = await store.post(run_id(1), "answer", 42)
    async with open_store(url) as store:
        assert await store.inbox(run_id(1)) == [InboxMessage(posted, run_id(1), "answer", 42)]


async def test_a_subscriber_gets_what_is_there_and_what_comes_once_each(store: Store, other: Store) -> None:
    await driven(store)
    there = [await store.post(run_id(1), "answer", n) for n in range(3)]
    seen: list[InboxMessage] = []
    unsubscribe = store.subscribe(run_id(1), seen.append)
    assert seen == [], "it is called back on the loop, never from within"
    coming = [await view.post(run_id(1), "answer", n) for n, view in enumerate((store, other) * 10, start=3)]
    await until(lambda: len(seen) >= 23)
    assert [message.id for message in seen] == there + coming
    assert [message.data for message in seen] == list(range(23))

    unsubscribe()
    unsubscribe()
    await store.post(run_id(1), "answer", "late")
    fresh: list[InboxMessage] = []
    stop = store.subscribe(run_id(1), fresh.append)
    await until(lambda: len(fresh) == 24)
    assert len(seen) == 23
    stop()


async def test_whoever_unsubscribes_hears_nothing_more(store: Store) -> None:
    await driven(store)
    await store.post(run_id(1), "answer", 1)
    await store.post(run_id(1), "answer", 2)
    heard: list[InboxMessage] = []

    def once(message: InboxMessage) -> None:
        heard.append(message)
        unsubscribe()

    unsubscribe = store.subscribe(run_id(1), once)
    others: list[InboxMessage] = []
    stop = store.subscribe(run_id(1), others.append)
    await until(lambda: len(others) == 2)
    assert [message.data for message in heard] == [1]
    stop()


async def test_a_callback_that_fails_harms_no_other(store: Store) -> None:
    await driven(store)
    complaints: list[object] = []
    asyncio.get_running_loop().set_exception_handler(
        lambda _, context: complaints.append(context["exception"])
    )
    seen: list[InboxMessage] = []

    def fail(message: InboxMessage) -> None:
        raise ValueError(message.data)

    stops = [store.subscribe(run_id(1), callback) for callback in (fail, seen.append)]
    for number in range(3):
        await store.post(run_id(1), "answer", number)
    await until(lambda: len(seen) == 3)
    assert [str(complaint) for complaint in complaints] == ["0", "1", "2"]
    for stop in stops:
        stop()


async def test_many_subscribers_and_another_process(url: str, store: Store) -> None:
    await asyncio.gather(*(store.create(a_run(number), []) for number in range(1, 301)))
    inboxes: dict[int, list[InboxMessage]] = {number: [] for number in range(1, 301)}
    stops = [store.subscribe(run_id(number), inboxes[number].append) for number in inboxes]
    wanted = [run_id(number) for number in (1, 150, 300)]
    async with child("post_messages", url, 30, *wanted) as posting:
        ids = [int(line) for line in await posting.lines()]
        assert await posting.end() == 0
    await until(lambda: sum(map(len, inboxes.values())) >= 90)
    for place, number in enumerate((1, 150, 300)):
        assert [message.id for message in inboxes[number]] == ids[place::3]
        assert [message.data["number"] for message in inboxes[number]] == list(range(30))
    assert sum(map(len, inboxes.values())) == 90
    for stop in stops:
        stop()
