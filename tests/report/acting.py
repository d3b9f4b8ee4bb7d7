"""Runs of agents with tools, for tests of what is shown of them."""

from __future__ import annotations

from typing import Any

import podium
from podium.engine.events import Event
from podium.engine.log import Store
from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.workflows import presentation_of

HOSTILE = "It is 3. <script>alert(1)</script> \x1b[31mred"


@podium.tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@podium.tool
def divide(a: float, b: float) -> float:
    """Divide."""
    return a / b


@podium.tool(approve=True, once=True, cost=podium.Charge(usd=0.02))
def pay(amount: float) -> str:
    """Pay."""
    return f"paid {amount}"


OTTO = podium.Agent("Otto", tools=[add])
IDA = podium.Agent(
    "Ida", instructions="Calculate.", tools=[add, divide, pay, OTTO.as_tool(name="otto")], max_tool_calls=5
)


@podium.workflow
async def plan(run: podium.Run, request: str) -> str:
    notes = podium.File(name="notes.txt", data=b"hello")
    return await run.ask(IDA, "plan", prompt=request, attach=[notes])


async def model(call: Call) -> Any:
    """Three turns: two calls and a mistake, a sub-agent and a payment, the answer."""
    turns = sum(message.role == "assistant" for message in call.messages)
    if call.agent == "Otto":
        return "ten" if turns else [ToolCall("add", {"a": 5, "b": 5})]
    if turns == 0:
        return [ToolCall("add", {"a": 1, "b": 2}), ToolCall("divide", {"a": 1, "b": 0}), ToolCall("sub", {})]
    if turns == 1:
        return [ToolCall("otto", {"request": "5 + 5?"}), ToolCall("pay", {"amount": 3.5})]
    return HOSTILE


async def acted(store: Store, answer: Any) -> list[Event]:
    """Run `plan` to its end, with this answer to the question whether it may pay."""
    waiting = await podium.run(plan, "Add and pay", model=model, store=store)
    assert waiting.status == "waiting"
    await podium.answer(waiting.run_id, answer, by="ann", store=store)
    result = await (await podium.resume(waiting.run_id, workflow=plan, model=model, store=store)).result()
    assert (result.status, result.output) == ("completed", HOSTILE)
    return await events_of(store, waiting.run_id)


async def events_of(store: Store, run_id: str) -> list[Event]:
    presentation_of((await store.get(run_id)).workflow)
    return [row.to_event(run_id) for row in await store.read(run_id)]
