"""Replay needs nothing but the log; a fork inherits up to a step and goes its own way."""

from __future__ import annotations

import socket
from typing import Any

import pytest

import podium
from podium.engine.log import Store
from podium.errors import NotResumableError, ReplayDivergedError, StepFailedError, UsageError

CALLS: list[str] = []


@pytest.fixture(autouse=True)
def forget_calls() -> None:
    CALLS.clear()


async def model(call: Any) -> str:
    CALLS.append(call.path)
    return f"{call.task} of {call.prompt}"


async def forbidden(call: Any) -> str:
    raise AssertionError(f"the model was asked at {call.path}")


writer = podium.Agent("writer")


async def tell(run: podium.Run, request: str) -> str:
    plan = await run.ask(writer, "plan", prompt="{{ request }}", request=request)
    parts = await run.gather({name: part(run, plan, name) for name in ("left", "right")})
    texts = [branch.unwrap() for branch in parts.values()]
    await run.artifact("parts.txt", "\n".join(texts))
    end = await run.ask(writer, "join", prompt="{{ texts | join(' + ') }}", texts=texts)
    run.warn("shown")
    return end


async def part(run: podium.Run, plan: str, name: str) -> str:
    return await run.ask(writer, "write", prompt="{{ plan }} ({{ name }})", plan=plan, name=name)


FLOW = podium.Workflow(tell, "tell")


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a connection fails, and so does the model function: a replay must touch neither."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a replay touched the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


async def finished(store: Store) -> podium.RunResult:
    result = await podium.run(FLOW, "a tale", store=store, model=model)
    assert result.status == "completed", result.error
    return result


async def test_replay_needs_neither_model_nor_network(store: Store, no_network: None) -> None:
    original = await finished(store)
    CALLS.clear()
    before = await store.read(original.run_id)
    replayed = await podium.replay(original.run_id, workflow=FLOW, store=store)
    assert replayed.to_dict()["output"] == original.to_dict()["output"]
    assert replayed.artifacts == original.artifacts
    assert replayed.warnings == original.warnings
    assert replayed.usage == original.usage
    assert CALLS == []
    assert await store.read(original.run_id) == before, "a replay writes nothing"


async def test_every_kind_of_finished_run_replays(store: Store) -> None:
    async def charge(n: int) -> int:
        return n

    async def exhausts(run: podium.Run, request: str) -> int:
        charged = 0
        try:
            for n in range(5):
                charged += await run.step("call", charge, 1, key=str(n), cost=podium.Charge(calls=1))
        except podium.BudgetExhaustedError:
            run.warn("out of budget")
        return charged

    async def fails(run: podium.Run, request: str) -> None:
        await run.step("boom", int, "no number")

    async def gives_part(run: podium.Run, request: str) -> podium.Partial:
        return podium.Partial(output=1, reason="half done", missing=["the rest"])

    for fn, status in ((exhausts, "partial"), (fails, "failed"), (gives_part, "partial")):
        workflow = podium.Workflow(fn, fn.__name__)
        original = await podium.run(workflow, "go", store=store, budget=podium.Budget(calls=3))
        assert original.status == status, original.error
        replayed = await podium.replay(original.run_id, workflow=workflow, store=store)
        assert (replayed.status, replayed.stop_reason) == (original.status, original.stop_reason)
        assert (replayed.output, replayed.error) == (original.output, original.error)


async def test_a_replay_of_other_code_says_where_it_diverged(store: Store) -> None:
    original = await finished(store)

    async def other_prompt(run: podium.Run, request: str) -> str:
        return await run.ask(writer, "plan", prompt="Other: {{ request }}", request=request)

    async def other_step(run: podium.Run, request: str) -> str:
        return await run.ask(writer, "sing", prompt="{{ request }}", request=request)

    for fn, where, why in (
        (other_prompt, "plan", "its input differs"),
        (other_step, "sing", "does not hold this step"),
    ):
        with pytest.raises(ReplayDivergedError) as diverged:
            await podium.replay(original.run_id, workflow=podium.Workflow(fn, "tell"), store=store)
        assert diverged.value.path == where
        assert why in diverged.value.reason


