"""The cache across runs: identical calls are served, and the nth of a run gets the nth sample."""

from __future__ import annotations

import asyncio
import itertools
from functools import partial
from pathlib import Path

import pytest

import podium
from podium.engine.events import Charge
from podium.engine.log import Store
from podium.models.events import ModelAttempted, ModelCached, ModelKept
from podium.settings import Settings
from podium.stores import open_store
from tests.agents.caching import NORA, Paid, asks, asks_at_once, cache_events, cached, until


async def test_an_identical_call_of_another_run_is_served_for_nothing(store: Store) -> None:
    model = Paid()
    first = await cached(store, asks("a"), model)
    second = await cached(store, asks("a"), model)
    assert first.output == second.output == ["paid 1"]
    assert len(model.calls) == 1
    assert (first.usage.calls, first.usage.usd, first.saved) == (1, 0.02, Charge())
    assert (second.usage, second.saved) == (Charge(), Charge(0.02, 1000, 1000, 1))
    assert second.to_dict()["usage"] | {"cached_calls": 1, "saved_usd": 0.02} == second.to_dict()["usage"]


async def test_it_is_off_unless_somebody_asks_for_it(store: Store, tmp_path: Path) -> None:
    model, on = Paid(), Settings(store=str(tmp_path / "store.sqlite"), cache=True)
    for _ in range(2):
        await podium.run(asks("a"), "x", model=model, store=store)
    assert (len(model.calls), await store.cache_shares()) == (2, [])
    for _ in range(2):
        await podium.run(asks("a"), "x", model=model, store=store, settings=on)
    assert len(model.calls) == 3, "the settings can ask for it"
    await podium.run(asks("a"), "x", model=model, store=store, settings=on, cache=False)
    assert len(model.calls) == 4, "a single run can do without it"


async def test_the_log_shows_what_was_served_and_what_was_kept(store: Store) -> None:
    model = Paid()
    first = await cached(store, asks("a"), model)
    (kept,) = await cache_events(store, first.run_id, ModelKept)
    second = await cached(store, asks("a"), model)
    (served,) = await cache_events(store, second.run_id, ModelCached)
    assert (served.model, served.key, served.sample, served.number) == ("paid", kept.key, kept.sample, 1)
    assert (served.saved, served.attempt) == (Charge(0.02, 1000, 1000, 1), 1)
    assert await cache_events(store, second.run_id, ModelAttempted) == []
    rows = [row.to_event(second.run_id) for row in await store.read(second.run_id)]
    assert podium.RunState.of(rows).saved == second.saved


async def test_a_hit_needs_no_budget_and_no_slot(store: Store) -> None:
    """With one slot, and that taken by a call that hangs, and no call allowed: what is cached is served."""
    model = Paid()
    await cached(store, asks("a", "b"), model)
    none = podium.Budget(usd=0, tokens=0, calls=0)
    result = await cached(store, asks("a", "b"), model, budget=none)
    assert (result.status, result.output) == ("completed", ["paid 1", "paid 2"])

    stuck = Paid("late", name="paid")
    stuck.gates = [asyncio.Event()]

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[str]:
        async def then() -> str:
            said = await run.ask(NORA, "draft", prompt="a")
            stuck.gates[0].set()
            return said

        both = await run.gather({"new": run.ask(NORA, "draft", prompt="new"), "old": then()})
        return [one.unwrap() for one in both.values()]

    assert (await cached(store, flow, stuck, concurrency=1)).output == ["late", "paid 1"]


@pytest.mark.parametrize(
    "other",
    [
        podium.Agent("Nora", "critic", "Be kind.", max_tokens=500),
        podium.Agent("Nora", "critic", "Be strict.", max_tokens=501),
        podium.Agent("Nora", "critic", "Be strict.", max_tokens=500, temperature=0.1),
        podium.Agent("Olga", "critic", "Be strict.", max_tokens=500),
    ],
    ids=["instructions", "max_tokens", "temperature", "a name that the system prompt holds"],
)
async def test_whatever_changes_the_reply_is_another_call(store: Store, other: podium.Agent) -> None:
    model = Paid()
    await cached(store, asks("a"), model)
    await cached(store, asks("a", agent=other), model)
    assert len(model.calls) == 2


