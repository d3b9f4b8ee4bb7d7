"""What goes into the cache and what does not: good replies, without keys, of models that take part."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

import msgspec
import pytest

import podium
from podium.engine.log import Store
from podium.engine.store_parts import Sample
from podium.models.events import ModelCached, ModelKept, ModelUncached
from podium.models.model import Call, Reply, Usage
from podium.settings import Settings
from tests.agents.caching import NORA, Paid, asks, cache_events, cached


async def test_a_reply_that_was_cut_off_is_not_kept(store: Store) -> None:
    model = Paid(Reply("half of an", Usage(10, 10), finish="length"))
    for _ in range(2):
        result = await cached(store, asks("a"), model)
        assert len(result.warnings) == 2
    assert (len(model.calls), await store.cache_shares()) == (4, [])


@pytest.mark.parametrize("finish", ["content_filter", "error", ""])
async def test_a_reply_that_did_not_end_by_itself_is_not_kept(store: Store, finish: str) -> None:
    model = Paid(Reply("half of an", Usage(10, 10), finish=finish))
    for _ in range(2):
        assert (await cached(store, asks("a"), model)).output == ["half of an"]
    calls = 4 if finish == "length" else 2  # a text that was cut off is continued once
    assert (len(model.calls), await store.cache_shares()) == (calls, [])


async def test_refusals_failures_and_blank_replies_are_not_kept(store: Store) -> None:
    for said in (
        Reply("no", Usage(1, 1), finish="refusal"),
        RuntimeError("down"),
        Reply("  \n", Usage(1, 1)),
    ):
        await cached(store, asks("a"), Paid(said))
    assert await store.cache_shares() == []


async def test_a_reply_that_does_not_fit_is_not_kept_but_its_repair_is(store: Store) -> None:
    """A repair is a call of its own: the next run asks anew, and may get a reply that fits at once."""
    bad_then_good = Paid("no number", "7")
    assert (await cached(store, asks("a", returns=int), bad_then_good)).output == [7]
    (share,) = await store.cache_shares()
    assert share.entries == 1
    same_mistake = Paid("no number")
    again = await cached(store, asks("a", returns=int), same_mistake)
    assert (again.output, len(same_mistake.calls), again.saved.calls) == ([7], 1, 1)
    (served,) = await cache_events(store, again.run_id, ModelCached)
    assert served.attempt == 2
    fits_at_once = Paid("8")
    assert (await cached(store, asks("a", returns=int), fits_at_once)).output == [8]


STRICT = [False]


class Even(msgspec.Struct):
    """A type with a check that its schema does not show."""

    value: int

    def __post_init__(self) -> None:
        if STRICT[0] and self.value % 2:
            raise ValueError("must be even")


async def test_an_answer_that_fits_no_more_is_removed_and_asked_for_anew(store: Store) -> None:
    """A type's checks may change while its schema does not: no repair is paid for."""
    STRICT[0] = False
    try:
        await cached(store, asks("a", returns=Even), Paid('{"value": 3}'))
        STRICT[0] = True
        model = Paid('{"value": 4}')
        result = await cached(store, asks("a", returns=Even), model)
        assert (result.output, len(model.calls)) == ([{"value": 4}], 1)
        (removed,) = await cache_events(store, result.run_id, ModelUncached)
        assert removed.reason == "a cached answer was removed: it does not fit what is wanted"
        again = await cached(store, asks("a", returns=Even), model)
        assert (again.saved.calls, await cache_events(store, again.run_id, ModelUncached)) == (1, [])
    finally:
        STRICT[0] = False


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"{", b"[]", b"null", b'{"text": 3}', b'{"text": " "}'])
async def test_a_damaged_entry_never_sinks_a_run(store: Store, data: bytes) -> None:
    model = Paid()
    first = await cached(store, asks("a"), model)
    (kept,) = await cache_events(store, first.run_id, ModelKept)
    await store.clear_cache()
    store.keep_sample(Sample(id="bad", key=kept.key, number=1, model="paid", data=data), 1000)
    await store.discard([10**9])
    result = await cached(store, asks("a"), model)
    assert (result.status, result.output) == ("completed", ["paid 2"])
    (removed,) = await cache_events(store, result.run_id, ModelUncached)
    assert removed.reason == "a cached answer was removed: it is damaged"
    assert (await cached(store, asks("a"), model)).output == ["paid 2"]