async def test_only_a_finished_run_replays(store: Store) -> None:
    async def asks(run: podium.Run, request: str) -> str:
        return await run.wait_for("Well?")

    waiting = await podium.run(podium.Workflow(asks, "asks"), "go", store=store)
    with pytest.raises(NotResumableError, match="only a run that came to its end"):
        await podium.replay(waiting.run_id, workflow=podium.Workflow(asks, "asks"), store=store)


async def test_a_fork_with_an_edited_reply_runs_on_from_there(store: Store) -> None:
    original = await finished(store)
    CALLS.clear()
    handle = await podium.fork(
        original.run_id, "plan", reply="EDITED", workflow=FLOW, store=store, model=model
    )
    forked = await handle.result()
    assert forked.status == "completed"
    assert forked.run_id != original.run_id
    assert sorted(CALLS) == ["join", "left/write", "right/write"], "the edited step itself is not asked again"
    assert "EDITED (left)" in str(forked.output)
    assert (await store.get(forked.run_id)).parent == original.run_id


async def test_what_a_fork_inherits_is_shown_and_not_charged_again(store: Store) -> None:
    original = await finished(store)
    CALLS.clear()
    forked = await (
        await podium.fork(original.run_id, "join", workflow=FLOW, store=store, model=model)
    ).result()
    assert CALLS == ["join"]
    assert forked.output == original.output
    assert forked.usage.calls == 1
    assert original.usage.calls == 4
    state = podium.RunState.of(row.to_event(forked.run_id) for row in await store.read(forked.run_id))
    assert state.forked_from is not None
    assert (state.forked_from.source, state.forked_from.at, state.forked_from.steps) == (
        original.run_id,
        "join",
        3,
    )
    assert {path: step.inherited for path, step in state.steps.items()} == {
        "plan": True,
        "left/write": True,
        "right/write": True,
        "join": False,
    }
    assert [artifact.name for artifact in forked.artifacts] == ["parts.txt"]
    replayed = await podium.replay(forked.run_id, workflow=FLOW, store=store)
    assert replayed.output == forked.output


async def test_a_fork_with_another_prompt_asks_that_step_anew(store: Store) -> None:
    original = await finished(store)
    CALLS.clear()
    handle = await podium.fork(
        original.run_id, "left/write", prompt="something else", workflow=FLOW, store=store, model=model
    )
    forked = await handle.result()
    assert "left/write" in CALLS
    assert "plan" not in CALLS
    assert "write of something else" in str(forked.output)


async def test_a_fork_with_another_model_keeps_the_inherited_work(store: Store) -> None:
    original = await finished(store)
    CALLS.clear()

    async def other(call: Any) -> str:
        return "from another model"

    forked = await (
        await podium.fork(original.run_id, "join", workflow=FLOW, store=store, model=other)
    ).result()
    assert forked.output == "from another model"
    assert CALLS == []


async def test_a_fork_at_an_unknown_step_names_the_nearest(store: Store) -> None:
    original = await finished(store)
    with pytest.raises(UsageError) as refused:
        await podium.fork(original.run_id, "left/wrte", workflow=FLOW, store=store, model=model)
    assert "no step left/wrte" in str(refused.value)
    assert "left/write" in refused.value.hint


async def test_a_fork_of_a_fork_and_of_a_failed_run(store: Store) -> None:
    async def fragile(n: int) -> int:
        CALLS.append(str(n))
        if n == 2 and CALLS.count("2") == 1:
            raise ValueError("once")
        return n

    async def flow(run: podium.Run, request: str) -> list[int]:
        return [await run.step("n", fragile, n) for n in range(4)]

    workflow = podium.Workflow(flow, "flow")
    failed = await podium.run(workflow, "go", store=store)
    assert failed.status == "failed"
    first = await (await podium.fork(failed.run_id, "n#3", workflow=workflow, store=store)).result()
    assert first.output == [0, 1, 2, 3]
    second = await (await podium.fork(first.run_id, "n#2", reply=10, workflow=workflow, store=store)).result()
    assert second.output == [0, 10, 2, 3]
    assert CALLS == ["0", "1", "2", "2", "3", "2", "3"]
    assert issubclass(StepFailedError, podium.PodiumError)
