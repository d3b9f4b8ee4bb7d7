"""Conversations over several asks, resumes and forks: threads, windows, long results, edited replies."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import podium
from podium.agents.tools import tool
from podium.engine.log import Store
from podium.errors import StepFailedError
from podium.models.messages import ToolCall
from podium.models.model import Call
from tests.agents.scripted import Script, acting, results


@tool
def look(number: int = 0) -> str:
    """Look."""
    return f"seen {number}"


async def test_a_long_result_is_read_on_piece_by_piece(store: Store) -> None:
    @tool
    def book() -> str:
        """Read."""
        return "".join(f"{number:05d}" for number in range(12_000))

    def piece(offset: int) -> ToolCall:
        return ToolCall("read_result", {"call": "1.0", "offset": offset})

    model = Script(ToolCall("book"), piece(20_000), piece(40_000), "end")
    await podium.run(acting(book), "go", model=model, store=store)
    first, second, third = [message.text for message in model.calls[-1].messages if message.role == "tool"]
    assert first.endswith('Read on with read_result(call="1.0", offset=20000)]')
    assert second.endswith('Read on with read_result(call="1.0", offset=40000)]')
    assert third.endswith("11999")


async def test_a_smaller_window_does_not_repeat_turns_that_were_made(store: Store) -> None:
    made: list[str] = []

    def flow_of(window: int) -> podium.Workflow:
        @tool
        def read(number: int) -> str:
            """Read."""
            return "word " * 400

        agent = podium.Agent("Ida", tools=[read], window=window, max_tokens=500)

        @podium.workflow(name="flow")
        async def flow(run: podium.Run, request: str) -> Any:
            said = await run.ask(agent, "plan", prompt=request)
            await run.wait_for("Go on?", choices=["yes"])
            return said

        return flow

    async def model(call: Call) -> Any:
        made.append(call.path)
        return "end" if call.path.endswith("turn#6") else ToolCall("read", {"number": len(made)})

    waiting = await podium.run(flow_of(100_000), "go", model=model, store=store)
    await podium.answer(waiting.run_id, "yes", store=store)
    made.clear()
    handle = await podium.resume(waiting.run_id, store=store, workflow=flow_of(2_500), model=model)
    assert ((await handle.result()).output, made) == ("end", [])


async def test_the_limit_of_replies_of_the_run_counts_for_the_window(store: Store) -> None:
    @tool
    def read() -> str:
        """Read."""
        return "word " * 300

    model = Script(ToolCall("read"), ToolCall("read"), ToolCall("read"), "end", "end")
    flow = acting(read, window=6_000, max_tokens=500)
    await podium.run(flow, "go", model=model, store=store, reply_tokens=5_000)
    assert "condense" in [call.task for call in model.calls]


async def test_a_thread_goes_on_after_an_ask_that_ended_during_a_call(store: Store) -> None:
    @tool
    async def wait() -> str:
        """Wait."""
        await asyncio.sleep(30)
        return ""

    agent = podium.Agent("Ida", tools=[wait])

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        thread = run.thread(agent)
        with pytest.raises(StepFailedError):
            await thread.ask("one", timeout=0.2)
        return await thread.ask("two")

    model = Script(ToolCall("wait"), "fine")
    done = await podium.run(flow, "go", model=model, store=store)
    assert done.output == "fine", done.error
    messages = model.calls[-1].messages
    assert [message.role for message in messages] == ["user", "assistant", "tool", "user"]
    assert "has no result" in messages[2].text
    assert (await podium.replay(done.run_id, store=store, workflow=flow)).output == "fine"


async def test_a_thread_answers_one_ask_at_a_time(store: Store) -> None:
    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        thread = run.thread(podium.Agent("Ida"))
        both = await run.gather({"a": thread.ask("one"), "b": thread.ask("two")})
        return [str(outcome) for outcome in both.values()]

    done = await podium.run(flow, "go", model=Script("fine"), store=store)
    assert "fine" in done.output[0]
    assert "is asked while it answers" in done.output[1]


async def test_calls_of_a_function_are_those_that_a_resumed_run_reads(store: Store) -> None:
    given: list[Any] = []

    @tool
    def note(text: Any) -> str:
        """Note."""
        given.append(text)
        return "noted"

    call = ToolCall("note", {"text": ("a", "\ud800")})
    await podium.run(acting(note), "go", model=Script(call, "end"), store=store)
    assert given == [["a", "?"]]
    wrong = await podium.run(acting(note), "go", model=Script(ToolCall(3, {})), store=store)  # pyright: ignore[reportArgumentType]
    assert wrong.status == "failed"
    assert "Expected `str`, got `int`" in str(wrong.error)


@pytest.mark.parametrize(
    ("at", "reply", "output"),
    [
        ("plan/tool[1.0]", "other", "other | seen 2"),
        ("plan/tool[1.0]", {"text": "other", "failed": True}, "other | seen 2"),
        ("plan/tool[1.0]", {"price": 3}, '{"price":3} | seen 2'),
        ("plan/turn#2", "other", "other"),
        ("plan", "other", "other"),
        ("plan", {"calls": [{"name": "look", "arguments": {"number": 9}}]}, "seen 9"),
    ],
)
async def test_a_fork_takes_a_text_for_a_turn_and_for_a_call(
    store: Store, at: str, reply: Any, output: str
) -> None:
    flow, calls = acting(look), [ToolCall("look", {"number": number}) for number in (1, 2)]
    source = await podium.run(flow, "go", model=Script(calls, results), store=store)
    handle = await podium.fork(
        source.run_id, at=at, reply=reply, workflow=flow, model=Script(results), store=store
    )
    done = await handle.result()
    assert (done.status, done.output) == ("completed", output), done.error
