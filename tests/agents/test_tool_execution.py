"""The execution of tool calls: exceptions, approvals, slots, costs, and calls that must not be repeated."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar
from typing import Any

import pytest

import podium
from podium.agents.tools import tool
from podium.engine.log import Store
from podium.models.messages import ToolCall
from tests.agents.scripted import Script, acting, results


class Strange(BaseException):
    """Not an `Exception`."""


# ── exceptions and results ──


@pytest.mark.parametrize("composite", [False, True])
@pytest.mark.parametrize(
    "error", [SystemExit(3), Strange("x"), GeneratorExit(), asyncio.CancelledError("stray")], ids=repr
)
async def test_any_exception_of_a_tool_is_a_message(
    store: Store, error: BaseException, composite: bool
) -> None:
    @tool(composite=composite)
    async def leave() -> str:
        """Leave."""
        raise error

    done = await podium.run(acting(leave), "go", model=Script(ToolCall("leave"), results), store=store)
    assert done.status == "completed", done.error
    assert f"leave failed: {type(error).__name__}" in done.output


async def test_a_result_without_json_form_does_not_look_like_a_call_that_failed(store: Store) -> None:
    @tool
    def pay() -> Any:
        """Pay."""
        return object()

    done = await podium.run(acting(pay), "go", model=Script(ToolCall("pay"), results), store=store)
    assert "pay was executed, but its result is lost" in done.output


async def test_a_plain_tool_that_uses_the_run_ends_it_with_the_remedy(store: Store) -> None:
    @tool
    async def look_up(ctx: podium.ToolContext) -> str:
        """Look up."""
        return await ctx.run.ask(podium.Agent("Otto"), "explain", prompt="x")

    done = await podium.run(acting(look_up), "go", model=Script(ToolCall("look_up"), results), store=store)
    assert done.status == "failed"
    assert "composite=True" in str(done.error)


async def test_a_composite_tool_that_is_late_says_so(store: Store) -> None:
    @tool(composite=True, timeout=0.05)
    async def look_up() -> str:
        """Look up."""
        await asyncio.sleep(30)
        return ""

    done = await podium.run(acting(look_up), "go", model=Script(ToolCall("look_up"), results), store=store)
    assert done.output == "look_up gave no result within 0.05 s."


async def test_files_in_a_list_are_sent_as_files(store: Store) -> None:
    @tool
    def maps() -> list[Any]:
        """Show maps."""
        return [podium.File(name="a.png", data=b"\x89PNG"), "two maps", podium.File(name="b.txt", data=b"b")]

    model = Script(ToolCall("maps"), results)
    done = await podium.run(acting(maps), "go", model=model, store=store)
    assert done.output == "The file a.png is attached.\ntwo maps\nThe file b.txt is attached."
    assert [part.name for part in model.calls[-1].messages[-1].files] == ["a.png", "b.txt"]


# ── approval ──


async def test_a_predicate_sees_defaults_and_may_be_asynchronous(store: Store) -> None:
    async def is_much(amount: float) -> bool:
        return amount > 100

    @tool(approve=is_much)
    def pay(amount: float = 500) -> str:
        """Pay."""
        return "paid"

    asking = await podium.run(acting(pay), "go", model=Script(ToolCall("pay"), results), store=store)
    assert asking.status == "waiting", asking.error
    done = await podium.run(
        acting(pay), "go", model=Script(ToolCall("pay", {"amount": 5}), results), store=store
    )
    assert done.output == "paid"


async def test_a_predicate_that_fails_lets_a_person_decide(store: Store) -> None:
    def is_much(amount: float) -> bool:
        raise ValueError("no rate")

    @tool(approve=is_much)
    def pay(amount: float) -> str:
        """Pay."""
        return "paid"

    asking = await podium.run(
        acting(pay), "go", model=Script(ToolCall("pay", {"amount": 5}), results), store=store
    )
    assert asking.status == "waiting", asking.error
    assert any("no rate" in warning for warning in asking.warnings)


async def test_what_a_predicate_said_counts_after_a_resume(store: Store) -> None:
    """It may depend on more than the arguments, such as what was spent today."""
    paid: list[int] = []
    strict = False

    def is_much(amount: int) -> bool:
        return strict

    @tool(approve=is_much)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        said = await run.ask(podium.Agent("Ida", tools=[pay]), "plan", prompt=request)
        await run.wait_for("Go on?", choices=["yes"])
        return said

    script = ToolCall("pay", {"amount": 3}), results
    waiting = await podium.run(flow, "go", model=Script(*script), store=store)
    strict = True
    handle = await podium.resume(waiting.run_id, workflow=flow, model=Script("never"), store=store)
    assert list((await handle.result()).questions) == ["question"], "the call was made without approval"
    asking = await podium.run(flow, "go", model=Script(*script), store=store)
    await podium.answer(asking.run_id, {"approve": {"amount": 7}}, store=store)
    strict = False
    handle = await podium.resume(asking.run_id, workflow=flow, model=Script(results), store=store)
    assert list((await handle.result()).questions) == ["question"]
    assert paid == [3, 7], "the arguments that a person gave"


async def test_a_gate_for_a_tool_that_no_agent_has_is_warned_about(store: Store) -> None:
    done = await podium.run(
        acting(look), "go", model=Script(ToolCall("look"), results), store=store, approve=["tool:loook"]
    )
    assert done.output == "seen"
    assert any("no agent has a tool loook" in warning for warning in done.warnings)


# ── slots, time-outs and costs ──


@pytest.mark.parametrize("once", [False, True])
async def test_the_time_out_of_a_tool_does_not_cover_the_wait_for_a_slot(store: Store, once: bool) -> None:
    @tool(timeout=1.0, max_parallel=1, once=once)
    async def look_up(word: str) -> str:
        """Look up."""
        await asyncio.sleep(0.4)
        return word

    calls = [ToolCall("look_up", {"word": word}) for word in "abcd"]
    done = await podium.run(acting(look_up), "go", model=Script(calls, results), store=store)
    assert (done.status, done.output) == ("completed", "a | b | c | d")


async def test_synchronous_tools_run_side_by_side_on_any_machine(store: Store) -> None:
    together = threading.Barrier(16, timeout=10)
    place = ContextVar("place", default="")

    @tool
    def meet() -> str:
        """Meet."""
        together.wait()
        return place.get()

    place.set("here")
    calls = [ToolCall("meet") for _ in range(16)]
    done = await podium.run(acting(meet), "go", model=Script(calls, results), store=store)
    assert done.output == " | ".join(["here"] * 16)


async def test_a_call_that_the_budget_did_not_allow_is_not_unknown(store: Store) -> None:
    paid: list[int] = []

    @tool(once=True, cost=podium.Charge(usd=1.0))
    def pay() -> str:
        """Pay."""
        paid.append(1)
        return "paid"

    flow = acting(pay)
    short = await podium.run(
        flow, "go", model=Script(ToolCall("pay")), store=store, budget=podium.Budget(usd=0.5)
    )
    assert (short.status, paid) == ("partial", [])
    more = podium.Budget(usd=5)
    handle = await podium.resume(short.run_id, store=store, workflow=flow, model=Script(results), budget=more)
    done = await handle.result()
    assert (done.output, paid, done.usage.usd) == ("paid", [1], 1.0)


async def test_no_call_that_waits_for_a_slot_starts_after_a_cancel(store: Store) -> None:
    began: list[int] = []
    first = asyncio.Event()

    @tool(max_parallel=1, cost=podium.Charge(usd=1.0))
    async def work(number: int) -> str:
        """Work."""
        began.append(number)
        first.set()
        await asyncio.sleep(0.3)
        return "done"

    calls = [ToolCall("work", {"number": number}) for number in range(4)]
    handle = await podium.start(acting(work), "go", model=Script(calls, results), store=store)
    await first.wait()
    await handle.cancel()
    done = await handle.result()
    assert (done.status, began) == ("cancelled", [0])
    assert done.usage.usd == 1.0, "a call that was never made costs nothing"


# ── calls that must not be repeated ──


def paying(paid: list[int]) -> podium.Tool:
    @tool(once=True)
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    return pay


@tool
def look() -> str:
    """Look."""
    return "seen"


async def test_a_run_with_a_call_of_a_sub_agent_that_must_not_be_repeated_is_resumed(store: Store) -> None:
    paid: list[int] = []
    clerk = podium.Agent("clerk", tools=[paying(paid)])

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        said = await run.ask(podium.Agent("Ida", tools=[clerk.as_tool()]), "plan", prompt=request)
        await run.wait_for("Go on?", choices=["yes"])
        return said

    script = (ToolCall("clerk", {"request": "pay"}), ToolCall("pay", {"amount": 3}), "done", results)
    waiting = await podium.run(flow, "go", model=Script(*script), store=store)
    await podium.answer(waiting.run_id, "yes", store=store)
    handle = await podium.resume(waiting.run_id, store=store, workflow=flow, model=Script("never"))
    done = await handle.result()
    assert (done.status, done.output, paid) == ("completed", "done", [3]), done.error


@pytest.mark.parametrize("moved", [False, True], ids=["same place", "a turn later"])
@pytest.mark.parametrize("nested", [False, True], ids=["own call", "call of a sub-agent"])
async def test_a_fork_asks_before_it_repeats_a_call(store: Store, nested: bool, moved: bool) -> None:
    paid: list[int] = []
    pay = paying(paid)
    clerk = podium.Agent("clerk", tools=[pay])
    flow = acting(clerk.as_tool() if nested else pay, look)
    wanted = [ToolCall("pay", {"amount": 3}), results]
    if nested:
        wanted = [ToolCall("clerk", {"request": "pay"}), *wanted, results]
    source = await podium.run(flow, "go", model=Script(*wanted), store=store)
    assert (source.status, paid) == ("completed", [3])
    again = Script(ToolCall("look"), *wanted) if moved else Script(*wanted)
    handle = await podium.fork(source.run_id, at="plan", workflow=flow, model=again, store=store)
    asking = await handle.result()
    assert asking.status == "waiting", asking.error
    assert ["was called before" in question.question for question in asking.questions.values()] == [True]
    assert paid == [3]


@pytest.mark.parametrize("nested", [False, True], ids=["own call", "call of a sub-agent"])
@pytest.mark.parametrize("in_thread", [False, True], ids=["asks", "thread"])
async def test_a_fork_asks_before_an_earlier_ask_makes_a_call_of_a_later_one(
    store: Store, in_thread: bool, nested: bool
) -> None:
    paid: list[int] = []
    pay = paying(paid)
    agent = podium.Agent("Ida", tools=[podium.Agent("clerk", tools=[pay]).as_tool() if nested else pay])

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[Any]:
        thread = run.thread(agent, "plan")
        if in_thread:
            return [await thread.ask(text) for text in "ab"]
        return [await run.ask(agent, "plan", prompt=text) for text in "ab"]

    wanted: list[Any] = [ToolCall("pay", {"amount": 3}), "done"]
    if nested:
        wanted = [ToolCall("clerk", {"request": "pay"}), *wanted, "done"]
    source = await podium.run(flow, "go", model=Script("nothing", *wanted), store=store)
    assert (source.status, paid) == ("completed", [3])
    handle = await podium.fork(source.run_id, at="plan", workflow=flow, model=Script(*wanted), store=store)
    asking = await handle.result()
    assert ["was called before" in question.question for question in asking.questions.values()] == [True]
    assert paid == [3]


async def test_a_resume_does_not_ask_about_calls_of_asks_that_it_has_passed(store: Store) -> None:
    paid: list[int] = []
    agent = podium.Agent("Ida", tools=[paying(paid)])

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> list[Any]:
        first, second = run.thread(agent, "plan"), run.thread(agent, "plan")
        said = [await first.ask("a"), await second.ask("b")]
        await run.wait_for("Go on?", choices=["yes"])
        return [*said, await first.ask("c"), await second.ask("d")]

    wanted = [ToolCall("pay", {"amount": 3}), "done"]
    waiting = await podium.run(flow, "go", model=Script(*wanted, *wanted), store=store)
    assert (list(waiting.questions), paid) == (["question"], [3, 3])
    await podium.answer(waiting.run_id, "yes", store=store)
    again = Script(*wanted, *wanted)
    handle = await podium.resume(waiting.run_id, workflow=flow, model=again, store=store)
    done = await handle.result()
    assert (done.status, paid) == ("completed", [3] * 4), done.questions
