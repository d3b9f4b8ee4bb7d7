"""Messages of a conversation, tool calls and tool definitions."""

from __future__ import annotations

from typing import Any, Literal, cast

import msgspec


class ToolCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model's request to call a tool; a `python:` model returns a list of them."""

    name: str
    arguments: Any = {}
    """An object; a string if the model sent something that is not a JSON object."""
    id: str = ""
    """The provider's id of the call, sent back with the result. Never used as a key: ids can repeat or be
    missing."""


class ToolDefinition(msgspec.Struct, frozen=True):
    """A tool as a model sees it."""

    name: str
    description: str
    schema: dict[str, Any]
    """JSON schema of the arguments; its root is an object."""


class NativeParts(msgspec.Struct, frozen=True):
    """Parts of a reply in the provider's own form, such as reasoning items and signatures. They are sent back
    only to the model that wrote them."""

    model: str
    data: Any


class FilePart(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file in a message. Its content is a blob of the store; `Call.files` holds it by this hash."""

    name: str
    media_type: str
    blob: str
    size: int
    pages: int = 0
    """Pages of a PDF."""


class Message(msgspec.Struct, frozen=True, omit_defaults=True):
    """One message of a conversation."""

    role: Literal["user", "assistant", "tool"]
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    """Tool calls of an assistant message."""
    tool: str = ""
    """Name of the tool whose result this is."""
    call_id: str = ""
    """`ToolCall.id` of the call that a tool message answers."""
    failed: bool = False
    """The tool message reports a failure."""
    number: str = ""
    """Number of the call that a tool message answers, as `read_result` takes it."""
    native: NativeParts | None = None
    files: tuple[FilePart, ...] = ()


class Turn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn of an agent as the log keeps it: its answer, or the calls that it wants."""

    answer: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    """The final answer as JSON."""
    text: str = ""
    """Text beside the calls."""
    calls: tuple[ToolCall, ...] = ()
    native: NativeParts | None = None
    model: str = ""
    tokens: int = 0
    """Input and output tokens of the turn; 0 if the model does not count them."""


class ToolOutcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """The outcome of a tool call as the log keeps it."""

    text: str = ""
    failed: bool = False
    unknown: bool = False
    """The call was cut off by a crash, a time-out or a cancel, and must not be repeated: whether it took
    effect is not known."""
    made_up: bool = False
    """A rehearsal invented the result."""
    files: tuple[FilePart, ...] = ()
    data: Any = None
    """Data for the program that asked, which gets it through `on_tool`; the model does not see it."""


def user(text: str, files: tuple[FilePart, ...] = ()) -> Message:
    return Message("user", text, files=files)


def tool_calls_of(answer: Any) -> tuple[ToolCall, ...]:
    """Return the tool calls that a function gave as its answer; none if it is something else."""
    if isinstance(answer, ToolCall):
        return (answer,)
    items = cast("list[Any] | tuple[Any, ...]", answer) if isinstance(answer, list | tuple) else ()
    return tuple(items) if all(isinstance(item, ToolCall) for item in items) else ()


def arguments_of(raw: Any) -> Any:
    """Return the arguments of a call as an object, if the provider sent them as one or as JSON text of one;
    otherwise the text as it came. An empty text is an empty object."""
    if isinstance(raw, str):
        if not raw.strip():
            return {}
        try:
            value: Any = msgspec.json.decode(raw)
        except (msgspec.DecodeError, RecursionError):
            return raw
        return cast("dict[str, Any]", value) if isinstance(value, dict) else raw
    if isinstance(raw, dict):
        return cast("dict[str, Any]", raw)
    return {} if raw is None else str(raw)


_NAMED = frozenset({"properties", "$defs", "definitions"})
"""Keywords whose keys are names, not keywords."""
_DATA = frozenset({"const", "default", "enum", "examples"})


def without_keywords(node: Any, *dropped: str) -> Any:
    """Return a schema without some of its keywords. Properties and definitions of these names stay."""
    if isinstance(node, list):
        return [without_keywords(item, *dropped) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    kept: dict[str, Any] = {}
    for key, value in cast("dict[str, Any]", node).items():
        if key in _NAMED and isinstance(value, dict):
            named = cast("dict[str, Any]", value)
            kept[key] = {name: without_keywords(item, *dropped) for name, item in named.items()}
        elif key not in dropped:
            kept[key] = value if key in _DATA else without_keywords(value, *dropped)
    return kept
