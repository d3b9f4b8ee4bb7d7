"""Calls of `once` tools that a time-out cuts off: a person is asked before the ask ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import podium
from podium.agents.tools import tool
from podium.engine.log import Store
from podium.errors import StepTimeoutError
from podium.models.messages import ToolCall, ToolOutcome
from podium.models.model import Call
from tests.agents.scripted import Script, acting, results

Paid = list[int]
QUESTION = "thread/question[outcome 1.0]"


def slow_payment(paid: Paid, **options: Any) -> podium.Tool:
    """A tool whose first call never returns by itself; later ones do."""

    @tool(once=options.pop("once", True), **options)
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        if len(paid) == 1:
            await asyncio.Event().wait()
        return f"paid {amount}"

    return pay


@tool
def look() -> str:
    """Look."""
    return "seen"


def two_asks(*tools: podium.Tool, timeout: float = 0.2, **options: Any) -> podium.Workflow:
    """A thread whose first ask is cut off by its time-out."""
    agent = podium.Agent("Ida", tools=tools, **options)

    @podium.workflow(name="two_asks")
    async def flow(run: podium.Run, request: str) -> Any:
        thread = run.thread(agent)
        try:
            return await thread.ask("one", timeout=timeout)
        except StepTimeoutError:
            return await thread.ask("two")

    return flow


PAY = ToolCall("pay", {"amount": 3})


async def resumed(
    store: Store, run_id: str, flow: podium.Workflow, model: Callable[[Call], Any]
) -> podium.RunResult:
    handle = await podium.resume(run_id, store=store, workflow=flow, model=model)
    return await handle.result()


async def after_answer(
    store: Store, run_id: str, flow: podium.Workflow, answer: Any, question: str | None = None
) -> podium.RunResult:
    """Answer the run's question and let it go on; check that a replay agrees."""
    await podium.answer(run_id, answer, store=store, question=question)
    done = await resumed(store, run_id, flow, Script(results))
    if done.status == "completed":
        assert (await podium.replay(run_id, workflow=flow, store=store)).output == done.output
    return done


@pytest.mark.parametrize(
    ("answer", "output", "calls"),
    [("skip", "unknown", 1), ({"result": "receipt 7"}, "receipt 7", 1), ("retry", "paid 3", 2)],
)
async def test_a_person_is_asked_about_a_call_that_the_time_out_of_its_ask_cut_off(
    store: Store, answer: Any, output: str, calls: int
) -> None:
    paid: Paid = []
    flow = two_asks(slow_payment(paid))
    asking = await podium.run(flow, "go", model=Script(PAY), store=store)
    assert asking.status == "waiting", asking
    [(path, question)] = asking.questions.items()
    assert path == QUESTION
    assert "Did pay take effect?" in question.question
    assert question.details["arguments"] == {"amount": 3}
    again = await resumed(store, asking.run_id, flow, Script("never"))
    assert list(again.questions) == [path], "the question survives a restart"
    done = await after_answer(store, asking.run_id, flow, answer)
    assert done.status == "completed", done.error
    assert output in done.output
    assert paid == [3] * calls


async def test_the_ask_has_failed_with_its_time_out(store: Store) -> None:
    paid: Paid = []
    flow = acting(slow_payment(paid), timeout=0.2)
    asking = await podium.run(flow, "go", model=Script(PAY), store=store)
    assert asking.status == "waiting", asking
    done = await after_answer(store, asking.run_id, flow, "skip")
    assert done.status == "failed"
    assert "time-out of the whole ask" in str(done.error)
    again = await resumed(store, asking.run_id, flow, Script(results))
    assert again.status == "completed", "a resume gives the ask its time again"
    assert "unknown" in again.output
    assert paid == [3]


async def test_a_retry_that_is_cut_off_again_is_asked_about_again(store: Store) -> None:
    paid: Paid = []

    @tool(once=True)
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        await asyncio.Event().wait()
        return ""

    flow = two_asks(pay)
    asking = await podium.run(flow, "go", model=Script(PAY), store=store)
    again = await after_answer(store, asking.run_id, flow, "retry")
    assert list(again.questions) == ["thread/question[outcome 1.0.again]"]
    done = await after_answer(store, asking.run_id, flow, {"result": "receipt 8"})
    assert (done.output, paid) == ("receipt 8", [3, 3])


