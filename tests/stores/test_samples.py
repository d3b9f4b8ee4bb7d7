"""The contract: answers that outlive runs, by question and number, in a cache of limited size."""

from __future__ import annotations

import asyncio

from podium.engine.events import Charge
from podium.engine.log import Store
from podium.engine.store_parts import Cleared, Sample
from podium.stores import open_store
from tests.stores.samples import PATIENCE_S, commit, driven

MOST = 1_000_000
COST = Charge(0.25, 100, 10, 1)


def sample(name: str, key: str = "k", number: int = 1, model: str = "m", data: bytes = b"{}") -> Sample:
    return Sample(id=name, key=key, number=number, model=model, data=data, charge=COST, made_us=number)


async def keep(store: Store, *samples: Sample, most: int = MOST) -> None:
    """Keep them, and wait until that is written: by somebody's commit, as it is with steps."""
    for sample in samples:
        store.keep_sample(sample, most)
    await written(store)


async def written(store: Store) -> None:
    await store.discard([10**9])  # an errand that does nothing, in the same transaction


async def found(store: Store, key: str = "k", *skip: str) -> str:
    sample = await store.find_sample(key, skip)
    return "" if sample is None else sample.id


async def test_an_answer_is_found_by_its_question_by_whoever_opens_the_store(
    store: Store, other: Store
) -> None:
    await keep(store, sample("a", data=b"\x00\xff"), sample("b", key="l"))
    assert await other.find_sample("k") == sample("a", data=b"\x00\xff")
    assert (await found(other, "l"), await found(other, "no")) == ("b", "")


async def test_answers_come_in_the_order_of_their_numbers_and_can_be_skipped(store: Store) -> None:
    await keep(store, sample("third", number=3), sample("first", number=1), sample("second", number=2))
    assert await found(store) == "first"
    assert await found(store, "k", "first") == "second"
    assert await found(store, "k", "second", "first", "none") == "third"
    assert await found(store, "k", "first", "second", "third") == ""


async def test_a_number_that_is_taken_becomes_the_next_free_one(store: Store, other: Store) -> None:
    await keep(store, sample("a"), sample("b", number=2))
    await keep(other, sample("c"))
    last = await store.find_sample("k", ["a", "b"])
    assert last is not None
    assert (last.id, last.number) == ("c", 3)


async def test_what_is_queued_rides_with_the_next_commit(store: Store, other: Store) -> None:
    lease = await driven(store)
    store.keep_sample(sample("a"), MOST)
    await commit(store, lease)
    assert await found(other) == "a"


async def test_what_nobody_commits_is_written_soon_and_at_the_latest_on_close(url: str) -> None:
    async with open_store(url) as store:
        store.keep_sample(sample("a"), MOST)
        async with asyncio.timeout(PATIENCE_S):
            while not await found(store):  # noqa: ASYNC110 - a timer of the store writes it
                await asyncio.sleep(0.005)
        store.keep_sample(sample("b"), MOST)
    async with open_store(url) as store:
        assert await found(store, "k", "a") == "b"


async def test_an_answer_that_is_dropped_is_gone(store: Store) -> None:
    await keep(store, sample("a"))
    store.drop_sample("a")
    store.drop_sample("never there")
    await written(store)
    assert await found(store) == ""


async def test_shares_show_what_is_held_and_saved_by_model(store: Store) -> None:
    assert await store.cache_shares() == []
    await keep(store, sample("a", data=b"12345"), sample("b", number=2), sample("c", "l", model="n"))
    cached = await store.find_sample("k")
    assert cached is not None
    store.use_sample(cached, 50)
    store.use_sample(cached, 60)
    await written(store)
    many, few = await store.cache_shares()
    assert (many.model, many.entries, many.bytes, many.hits) == ("m", 2, 7, 2)
    assert (many.saved, many.oldest_us, many.newest_us) == (Charge(0.5, 200, 20, 2), 1, 2)
    assert (few.model, few.entries, few.hits, few.saved) == ("n", 1, 0, Charge())


async def test_what_was_saved_is_known_when_the_answer_has_gone(store: Store) -> None:
    await keep(store, sample("a"))
    store.use_sample(sample("a"), 9)
    store.drop_sample("a")
    await written(store)
    (share,) = await store.cache_shares()
    assert (share.entries, share.bytes, share.hits, share.saved.usd) == (0, 0, 1, 0.25)


async def test_all_of_one_model_or_what_was_not_used_can_be_cleared(store: Store) -> None:
    await keep(store, *(sample(name, name, number) for number, name in enumerate("abc", 1)))
    await keep(store, sample("x", "x", model="n"))
    store.use_sample(sample("a"), 1000)
    await written(store)
    assert await store.clear_cache(before_us=3, model="m") == Cleared(entries=1, bytes=2)
    assert [await found(store, name) for name in "abcx"] == ["a", "", "c", "x"]
    assert (await store.cache_shares())[0].hits == 1, "what was saved is still known"
    assert await store.clear_cache(model="m") == Cleared(entries=2, bytes=4)
    assert [share.model for share in await store.cache_shares()] == ["n"]
    assert await store.clear_cache() == Cleared(entries=1, bytes=2)
    assert await store.cache_shares() == []


async def test_the_least_recently_used_answers_make_room(store: Store) -> None:
    """The size is looked at with the first answer of a process and with every 64th after it."""
    answers = [sample(f"s{number}", f"k{number}", number, data=b"x" * 100) for number in range(1, 65)]
    await keep(store, *answers)
    store.use_sample(answers[0], 10_000)
    await keep(store, sample("one more", "z", 100, data=b"x" * 100), most=3000)
    entries = sum(share.entries for share in await store.cache_shares())
    assert entries == 27, "nine tenths of the limit"
    assert await found(store, "k1") == "s1", "it was used last"
    assert await found(store, "k2") == ""
    assert await found(store, "z") == "one more"


async def test_a_cache_of_no_size_holds_nothing(store: Store) -> None:
    await keep(store, sample("a"), most=0)
    assert await found(store) == ""


async def test_a_cache_that_cannot_be_written_harms_no_run(store: Store) -> None:
    """The same id twice, and a value that no store can take: the rows beside them are written."""
    lease = await driven(store)
    await keep(store, sample("a"))
    store.keep_sample(sample("a", "other"), MOST)
    store.keep_sample(sample("b", number=2**70), MOST)
    await commit(store, lease)
    assert await found(store, "other") == ""
    assert await found(store, "k", "a") == ""
