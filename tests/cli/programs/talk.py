"""An agent with tools for `podium chat`, and a model that answers with what it has heard."""

from __future__ import annotations

from typing import Any

import podium


@podium.tool(safe=True)
def clock(zone: str) -> str:
    """Tell the time."""
    return f"12:00 {zone}"


@podium.tool(approve=True)
def ring(times: int) -> str:
    """Ring a bell."""
    return f"rang {times} times"


butler = podium.Agent("butler", tools=[clock, ring])


async def listener(call: podium.Call) -> Any:
    last = call.messages[-1]
    if last.role == "user" and "time" in last.text:
        return [podium.ToolCall("clock", {"zone": "UTC"})]
    if last.role == "user" and "ring" in last.text:
        return [podium.ToolCall("ring", {"times": 3})]
    heard = [message.text for message in call.messages if message.role == "user"]
    return f"heard {' + '.join(heard)}; last {last.text}"


async def broken(call: podium.Call) -> Any:
    raise RuntimeError("the line is dead")