async def test_a_tool_that_ignores_its_cancellation_does_not_delay_the_end(store: Store) -> None:
    paid: Paid = []
    released = asyncio.Event()

    @tool(once=True, max_parallel=1)
    async def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        while len(paid) == 1 and not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        return "late"

    flow = two_asks(pay)
    asking = await podium.run(flow, "go", model=Script(PAY), store=store)
    assert list(asking.questions) == [QUESTION], asking
    released.set()
    done = await after_answer(store, asking.run_id, flow, "retry")
    assert (done.output, paid) == ("late", [3, 3])


@pytest.mark.parametrize("own", [False, True], ids=["of the ask", "of the tool"])
async def test_a_call_that_returns_when_it_is_cut_off_is_known(store: Store, own: bool) -> None:
    @tool(once=True, timeout=0.2 if own else None)
    async def pay(amount: int) -> str:
        """Pay."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return f"paid {amount}"
        return ""

    flow = two_asks(pay, timeout=60 if own else 0.2)
    done = await podium.run(flow, "go", model=Script(PAY, results), store=store)
    assert (done.status, done.output) == ("completed", "paid 3"), done.questions
    assert (await podium.replay(done.run_id, workflow=flow, store=store)).output == done.output


@pytest.mark.parametrize("own", [False, True], ids=["of the ask", "of the tool"])
async def test_an_exception_of_a_call_that_is_cut_off_does_not_mean_that_it_failed(
    store: Store, own: bool
) -> None:
    @tool(once=True, timeout=0.2 if own else None)
    async def pay(amount: int) -> str:
        """Pay."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise ConnectionError("connection lost") from None
        return ""

    asking = await podium.run(
        two_asks(pay, timeout=60 if own else 0.2), "go", model=Script(PAY, results), store=store
    )
    assert list(asking.questions) == [QUESTION], asking


async def test_a_model_can_be_told_instead(store: Store) -> None:
    paid: Paid = []
    flow = two_asks(slow_payment(paid, once="tell"))
    done = await podium.run(flow, "go", model=Script(PAY, results), store=store)
    assert done.status == "completed", done.questions
    assert "outcome of this call of pay is unknown" in done.output
    assert (await podium.replay(done.run_id, workflow=flow, store=store)).output == done.output


@pytest.mark.parametrize("side_by_side", [True, False])
async def test_finished_calls_of_the_same_turn_keep_their_results(store: Store, side_by_side: bool) -> None:
    paid: Paid = []

    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return ""

    flow = two_asks(look, slow_payment(paid), wait, parallel_calls=side_by_side)
    calls = [ToolCall("look"), PAY, ToolCall("wait")]
    asking = await podium.run(flow, "go", model=Script(calls), store=store)
    done = await after_answer(store, asking.run_id, flow, {"result": "receipt 7"})
    said = done.output.split(" | ")
    assert said[:2] == ["seen", "receipt 7"]
    assert "has no result" in said[2]


@pytest.mark.parametrize("side_by_side", [True, False])
async def test_on_tool_is_called_as_often_in_a_replay_of_a_time_out(store: Store, side_by_side: bool) -> None:
    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return ""

    agent = podium.Agent("Ida", tools=[look, wait], parallel_calls=side_by_side)
    noted: list[tuple[str, bool]] = []

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> None:
        def note(call: ToolCall, outcome: ToolOutcome | None) -> None:
            noted.append((call.name, outcome is None))

        with pytest.raises(StepTimeoutError):
            await run.ask(agent, "plan", prompt=request, timeout=0.2, on_tool=note)

    calls = [ToolCall("look"), ToolCall("wait"), ToolCall("look")]
    done = await podium.run(flow, "go", model=Script(calls), store=store)
    assert done.status == "completed", done.error
    live = sorted(noted)
    noted.clear()
    await podium.replay(done.run_id, workflow=flow, store=store)
    assert sorted(noted) == live


