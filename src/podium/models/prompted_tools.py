"""Tool calls as text, for models without native tool calling.

The system prompt describes the tools and the JSON in which the model writes its calls; earlier calls and
results are told as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec
from msgspec.structs import replace

from podium.engine.codec import encode
from podium.models.messages import Message, ToolCall, ToolDefinition, arguments_of
from podium.models.model import Call
from podium.models.repair import ParsedReply, find

_OFFER = """\
You can call tools. To call one or several of them, reply with nothing but JSON of this form:

{"tool_calls": [{"name": "the tool", "arguments": {"the argument": "its value"}}]}

The results come with the next message; then you can call more tools. As soon as you need none, reply with \
your answer instead, without "tool_calls". Instructions on the form of your answer do not apply to calls. \
Never make up the result of a tool.

The tools, with the JSON schemas of their arguments:

"""
NO_MORE_TOOLS = "No more tools can be called. Answer now, with what you know."
"""Message to a model that must answer. Not every provider can forbid calls, and models should know why."""
_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
"""The form that many open models were trained with."""
_MARKS = ('"tool_calls"', "'tool_calls'", "<tool_call>", "[TOOL_CALLS]")


def as_prompted(call: Call) -> Call:
    """Return a call that offers its tools in the system prompt, with the same number of messages."""
    offer = _OFFER + "\n\n".join(map(_described, call.tools))
    return replace(
        call,
        system=f"{call.system}\n\n{offer}".strip(),
        messages=tuple(map(_as_text, call.messages)),
        tools=(),
    )


def _described(tool: ToolDefinition) -> str:
    return f"{tool.name}: {tool.description}\n{encode(tool.schema).decode()}"


def _as_text(message: Message) -> Message:
    if message.role == "tool":
        outcome = f"The call of {message.tool} failed" if message.failed else f"Result of {message.tool}"
        return Message("user", f"{outcome}:\n\n{message.text}", files=message.files)
    if not message.calls:
        return message
    calls = [{"name": call.name, "arguments": call.arguments} for call in message.calls]
    text = encode({"tool_calls": calls}).decode()
    return Message("assistant", f"{message.text}\n\n{text}".strip())


class _Entry(msgspec.Struct):
    """One call, with the names that models use for its parts."""

    name: str = ""
    arguments: Any = msgspec.UNSET
    parameters: Any = msgspec.UNSET
    function: Any = None

    @property
    def has_arguments(self) -> bool:
        return not (self.arguments is msgspec.UNSET and self.parameters is msgspec.UNSET)


class _Entries(msgspec.Struct):
    tool_calls: list[_Entry]


def calls_in_text(
    text: str, tools: Sequence[ToolDefinition], *, whole: bool = True
) -> tuple[ToolCall, ...] | None:
    """Return the calls in a reply; empty if it is an answer, `None` if it holds calls that cannot be read."""
    parsed = find(text, _Entries, whole=whole)
    if isinstance(parsed, ParsedReply):
        entries: list[_Entry] = parsed.value.tool_calls
        calls = tuple(call for entry in entries if (call := _call(entry)).name)
        if calls:
            return calls
    names = {tool.name for tool in tools}
    calls = tuple(call for entry in _bare(text, whole) if (call := _call(entry)).name in names)
    if calls:
        return calls
    return None if any(mark in text for mark in _MARKS) else ()


def _bare(text: str, whole: bool) -> Iterator[_Entry]:
    """Yield objects that look like calls, although they are not in the form that was asked for."""
    for piece in _TAGGED.findall(text) or [text]:
        for kind in (list[_Entry], _Entry):
            parsed = find(piece, kind, whole=whole)
            if isinstance(parsed, ParsedReply):
                value: Any = parsed.value
                entries = cast("list[_Entry]", value if isinstance(value, list) else [value])
                yield from (entry for entry in entries if entry.function or entry.has_arguments)
                break


def _call(entry: _Entry) -> ToolCall:
    function: Any = entry.function
    if isinstance(function, dict):
        inner = cast("dict[str, Any]", function)
        return ToolCall(str(inner.get("name", "")), arguments_of(inner.get("arguments")))
    given: Any = entry.parameters if entry.arguments is msgspec.UNSET else entry.arguments
    return ToolCall(entry.name, arguments_of(None if given is msgspec.UNSET else given))
