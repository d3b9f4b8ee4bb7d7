"""Conversations with tools in the form of Pydantic AI: messages, tool definitions, and calls in replies."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, cast

from pydantic import ValidationError
from pydantic_ai.messages import (
    BinaryContent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    ModelResponsePart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.tools import ToolDefinition as WireTool

from podium.engine.codec import encode
from podium.models.messages import Message, NativeParts, ToolCall, ToolDefinition, arguments_of
from podium.models.model import Call
from podium.models.providers.formats import TOOL, clean

_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
"""Call ids that every provider takes, except Mistral."""
_MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")


def wire_messages(call: Call, model: str) -> list[ModelMessage]:
    """Return the conversation of a call. Results of one turn go into one request, as providers expect, and so
    do messages of the user that follow each other: some servers require that roles alternate."""
    messages: list[ModelMessage] = []
    ids: list[str] = []
    used: set[str] = set()
    for number, message in enumerate(call.messages):
        if message.role == "assistant":
            ids = _call_ids(message, number, used, model)
            messages.append(_response(message, ids, model))
            continue
        if message.role == "user":
            part = UserPromptPart(_content(message, call))
        else:
            part = ToolReturnPart(
                tool_name=message.tool,
                content=_content(message, call),
                tool_call_id=ids.pop(0) if ids else message.call_id,
                outcome="failed" if message.failed else "success",
            )
        _append(messages, part)
    for message in messages:
        if isinstance(message, ModelRequest):
            message.instructions = clean(call.system) or None
    return messages


def _append(messages: list[ModelMessage], part: UserPromptPart | ToolReturnPart) -> None:
    last = messages[-1] if messages else None
    before = last.parts[-1] if isinstance(last, ModelRequest) else None
    if isinstance(last, ModelRequest) and isinstance(part, ToolReturnPart):
        last.parts = [*last.parts, part]
    elif isinstance(before, UserPromptPart) and isinstance(part, UserPromptPart):
        if isinstance(before.content, str) and isinstance(part.content, str):
            before.content = f"{before.content}\n\n{part.content}"
        else:
            before.content = [*_as_list(before.content), *_as_list(part.content)]
    else:
        messages.append(ModelRequest(parts=[part]))


def _as_list(content: str | Sequence[UserContent]) -> list[UserContent]:
    return [content] if isinstance(content, str) else list(content)


def _content(message: Message, call: Call) -> str | list[UserContent]:
    """Return the text of a message, with its files: text inline, images and PDF as they are."""
    if not message.files:
        return clean(message.text)
    content: list[UserContent] = [clean(message.text)]
    for part in message.files:
        data = call.files[part.blob]
        if part.media_type.startswith("text/"):
            content.append(clean(f"File {part.name}:\n\n{data.decode('utf-8', 'replace')}"))
        else:
            content.append(BinaryContent(data=data, media_type=part.media_type, identifier=part.name))
    return content


def wire_tools(tools: tuple[ToolDefinition, ...]) -> list[WireTool]:
    return [
        WireTool(name=tool.name, description=tool.description, parameters_json_schema=tool.schema)
        for tool in tools
    ]


def calls_in(response: ModelResponse, tools: Sequence[ToolDefinition]) -> tuple[ToolCall, ...]:
    """Return the calls of a reply, without the one through which a model answers."""
    names = [tool.name for tool in tools]
    calls: list[ToolCall] = []
    for part in response.parts:
        if isinstance(part, ToolCallPart) and part.tool_name != TOOL:
            call = ToolCall(part.tool_name, arguments_of(part.args), part.tool_call_id)
            calls += [call] if call.name in names else _separated(call, names) or [call]
    return tuple(calls)


def _separated(call: ToolCall, names: Sequence[str]) -> list[ToolCall]:
    """Return the calls that a stream merged into one; empty if these are not several. Some servers give all
    calls of a reply the same index, so that names and arguments follow each other: `addadd`, `{…}{…}`."""
    values, text, position = list[Any](), call.arguments, 0
    if not isinstance(text, str):
        return []
    try:
        while position < len(text):
            value, position = json.JSONDecoder().raw_decode(text, position)
            values.append(value)
    except (ValueError, RecursionError):
        return []
    rest, parts = call.name, list[str]()
    while rest and (name := max((name for name in names if rest.startswith(name)), key=len, default="")):
        rest = rest[len(name) :]
        parts.append(name)
    if rest or len(parts) != len(values) or not all(isinstance(value, dict) for value in values):
        return []
    return [ToolCall(name, value) for name, value in zip(parts, values, strict=True)]


def native_parts(response: ModelResponse, model: str) -> NativeParts | None:
    """Return the parts of a reply in their own form, if there is something in them that text and calls do not
    tell: reasoning and signatures have to be sent back."""
    needed = any(
        isinstance(part, ThinkingPart) or getattr(part, "provider_details", None) for part in response.parts
    )
    if not needed:
        return None
    dumped: list[dict[str, Any]] = ModelMessagesTypeAdapter.dump_python([response], mode="json")
    kept = {
        key: dumped[0][key]
        for key in ("kind", "parts", "provider_name", "provider_details")
        if dumped[0].get(key)
    }
    return NativeParts(model, kept)


def _call_ids(message: Message, number: int, used: set[str], model: str) -> list[str]:
    """Return an id for each call. Providers refuse ids that are missing, repeated in the conversation or not
    of their own form, and all of these occur, so they are replaced."""
    own = message.native is not None and message.native.model == model
    form = _MISTRAL_ID if model.startswith("mistral:") else _ID
    ids: list[str] = []
    for index, call in enumerate(message.calls):
        name = call.id
        if not name or name in used or not (own or form.fullmatch(name)):
            name = hashlib.blake2b(f"{number}.{index}".encode(), digest_size=8).hexdigest()[:9]
        used.add(name)
        ids.append(name)
    return ids


def _response(message: Message, ids: list[str], model: str) -> ModelResponse:
    """Return an assistant message: in its own form for the model that wrote it, else as text and calls. The
    own form is needed only for turns with calls, whose reasoning goes on after the results."""
    native = message.native
    if native is not None and native.model == model and message.calls:
        try:
            [whole] = ModelMessagesTypeAdapter.validate_python([native.data])
        except ValidationError:
            pass  # written by another version of the client: text and calls are enough
        else:
            response = cast("ModelResponse", whole)
            if _fill(response, message, ids):
                return response
    parts: list[ModelResponsePart] = [TextPart(clean(message.text))] if message.text else []
    for call, name in zip(message.calls, ids, strict=True):
        parts.append(ToolCallPart(tool_name=call.name, args=_sent(call), tool_call_id=name))
    return ModelResponse(parts=parts or [TextPart("")])


def _fill(response: ModelResponse, message: Message, ids: list[str]) -> bool:
    """Set the ids of the calls in a reply, and drop an answer beside them, which gets no result. Return
    whether it holds the same calls as the message."""
    response.parts = [
        part for part in response.parts if not (isinstance(part, ToolCallPart) and part.tool_name == TOOL)
    ]
    parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
    if len(parts) != len(ids):
        return False
    for part, call, name in zip(parts, message.calls, ids, strict=True):
        part.tool_call_id, part.args = name, encode(_sent(call)).decode()
    return True


def _sent(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object: providers and servers refuse any other history."""
    given = call.arguments
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {"invalid_json": str(given)}
