"""Waiting for people and for time, also across restarts."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import podium
from podium.engine.journal import Memo
from podium.engine.log import Row, Store
from podium.errors import NotResumableError, UsageError


def asking(log: list[str]) -> podium.Workflow:
    async def draft() -> str:
        log.append("draft")
        return "a draft"

    async def flow(run: podium.Run, request: str) -> str:
        text = await run.step("draft", draft)
        answer = await run.wait_for(f"Send {text}?", choices=["approve", "reject"])
        return f"{text}: {answer}"

    return podium.Workflow(flow, "flow")


async def test_a_question_answered_while_nothing_runs(store: Store) -> None:
    log: list[str] = []
    first = await podium.run(asking(log), "go", store=store)
    assert (first.status, first.exit_code) == ("waiting", 5)
    assert [q.question for q in first.questions.values()] == ["Send a draft?"]
    assert (await store.get(first.run_id)).status == "waiting"
    assert (await store.get(first.run_id)).holder == "", "nobody holds a waiting run"
    await podium.answer(first.run_id, "approve", by="ann", store=store)
    second = await (await podium.resume(first.run_id, workflow=asking(log), store=store)).result()
    assert (second.status, second.output) == ("completed", "a draft: approve")
    assert log == ["draft"], "what was done before is not done again"
    answered = await store.read(first.run_id, types=["run.answered"])
    assert b'"by":"ann"' in answered[0].data
    assert await store.inbox(first.run_id) == []
    replayed = await podium.replay(first.run_id, workflow=asking(log), store=store)
    assert replayed.output == second.output


async def test_resuming_without_an_answer_waits_on(store: Store) -> None:
    first = await podium.run(asking([]), "go", store=store)
    second = await (await podium.resume(first.run_id, workflow=asking([]), store=store)).result()
    assert second.status == "waiting"
    assert len(await store.read(first.run_id, types=["run.waiting"])) == 1, "the question is asked once"


async def test_an_answer_that_is_no_choice_is_refused(store: Store) -> None:
    first = await podium.run(asking([]), "go", store=store)
    with pytest.raises(UsageError, match="not one of the choices"):
        await podium.answer(first.run_id, "perhaps", store=store)
    assert await store.inbox(first.run_id) == []


async def test_answering_a_run_that_asks_nothing_is_refused(store: Store) -> None:
    async def quiet(run: podium.Run, request: str) -> str:
        return "done"

    result = await podium.run(podium.Workflow(quiet, "quiet"), "go", store=store)
    with pytest.raises(NotResumableError, match="no open question"):
        await podium.answer(result.run_id, "approve", store=store)


async def test_other_branches_go_on_while_one_waits(store: Store) -> None:
    async def ask(run: podium.Run) -> str:
        return await run.wait_for("Go?")

    async def work(run: podium.Run) -> str:
        return await run.step("work", str.upper, "done")

    async def flow(run: podium.Run, request: str) -> list[Any]:
        out = await run.gather({"ask": ask(run), "work": work(run)})
        return [branch.unwrap() for branch in out.values()]

    workflow = podium.Workflow(flow, "flow")
    first = await podium.run(workflow, "go", store=store)
    assert first.status == "waiting"
    assert [row.path for row in await store.read(first.run_id, types=["step.completed"])] == ["work/work"]
    await podium.answer(first.run_id, "yes", store=store)
    second = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert second.output == ["yes", "DONE"]


async def test_two_open_questions_must_be_reported_apart(store: Store) -> None:
    async def ask(run: podium.Run, what: str) -> str:
        return await run.wait_for(what)

    async def flow(run: podium.Run, request: str) -> list[Any]:
        out = await run.gather({"a": ask(run, "A?"), "b": ask(run, "B?")})
        return [branch.unwrap() for branch in out.values()]

    workflow = podium.Workflow(flow, "flow")
    first = await podium.run(workflow, "go", store=store)
    assert sorted(first.questions) == ["a/question", "b/question"]
    with pytest.raises(UsageError) as refused:
        await podium.answer(first.run_id, "yes", store=store)
    assert "b/question: B?" in refused.value.hint
    await podium.answer(first.run_id, "yes", question="b/question", store=store)
    second = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert second.status == "waiting"
    assert sorted(second.questions) == ["a/question"]
    await podium.answer(first.run_id, "no", store=store)
    third = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert third.output == ["no", "yes"]


async def test_an_answer_that_arrives_while_the_run_is_driven(store: Store) -> None:
    """One branch keeps the run alive; the answer reaches the other through the inbox."""
    go_on = asyncio.Event()

    async def busy() -> str:
        await go_on.wait()
        return "busy"

    async def ask(run: podium.Run) -> str:
        answer = await run.wait_for("Go?")
        go_on.set()
        return answer

    async def work(run: podium.Run) -> str:
        return await run.step("busy", busy)

    async def flow(run: podium.Run, request: str) -> list[Any]:
        out = await run.gather({"ask": ask(run), "work": work(run)})
        return [branch.unwrap() for branch in out.values()]

    handle = await podium.start(podium.Workflow(flow, "flow"), "go", store=store)
    async for event in handle.events():
        if event.type == "run.waiting":
            await podium.answer(handle.run_id, "now", store=store)
    assert (await handle.result()).output == ["now", "busy"]


async def test_a_gate_asks_only_when_the_run_was_started_with_it(store: Store) -> None:
    async def flow(run: podium.Run, request: str) -> bool:
        return await run.approved("plan", "Go ahead with the plan?")

    workflow = podium.Workflow(flow, "flow", gates=["plan", "result"])
    assert (await podium.run(workflow, "go", store=store)).output is True
    gated = await podium.run(workflow, "go", store=store, approve=["plan"])
    assert gated.status == "waiting"
    await podium.answer(gated.run_id, "reject", store=store)
    assert (
        await (await podium.resume(gated.run_id, workflow=workflow, store=store)).result()
    ).output is False
    with pytest.raises(UsageError, match="no gate nothing"):
        await podium.run(workflow, "go", store=store, approve=["nothing"])


async def test_sleep_goes_on_across_a_restart(store: Store) -> None:
    """The moment of waking is in the log: a restart neither forgets the sleep nor starts it anew."""
    woken: list[float] = []

    async def flow(run: podium.Run, request: str) -> str:
        await run.sleep(0.6)
        woken.append(time.time())
        return "awake"

    workflow = podium.Workflow(flow, "flow")
    began = time.time()
    handle = await podium.start(workflow, "go", store=store)
    async for event in handle.events():
        if event.type == "step.completed":
            await handle.pause(at_once=True)
            break
    assert (await handle.result()).status == "paused"
    assert not woken
    result = await (await podium.resume(handle.run_id, workflow=workflow, store=store)).result()
    assert result.output == "awake"
    assert woken[0] - began >= 0.6
    wake_times = await store.read(handle.run_id, types=["step.completed"])
    assert len(wake_times) == 1, "one sleep, recorded once"


async def test_waiting_and_sleeping_do_not_count_as_driven_time(store: Store) -> None:
    async def flow(run: podium.Run, request: str) -> str:
        await run.sleep(0.5)
        return "awake"

    result = await podium.run(
        podium.Workflow(flow, "flow"), "go", store=store, budget=podium.Budget(seconds=0.3)
    )
    assert result.status == "completed"
    assert result.duration_s < 0.3


async def test_a_waiting_run_may_be_taken_up_any_number_of_times(store: Store) -> None:
    """Only deaths count as recoveries; an owner who looks in again and again must not lose the run."""
    result = await podium.run(asking([]), "go", store=store)
    for _ in range(8):
        result = await (await podium.resume(result.run_id, workflow=asking([]), store=store)).result()
        assert result.status == "waiting"


def test_sleep_before_a_crash_does_not_count_as_driven_time() -> None:
    """A driver that died told no total, so the time is taken from the rows that it wrote."""
    hour = 3_600_000_000
    rows = [
        Row(1, 0, "", "run.created", b'{"workflow":"w","request":"x"}'),
        Row(2, 0, "", "run.started", b"{}"),
        Row(3, 0, "sleep", "step.started", b'{"kind":"sleep"}'),
        Row(4, 0, "sleep", "step.completed", b'{"result":3600.0}'),
        Row(5, hour + 1_000_000, "a", "step.started", b"{}"),
        Row(6, hour + 3_000_000, "a", "step.completed", b"{}"),
        Row(7, hour + 3_000_000, "question", "run.waiting", b'{"question":"?"}'),
        Row(8, 2 * hour, "question", "run.answered", b'{"answer":"yes"}'),
        Row(9, 2 * hour + 4_000_000, "b", "step.started", b"{}"),
        Row(10, 9 * hour, "", "run.resumed", b'{"after":"crash"}'),
        Row(11, 9 * hour + 5_000_000, "b", "step.started", b"{}"),
    ]
    assert Memo.of(rows).driven_s == pytest.approx(1 + 2 + 4 + 5)


async def test_the_first_answer_counts_and_a_second_is_refused(store: Store) -> None:
    async def flow(run: podium.Run, request: str) -> str:
        return await run.wait_for("Go?")

    workflow = podium.Workflow(flow, "flow")
    first = await podium.run(workflow, "go", store=store)
    await podium.answer(first.run_id, "yes", store=store)
    with pytest.raises(NotResumableError, match="already"):
        await podium.answer(first.run_id, "no", store=store)
    second = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert second.output == "yes"


async def test_an_answer_to_an_earlier_question_answers_no_later_one(store: Store) -> None:
    """Two people answered at the same moment, then the program changed and asks something else there."""
    question, broken = ["Send the draft?"], [True]

    async def flow(run: podium.Run, request: str) -> str:
        answer = await run.wait_for(question[0])
        if broken[0]:
            raise ValueError("broken")
        return answer

    workflow = podium.Workflow(flow, "flow")
    first = await podium.run(workflow, "go", store=store)
    await podium.answer(first.run_id, "yes", store=store)
    (message,) = await store.inbox(first.run_id)
    second = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert second.status == "failed"
    await store.post(first.run_id, "answer", message.data)
    question[0], broken[0] = "Delete everything?", False
    third = await (await podium.resume(first.run_id, workflow=workflow, store=store)).result()
    assert third.status == "waiting"
    assert await store.inbox(first.run_id) == []
