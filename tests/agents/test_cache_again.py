"""Resume, fork and replay of runs that use the cache: what was taken is known from the log."""

from __future__ import annotations

import msgspec

import podium
from podium.engine.log import Store
from tests.agents.caching import NORA, Paid, asks, asks_at_once, cached


async def test_a_resumed_run_remembers_what_it_has_taken(store: Store) -> None:
    await cached(store, asks_at_once("a", "a", "a"), Paid())
    held = (await cached(store, asks_at_once("a", "a", "a"), Paid())).output
    model, stop = Paid(name="paid"), [True]

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[str]:
        said = [await run.ask(NORA, "draft", prompt="a") for _ in range(2)]
        if stop[0]:
            raise RuntimeError("stopped here")
        return [*said, *[await run.ask(NORA, "draft", prompt="a") for _ in range(2)]]

    failed = await cached(store, flow, model)
    assert (failed.status, failed.saved.calls) == ("failed", 2)
    stop[0] = False
    handle = await podium.resume(failed.run_id, workflow=flow, store=store, model=model)
    result = await handle.result()
    assert result.output == [*held, "paid 1"]
    assert (result.usage.calls, result.saved.calls) == (1, 3), "what was saved before counts too"


async def test_a_step_that_was_cut_off_gets_the_answer_again_that_it_had_taken(store: Store) -> None:
    """The log of a process that died after it was served, before the step was done."""
    for _ in range(2):
        await cached(store, asks("a", "a"), Paid())
    whole = await cached(store, asks("a", "a"), Paid())
    rows = await store.read(whole.run_id)
    served = [row for row in rows if row.type == "model.cached"]
    left = [row for row in rows if row.seq <= served[1].seq]
    run = await store.get(whole.run_id)
    copy = msgspec.structs.replace(run, run_id="died", status="running", holder="")
    await store.create(copy, left)
    handle = await podium.resume("died", workflow=asks("a", "a"), store=store, model=(model := Paid()))
    result = await handle.result()
    assert (result.output, result.usage.calls, model.calls) == (whole.output, 0, [])


async def test_a_fork_goes_on_after_what_its_parent_had(store: Store) -> None:
    """The parent paid for three answers. A fork at the third has had two of them, and gets the third."""
    model = Paid()
    parent = await cached(store, asks("a", "a", "a", "a"), model)
    handle = await podium.fork(parent.run_id, "draft#3", workflow=asks(*["a"] * 5), store=store, model=model)
    result = await handle.result()
    assert result.output == ["paid 1", "paid 2", "paid 3", "paid 4", "paid 5"]
    assert (result.saved.calls, result.usage.calls) == (2, 1)


async def test_a_fork_with_another_prompt_is_another_call(store: Store) -> None:
    model = Paid()
    parent = await cached(store, asks("a"), model)
    handle = await podium.fork(
        parent.run_id, "draft", prompt="b", workflow=asks("a"), store=store, model=model
    )
    assert (await handle.result()).output == ["paid 2"]


async def test_a_replay_shows_what_was_saved_and_asks_nobody(store: Store) -> None:
    model = Paid()
    await cached(store, asks("a"), model)
    run = await cached(store, asks("a"), model)
    hits = (await store.cache_shares())[0].hits
    again = await podium.replay(run.run_id, workflow=asks("a"), store=store)
    assert (again.output, again.saved) == (["paid 1"], run.saved)
    assert (await store.cache_shares())[0].hits == hits == 1