async def test_a_cache_that_cannot_be_read_is_an_empty_one(store: Store, tmp_path: Path) -> None:
    """The table is gone: the run says so and pays for its calls."""
    with contextlib.closing(sqlite3.connect(tmp_path / "store.sqlite")) as db:
        db.execute("DROP TABLE sample")
        db.commit()
    result = await cached(store, asks("a"), Paid())
    assert (result.status, result.output, result.usage.calls) == ("completed", ["paid 1"], 1)
    (said,) = await cache_events(store, result.run_id, ModelUncached)
    assert "no such table" in said.reason


async def test_keys_reach_the_cache_no_more_than_the_log(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "planted-secret-4711")
    await cached(
        store, asks("a"), Paid("the key is planted-secret-4711, is it not"), settings=Settings.load()
    )
    (share,) = await store.cache_shares()
    assert share.entries == 1
    again = await cached(store, asks("a"), Paid(), settings=Settings.load())
    assert again.output == ["the key is [redacted], is it not"]
    row = await store.find_sample((await cache_events(store, again.run_id, ModelCached))[0].key)
    assert row is not None
    assert b"planted-secret" not in row.data


# ── which models take part ──


async def test_a_model_that_does_not_show_what_its_replies_depend_on_is_never_cached(store: Store) -> None:
    model = Paid(mark=None)
    for _ in range(2):
        assert (await cached(store, asks("a"), model)).usage.calls == 1
    for name in ("rehearsal", "rehearsal"):
        assert (await cached(store, asks("a"), name)).usage.calls == 1
    assert await store.cache_shares() == []


async def test_replay_repeats_its_run_and_not_the_cache(store: Store) -> None:
    recorded = await cached(store, asks("a"), Paid("recorded"))
    result = await cached(store, asks("a"), f"replay:{recorded.run_id}")
    assert (result.output, result.saved.calls, result.usage.calls) == (["recorded"], 0, 1)


FUNCTION = """
COUNT = {count!r}

async def answer(call):
    with open(COUNT, "a") as file:
        file.write("x")
    return "one"
"""


async def test_a_function_of_a_file_is_cached_until_its_file_changes(store: Store, tmp_path: Path) -> None:
    count, file = tmp_path / "count", tmp_path / "model.py"
    file.write_text(FUNCTION.format(count=str(count)))
    for _ in range(2):
        assert (await cached(store, asks("a"), f"python:{file}:answer")).output == ["one"]
    assert count.read_text() == "x"
    file.write_text(FUNCTION.format(count=str(count)).replace('"one"', '"two"'))
    assert (await cached(store, asks("a"), f"python:{file}:answer")).output == ["two"]


async def test_a_function_sees_more_than_words_so_more_makes_it_another_call(
    store: Store, tmp_path: Path
) -> None:
    count, file = tmp_path / "count", tmp_path / "model.py"
    file.write_text(FUNCTION.format(count=str(count)))

    def task(name: str) -> podium.Workflow:
        @podium.workflow
        async def flow(run: podium.Run, request: str) -> str:
            return await run.ask(NORA, name, prompt="a")

        return flow

    for name in ("grade", "grade", "plan"):
        await cached(store, task(name), f"python:{file}:answer")
    assert count.read_text() == "xx"


async def test_a_closure_is_never_cached(store: Store) -> None:
    calls: list[Call] = []

    async def answer(call: Call) -> str:
        calls.append(call)
        return "said"

    for _ in range(2):
        await cached(store, asks("a"), answer)
    assert len(calls) == 2