async def test_another_model_prompt_schema_or_manner_of_asking_is_another_call(store: Store) -> None:
    await cached(store, asks("a"), Paid())
    assert (await cached(store, asks("b"), Paid())).usage.calls == 1
    assert (await cached(store, asks("a"), Paid(name="other"))).usage.calls == 1
    assert (await cached(store, asks("a"), Paid(mark="tool"))).usage.calls == 1
    assert (await cached(store, asks("a", returns=int), Paid("7"))).usage.calls == 1


async def test_workflow_path_and_run_do_not_matter(store: Store) -> None:
    model = Paid()
    await cached(store, asks("a"), model)

    @podium.workflow
    async def elsewhere(run: podium.Run, request: str) -> str:
        async with run.branch("deep"):
            return await run.ask(NORA, "write", prompt="a", key="k")

    assert (await cached(store, elsewhere, model)).output == "paid 1"


# ── the nth call gets the nth sample ──


async def test_the_nth_identical_call_gets_the_nth_sample_and_missing_ones_are_made(store: Store) -> None:
    model = Paid()
    assert (await cached(store, asks("a"), model)).output == ["paid 1"]
    assert (await cached(store, asks("a", "a", "a"), model)).output == ["paid 1", "paid 2", "paid 3"]
    third = await cached(store, asks("a", "a", "a", "a"), model)
    assert third.output == ["paid 1", "paid 2", "paid 3", "paid 4"]
    assert (third.usage.calls, third.saved.calls) == (1, 3)


async def test_calls_side_by_side_get_samples_of_their_own(store: Store) -> None:
    model = Paid()
    first = await cached(store, asks_at_once("a", "a", "a"), model)
    assert sorted(first.output) == ["paid 1", "paid 2", "paid 3"]
    again = await cached(store, asks_at_once(*["a"] * 5), model)
    assert again.output[:3] == first.output
    assert sorted(again.output[3:]) == ["paid 4", "paid 5"]
    assert (again.usage.calls, again.saved.calls) == (2, 3)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_who_gets_which_does_not_depend_on_who_is_answered_first(
    store: Store, order: tuple[int, ...]
) -> None:
    model = Paid()
    model.gates = [asyncio.Event() for _ in range(3)]

    async def answered(number: int) -> bool:
        return sum(share.entries for share in await store.cache_shares()) >= number

    async def asked() -> bool:
        return len(model.calls) == 3

    async def open_gates() -> None:
        await until(asked)
        for count, number in enumerate(order, 1):
            model.gates[number].set()
            await until(partial(answered, count))

    opening = asyncio.create_task(open_gates())
    first = await cached(store, asks_at_once("a", "a", "a"), model)
    await opening
    again = await cached(store, asks_at_once("a", "a", "a"), model)
    assert (again.output, again.usage.calls) == (first.output, 0)


async def test_a_run_is_never_served_what_it_has_made_itself(store: Store) -> None:
    """Also when another run has put a sample in between, so that the numbers have moved."""
    mine, others = Paid(name="m"), Paid("from elsewhere", name="m")
    gate = mine.gates = [asyncio.Event()]
    handle = await podium.start(asks("a", "a"), "x", model=mine, store=store, cache=True)
    await mine.asked.wait()
    await cached(store, asks("a"), others)
    gate[0].set()
    result = await handle.result()
    assert result.output == ["m 1", "from elsewhere"]


async def test_the_cache_serves_other_processes(store: Store, tmp_path: Path) -> None:
    model = Paid()
    await cached(store, asks("a"), model)
    async with open_store(str(tmp_path / "store.sqlite")) as other:
        assert (await cached(other, asks("a"), model)).output == ["paid 1"]
    assert len(model.calls) == 1
