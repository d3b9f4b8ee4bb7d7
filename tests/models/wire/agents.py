"""Runs of an agent with tools at a provider on loopback, and the conversations that reached it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import podium
from podium.agents.tools import tool
from podium.engine.core import Delta
from podium.engine.events import Event
from podium.engine.log import Store
from podium.engine.result import RunResult
from podium.models.events import ModelAttempted
from podium.settings import Settings
from tests.models.wire.server import Seen


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers that are not negative."""
    if a < 0:
        raise ValueError("negative")
    return a + b


@dataclass(frozen=True, slots=True)
class Acted:
    """A finished run, with its log."""

    result: RunResult
    events: list[Event]
    deltas: list[Delta]

    @property
    def attempts(self) -> list[ModelAttempted]:
        return [event.data for event in self.events if isinstance(event.data, ModelAttempted)]


async def act(
    store: Store,
    settings: Settings,
    model: str | None,
    *,
    tools: Any = (add,),
    returns: Any = str,
    watch: bool = False,
    attach: Any = (),
    agent: dict[str, Any] | None = None,
    **started: Any,
) -> Acted:
    """Run one ask of an agent with tools; with `watch` the replies are streamed."""
    gate = asyncio.Event()
    options: dict[str, Any] = {"max_tokens": 500, **(agent or {})}
    asked_agent = podium.Agent("Ida", tools=tools, **options)

    @podium.workflow
    async def flow(run: podium.Run, request: str) -> Any:
        await gate.wait()
        answer: Any = await run.ask(asked_agent, "plan", prompt=request, returns=returns, attach=attach)
        return answer

    handle = await podium.start(flow, "Add these.", model=model, store=store, settings=settings, **started)
    deltas: list[Delta] = []

    async def look() -> None:
        deltas.extend([delta async for delta in handle.deltas()])

    looking = asyncio.create_task(look()) if watch else None
    await asyncio.sleep(0)
    gate.set()
    result = await handle.result()
    if looking is not None:
        await looking
    rows = await store.read(handle.run_id)
    return Acted(result, [row.to_event(handle.run_id) for row in rows], deltas)


class Called(NamedTuple):
    """A tool call in a request."""

    id: str
    name: str
    arguments: Any


class Returned(NamedTuple):
    """A tool result in a request."""

    id: str
    text: str
    failed: bool


def calls_and_results(seen: Seen) -> list[Called | Returned]:
    """The tool calls and results in a request, in order, whatever its format."""
    parts: list[Called | Returned] = []
    for item in _items(seen.body):
        match item:
            case {"type": "function_call", "call_id": id, "name": name, "arguments": text}:
                parts.append(Called(id, name, json.loads(text)))
            case {"type": "function_call_output", "call_id": id, "output": text}:
                parts.append(_returned(id, text))
            case {"function": {"name": name, "arguments": text}, "id": id}:
                parts.append(Called(id, name, json.loads(text)))
            case {"role": "tool", "tool_call_id": id, "content": text}:
                parts.append(_returned(id, text))
            case {"type": "tool_use", "id": id, "name": name, "input": given}:
                parts.append(Called(id, name, given))
            case {"type": "tool_result", "tool_use_id": id, "content": content, "is_error": failed}:
                parts.append(Returned(id, content[0]["text"], failed))
            case {"functionCall": {"id": id, "name": name, "args": given}}:
                parts.append(Called(id, name, given))
            case {"functionResponse": {"id": id, "response": {"error": text}}}:
                parts.append(Returned(id, text, failed=True))
            case {"functionResponse": {"id": id, "response": {"return_value": text}}}:
                parts.append(Returned(id, text, failed=False))
            case {"toolUse": {"toolUseId": id, "name": name, "input": given}}:
                parts.append(Called(id, name, given))
            case {"toolResult": {"toolUseId": id, "content": content, "status": status}}:
                parts.append(Returned(id, content[0]["text"], status == "error"))
            case _:
                pass
    return parts


def _returned(id: str, text: Any) -> Returned:
    failed = isinstance(text, str) and text.startswith('{"error":')
    return Returned(id, json.loads(text)["error"] if failed else text, failed)


def _items(body: dict[str, Any]) -> list[Any]:
    """The messages of a request, their parts and calls."""
    items: list[Any] = []
    messages: list[dict[str, Any]] = body.get("input") or body.get("messages") or body.get("contents") or []
    for message in messages:
        items.append(message)
        for name in ("content", "parts", "tool_calls"):
            parts: Any = message.get(name)
            items += cast("list[Any]", parts) if isinstance(parts, list) else []
    return items


def offered(seen: Seen) -> set[str]:
    """The names of the tools that a request lets the model call."""
    body = seen.body
    choice = json.dumps(body.get("tool_choice") or body.get("toolChoice") or body.get("toolConfig") or {})
    more: dict[str, Any] = body.get("additionalModelRequestFields") or {}
    if '"none"' in choice + json.dumps(more) or '"NONE"' in choice:
        return set()
    tools = json.dumps(body.get("tools") or body.get("toolConfig") or [])
    known = {name for name in ("add", "answer", "read_result") if f'"name": "{name}"' in tools}
    forced = {name for name in known if f'"name": "{name}"' in json.dumps(body.get("tool_choice") or {})}
    allowed = set(body.get("toolConfig", {}).get("functionCallingConfig", {}).get("allowedFunctionNames", ()))
    only = body.get("toolConfig", {}).get("toolChoice", {}).get("tool", {}).get("name")
    return forced or allowed or ({only} if only else known)