async def test_a_call_that_waited_for_its_turn_is_not_asked_about(store: Store) -> None:
    paid: Paid = []
    flow = two_asks(slow_payment(paid, max_parallel=1))
    asking = await podium.run(flow, "go", model=Script([PAY, PAY]), store=store)
    assert list(asking.questions) == [QUESTION]
    done = await after_answer(store, asking.run_id, flow, "skip")
    assert done.status == "completed", done.questions
    assert paid == [3]


async def test_a_person_is_asked_about_a_call_of_a_sub_agent(store: Store) -> None:
    paid: Paid = []
    clerk = podium.Agent("clerk", tools=[slow_payment(paid)])
    flow = two_asks(clerk.as_tool())
    model = Script(ToolCall("clerk", {"request": "pay"}), PAY)
    asking = await podium.run(flow, "go", model=model, store=store)
    [(path, question)] = asking.questions.items()
    assert path == "thread/tool[1.0]/answer/question[outcome 1.0]"
    assert list(question.choices) == ["skip"], "the sub-agent has ended: nobody could use the result"
    done = await after_answer(store, asking.run_id, flow, "skip")
    assert done.status == "completed", done.error
    assert "has no result" in done.output
    assert paid == [3]


async def test_a_person_is_asked_when_the_time_out_of_a_composite_tool_cuts_a_call_off(store: Store) -> None:
    paid: Paid = []
    clerk = podium.Agent("clerk", tools=[slow_payment(paid)])

    @tool(composite=True, timeout=0.2)
    async def settle(ctx: podium.ToolContext) -> str:
        """Settle."""
        return await ctx.ask(clerk, "settle", prompt="pay")

    flow = acting(settle)
    asking = await podium.run(flow, "go", model=Script(ToolCall("settle"), PAY), store=store)
    assert list(asking.questions) == ["plan/tool[1.0]/settle/question[outcome 1.0]"]
    done = await after_answer(store, asking.run_id, flow, "skip")
    assert done.status == "completed", done.error
    assert paid == [3]


async def test_a_fork_after_the_answer_keeps_it_and_one_before_it_asks(store: Store) -> None:
    paid: Paid = []
    flow = two_asks(slow_payment(paid))
    source = await podium.run(flow, "go", model=Script(PAY), store=store)
    await after_answer(store, source.run_id, flow, {"result": "receipt 7"})
    later = await podium.fork(source.run_id, at="thread#2", workflow=flow, model=Script(results), store=store)
    assert (await later.result()).output == "receipt 7"
    again = await podium.fork(source.run_id, at=QUESTION, workflow=flow, model=Script(results), store=store)
    assert list((await again.result()).questions) == [QUESTION]
    earlier = await podium.fork(source.run_id, at="thread", workflow=flow, model=Script(PAY), store=store)
    [question] = (await earlier.result()).questions.values()
    assert "was called before" in question.question
    assert paid == [3]


async def test_a_person_is_asked_when_the_time_of_a_sub_agent_cuts_a_call_off(store: Store) -> None:
    paid: Paid = []
    clerk = podium.Agent("clerk", tools=[slow_payment(paid)])
    flow = acting(clerk.as_tool(budget=podium.Budget(seconds=0.3)))
    model = Script(ToolCall("clerk", {"request": "pay"}), PAY)
    asking = await podium.run(flow, "go", model=model, store=store)
    assert list(asking.questions) == ["plan/tool[1.0]/answer/question[outcome 1.0]"]
    done = await after_answer(store, asking.run_id, flow, "skip")
    assert done.status == "completed", done.error
    assert "clerk stopped" in done.output
    assert paid == [3]


async def test_a_question_of_an_ask_that_has_ended_is_not_open_any_more(store: Store) -> None:
    @tool(approve=True)
    def book() -> str:
        """Book."""
        return "booked"

    agent, working = podium.Agent("Ida", tools=[book]), asyncio.Event()

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        async def ask() -> None:
            with pytest.raises(StepTimeoutError):
                await run.ask(agent, "plan", prompt=request, timeout=0.2)
            working.set()

        async def work() -> bool:
            return await working.wait()

        await run.gather({"ask": ask(), "work": run.step("work", work)})
        await run.wait_for("Go on?", choices=["yes"])

    waiting = await podium.run(flow, "go", model=Script(ToolCall("book")), store=store)
    assert list(waiting.questions) == ["question"]
