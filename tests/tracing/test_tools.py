"""Traces of agents with tools: turns, tool calls and sub-agents, as a collector gets them."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import podium
from podium.engine.log import Store
from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.tracing.export import collector_at
from podium.tracing.span import trace_id_of
from tests.report.acting import HOSTILE, model, plan
from tests.tracing.receiver import Receiver
from tests.tracing.test_live import settings


async def acted(store: Store, collector: Receiver, **options: Any) -> str:
    """Run `plan` in two stretches, with an approval between them."""
    given = settings(collector, **options)
    waiting = await podium.run(plan, "Add and pay", model=model, store=store, settings=given)
    await podium.answer(waiting.run_id, {"approve": {"amount": 2.5}}, store=store)
    handle = await podium.resume(waiting.run_id, workflow=plan, model=model, store=store, settings=given)
    assert (await handle.result()).output == HOSTILE
    assert await asyncio.to_thread(collector_at(f"{collector.url}/v1/traces").settle, 30.0)
    return waiting.run_id


async def test_turns_and_calls_are_below_the_ask_and_sub_agents_below_their_call(
    store: Store, collector: Receiver
) -> None:
    run_id = await acted(store, collector)
    assert {span.trace_id for span in collector.spans} == {trace_id_of(run_id)}
    assert len({span.span_id for span in collector.spans}) == len(collector.spans), "each span came once"
    ida = collector.one("invoke_agent Ida")
    assert collector.below(collector.one("invoke_workflow plan")) == ["invoke_agent Ida"]
    assert collector.below(ida) == [
        "chat model",
        "chat model",
        "chat model",
        "execute_tool add",
        "execute_tool divide",
        "execute_tool otto",
        "execute_tool pay",
        "execute_tool sub",
        "files attached",
        "wait question[approve 2.1]",
    ]
    turns = [span for span in collector.all("chat model") if span.parent_id == ida.span_id]
    total = sum(span.attributes["gen_ai.usage.input_tokens"] for span in turns)
    assert ida.attributes["gen_ai.usage.input_tokens"] == total
    assert (ida.failed, ida.attributes["podium.path"]) == (False, "plan")
    helper = collector.one("execute_tool otto")
    assert collector.below(helper) == ["invoke_agent Otto"]
    otto = collector.one("invoke_agent Otto")
    assert collector.below(otto) == ["chat model", "chat model", "execute_tool add"]
    assert helper.start_ns <= otto.start_ns <= otto.end_ns <= helper.end_ns <= ida.end_ns


async def test_a_tool_call_has_the_attributes_of_the_conventions(store: Store, collector: Receiver) -> None:
    await acted(store, collector)
    paid = collector.one("execute_tool pay")
    assert paid.attributes["gen_ai.operation.name"] == "execute_tool"
    assert paid.attributes["gen_ai.tool.name"] == "pay"
    assert paid.attributes["gen_ai.tool.type"] == "function"
    assert paid.attributes["gen_ai.tool.call.id"] == paid.attributes["podium.call_id"]
    assert paid.attributes["podium.cost.usd"] == 0.02
    assert not paid.failed
    assert collector.one("execute_tool otto").attributes["gen_ai.tool.name"] == "otto"
    divided = collector.one("execute_tool divide")
    assert (divided.failed, divided.attributes["error.type"], divided.description) == (True, "tool_error", "")
    assert collector.one("execute_tool sub").attributes["error.type"] == "refused"
    words = (b"5 + 5?", b"Calculate.", b"paid 2.5", b"division by zero")
    assert not any(word in body for body in collector.bodies for word in words)


async def test_content_of_turns_and_calls(store: Store, collector: Receiver) -> None:
    await acted(store, collector, content=True)
    ida = collector.one("invoke_agent Ida")
    first, second, third = sorted(
        (span for span in collector.all("chat model") if span.parent_id == ida.span_id),
        key=lambda span: span.start_ns,
    )
    [output_message] = json.loads(first.attributes["gen_ai.output.messages"])
    assert output_message["finish_reason"] == "tool_call"
    assert output_message["parts"][0] == {"type": "tool_call", "name": "add", "arguments": {"a": 1, "b": 2}}
    read = json.loads(second.attributes["gen_ai.input.messages"])
    assert read[0]["parts"][0]["response"] == "3"
    assert [message["role"] for message in read] == ["tool", "tool", "tool"]
    assert "paid 2.5" in third.attributes["gen_ai.input.messages"]
    assert "It is 3." in ida.attributes["gen_ai.output.messages"]
    assert "Add and pay" in ida.attributes["gen_ai.input.messages"]
    paid = collector.one("execute_tool pay").attributes
    assert json.loads(paid["gen_ai.tool.call.arguments"]) == {"amount": 2.5}
    assert paid["gen_ai.tool.call.result"] == "paid 2.5"


async def test_the_provider_s_id_of_a_call_connects_it_with_its_turn(
    store: Store, collector: Receiver
) -> None:
    @podium.tool
    def look() -> str:
        """Look."""
        return "seen"

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(podium.Agent("Ida", tools=[look]), "plan", prompt=request)

    async def once(call: Call) -> Any:
        answered = any(message.role == "tool" for message in call.messages)
        return "done" if answered else [ToolCall("look", {}, id="call_7")]

    await podium.run(flow, "go", model=once, store=store, settings=settings(collector))
    assert await asyncio.to_thread(collector_at(f"{collector.url}/v1/traces").settle, 30.0)
    attributes = collector.one("execute_tool look").attributes
    assert attributes["gen_ai.tool.call.id"] == "call_7"
    assert attributes["podium.call_id"] != "call_7"


async def test_an_ask_that_was_cancelled_in_a_call_ends_with_its_run(
    store: Store, collector: Receiver
) -> None:
    @podium.tool
    async def doze() -> None:
        """Sleep."""
        await asyncio.sleep(600)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> str:
        return await run.ask(podium.Agent("Ida", tools=[doze]), "plan", prompt=request)

    async def sleepy(call: Call) -> Any:
        return [ToolCall("doze", {})]

    handle = await podium.start(flow, "x", model=sleepy, store=store, settings=settings(collector))
    async for event in handle.events():
        if event.type == "step.started" and "/tool[" in event.path:
            break
    await handle.cancel()
    assert await asyncio.to_thread(collector_at(f"{collector.url}/v1/traces").settle, 30.0)
    assert collector.one("execute_tool doze").attributes["error.type"] == "cancelled"
    assert collector.one("invoke_agent Ida").attributes["error.type"] == "cancelled"
