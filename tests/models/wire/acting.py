"""Turns of an agent in the formats of all providers: thoughts, text and tool calls, whole or streamed."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Json = dict[str, Any]
MADE = 1_700_000_000
ANSWER = "answer"
"""The tool through which a model answers with data."""


@dataclass(frozen=True, slots=True)
class Use:
    """A tool call."""

    name: str
    arguments: Any = field(default_factory=dict[str, Any])
    """An object, or the text that the model wrote instead of one."""
    id: str | None = ""
    """Empty: one of the provider's own; `None`: the id is null or missing."""

    @property
    def text(self) -> str:
        return self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)

    @property
    def given(self) -> Json:
        return {} if isinstance(self.arguments, str) else self.arguments


@dataclass(frozen=True, slots=True)
class Thought:
    """Reasoning, with what the provider wants back to recognise it."""

    text: str
    signature: str = "c2lnbmVk"


@dataclass(frozen=True, slots=True)
class Final:
    """An answer: through the answer tool if the request offers it, else as text."""

    text: str


Part = str | Use | Thought | Final


class Act:
    """One reply of a model that may call tools."""

    def __init__(
        self,
        *parts: Part,
        finish: str = "",
        finished: bool = True,
        one_index: bool = False,
        usage: tuple[int, int] = (12, 5),
    ) -> None:
        self.parts = parts
        self.finish = finish
        """Empty: the usual one; `length`, `malformed` (Gemini) or `pause` (Anthropic)."""
        self.finished = finished
        """A stream ends with its last event; otherwise the connection closes properly without it."""
        self.one_index = one_index
        """All calls of a stream have the index 0, as some servers write them."""
        self.usage = usage


class Written(NamedTuple):
    body: bytes
    content_type: str = "application/json"


class Turn(NamedTuple):
    """A reply with everything decided: answers in their form, and ids."""

    act: Act
    request: Json
    parts: list[str | Use | Thought]

    @property
    def calls(self) -> list[Use]:
        return [part for part in self.parts if isinstance(part, Use)]

    @property
    def text(self) -> str:
        return "".join(part for part in self.parts if isinstance(part, str))

    def finish(self, stop: str, call: str, length: str) -> str:
        return {"length": length, "pause": "pause_turn", "malformed": "MALFORMED_FUNCTION_CALL"}.get(
            self.act.finish, call if self.calls else stop
        )


def written(act: Act, path: str, request: Json) -> Written:
    """A reply in the format of a request."""
    path = path.partition("?")[0]
    streamed = bool(request.get("stream")) or path.endswith(("streamGenerateContent", "converse-stream"))
    whole, frames = next(form for end, form in _FORMATS.items() if path.endswith(end))
    turn = Turn(act, request, _parts(act, request))
    if not streamed:
        return Written(json.dumps(whole(turn)).encode())
    kind = "application/vnd.amazon.eventstream" if path.endswith("converse-stream") else "text/event-stream"
    return Written(b"".join(frames(turn)), kind)


def _parts(act: Act, request: Json) -> list[str | Use | Thought]:
    sent = len(request.get("messages") or request.get("input") or request.get("contents") or ())
    offers = f'"name": "{ANSWER}"' in json.dumps(request)
    decided: list[str | Use | Thought] = []
    for number, part in enumerate(act.parts):
        if isinstance(part, Final):
            part = Use(ANSWER, json.loads(part.text)) if offers else part.text
        if isinstance(part, Use) and part.id == "":
            part = Use(part.name, part.arguments, f"c{sent:03}x{number:03}a")
        decided.append(part)
    return decided


def _frame(data: Json, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


# ── OpenAI Chat, and all that speak it ──


def _chat_head(turn: Turn) -> Json:
    return {"id": "chatcmpl-1", "created": MADE, "model": turn.request["model"], "provider": "loopback"}


def _chat_usage(turn: Turn) -> Json:
    read, wrote = turn.act.usage
    return {"prompt_tokens": read, "completion_tokens": wrote, "total_tokens": read + wrote}


def _chat_call(use: Use) -> Json:
    return {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": use.text}}


def _chat_thoughts(turn: Turn) -> Json:
    """As OpenRouter writes them; others ignore it."""
    details = [
        {"type": "reasoning.text", "text": part.text, "signature": part.signature, "format": "x", "index": 0}
        for part in turn.parts
        if isinstance(part, Thought)
    ]
    return {"reasoning_details": details} if details else {}


def _chat_finish(turn: Turn) -> str:
    return turn.finish("stop", "tool_calls", "length")


def _chat(turn: Turn) -> Json:
    message: Json = {"role": "assistant", "content": turn.text or None, **_chat_thoughts(turn)}
    if turn.calls:
        message["tool_calls"] = [_chat_call(use) for use in turn.calls]
    choice = {"index": 0, "message": message, "finish_reason": _chat_finish(turn)}
    head = _chat_head(turn) | {"object": "chat.completion"}
    return head | {"choices": [choice], "usage": _chat_usage(turn)}


def _chat_stream(turn: Turn) -> Iterator[bytes]:
    def chunk(delta: Json, finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _frame(_chat_head(turn) | {"object": "chat.completion.chunk", "choices": [choice]} | more)

    yield chunk({"role": "assistant", "content": "", **_chat_thoughts(turn)})
    if turn.text:
        yield chunk({"content": turn.text})
    for number, use in enumerate(turn.calls):
        index = 0 if turn.act.one_index else number
        first = _chat_call(use) | {"index": index}
        if turn.request["model"].startswith("mistral"):  # it streams whole calls
            yield chunk({"tool_calls": [first]})
            continue
        first["function"] = {"name": use.name, "arguments": ""}
        yield chunk({"tool_calls": [first]})
        for piece in _halves(use.text):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    if turn.act.finished:
        usage = _chat_usage(turn)
        yield chunk({}, _chat_finish(turn), usage=usage, x_groq={"usage": usage})
    yield b"data: [DONE]\n\n"


def _halves(text: str) -> list[str]:
    half = len(text) // 2
    return [piece for piece in (text[:half], text[half:]) if piece]


# ── OpenAI Responses ──


def _items(turn: Turn) -> list[Json]:
    items: list[Json] = []
    for number, part in enumerate(turn.parts):
        item: Json
        match part:
            case Thought(text=text, signature=signature):
                summary = [{"type": "summary_text", "text": text}]
                item = {"type": "reasoning", "summary": summary, "encrypted_content": signature}
            case Use():
                item = {"type": "function_call", "name": part.name, "arguments": part.text}
                item |= {"call_id": part.id, "status": "completed"}
            case str():
                content: Json = {"type": "output_text", "text": part, "annotations": [], "logprobs": []}
                item = {"type": "message", "role": "assistant", "status": "completed", "content": [content]}
        items.append({"id": f"{item['type'][:2]}_{number}", **item})
    return items


def _response(turn: Turn) -> Json:
    cut = turn.act.finish == "length"
    read, wrote = turn.act.usage
    usage = {"input_tokens": read, "output_tokens": wrote, "total_tokens": read + wrote}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": MADE,
        "model": turn.request["model"],
        "status": "incomplete" if cut else "completed",
        "error": None,
        "instructions": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "output": _items(turn),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "usage": usage,
    }


def _response_stream(turn: Turn) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return _frame({"type": kind, "sequence_number": 0, **fields}, kind)

    whole = _response(turn)
    opened: Json = whole | {"output": [], "status": "in_progress", "usage": None}
    yield event("response.created", response=opened)
    for index, item in enumerate(whole["output"]):
        begun: Json = item | {name: list[Any]() for name in ("content", "summary") if name in item}
        begun |= {"arguments": ""} if "arguments" in item else {}
        place: Json = {"item_id": item["id"], "output_index": index}
        yield event("response.output_item.added", output_index=index, item=begun)
        if item["type"] == "function_call":
            for piece in _halves(item["arguments"]):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            yield event(
                "response.function_call_arguments.done",
                **place,
                name=item["name"],
                arguments=item["arguments"],
            )
        elif item["type"] == "reasoning":
            part = item["summary"][0]
            place |= {"summary_index": 0}
            yield event("response.reasoning_summary_part.added", **place, part=part | {"text": ""})
            yield event("response.reasoning_summary_text.delta", **place, delta=part["text"])
            yield event("response.reasoning_summary_part.done", **place, part=part)
        elif item["type"] == "message":
            for piece in _halves(item["content"][0]["text"]):
                yield event("response.output_text.delta", **place, content_index=0, delta=piece, logprobs=[])
        yield event("response.output_item.done", output_index=index, item=item)
    if turn.act.finished:
        yield event(f"response.{whole['status']}", response=whole)


# ── Anthropic ──


def _blocks(turn: Turn) -> list[Json]:
    blocks: list[Json] = []
    for part in turn.parts:
        match part:
            case Thought(text=text, signature=signature):
                blocks.append({"type": "thinking", "thinking": text, "signature": signature})
            case Use():
                blocks.append({"type": "tool_use", "id": part.id, "name": part.name, "input": part.given})
            case str():
                blocks.append({"type": "text", "text": part})
    return blocks


def _message(turn: Turn) -> Json:
    read, wrote = turn.act.usage
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": turn.request["model"],
        "content": _blocks(turn),
        "stop_reason": turn.finish("end_turn", "tool_use", "max_tokens"),
        "stop_sequence": None,
        "usage": {"input_tokens": read, "output_tokens": wrote},
    }


def _message_stream(turn: Turn) -> Iterator[bytes]:
    def event(kind: str, **fields: Any) -> bytes:
        return _frame({"type": kind, **fields}, kind)

    whole = _message(turn)
    yield event("message_start", message=whole | {"content": [], "stop_reason": None})
    for index, (block, part) in enumerate(zip(whole["content"], turn.parts, strict=True)):
        deltas: list[Json] = []
        match part:
            case Thought():
                begun = {"type": "thinking", "thinking": "", "signature": ""}
                deltas.append({"type": "thinking_delta", "thinking": part.text})
                deltas.append({"type": "signature_delta", "signature": part.signature})
            case Use():
                begun = block | {"input": {}}
                deltas += [{"type": "input_json_delta", "partial_json": text} for text in _halves(part.text)]
            case str():
                begun = {"type": "text", "text": ""}
                deltas += [{"type": "text_delta", "text": text} for text in _halves(part)]
        yield event("content_block_start", index=index, content_block=begun)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    if turn.act.finished:
        delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield event("message_delta", delta=delta, usage={"output_tokens": turn.act.usage[1]})
        yield event("message_stop")


# ── Google ──


def _gemini_parts(turn: Turn) -> list[Json]:
    parts: list[Json] = []
    signature = ""
    for part in turn.parts:
        signed = {"thoughtSignature": signature} if signature else {}
        match part:
            case Thought():
                parts.append({"text": part.text, "thought": True})
                signature = part.signature  # it stands at the part that follows
                continue
            case Use():
                call: Json = {"name": part.name, "args": part.given}
                parts.append({"functionCall": call | ({"id": part.id} if part.id else {}), **signed})
            case str():
                parts.append({"text": part, **signed})
        signature = ""
    return parts


def _candidate(turn: Turn, parts: list[Json], *, last: bool = True) -> Json:
    candidate: Json = {"content": {"parts": parts, "role": "model"} if parts else {}}
    if not last:
        return {"candidates": [candidate]}
    candidate["finishReason"] = turn.finish("STOP", "STOP", "MAX_TOKENS")
    read, wrote = turn.act.usage
    usage = {"promptTokenCount": read, "candidatesTokenCount": wrote, "totalTokenCount": read + wrote}
    return {"candidates": [candidate], "usageMetadata": usage}


def _gemini(turn: Turn) -> Json:
    return _candidate(turn, _gemini_parts(turn))


def _gemini_stream(turn: Turn) -> Iterator[bytes]:
    for part in _gemini_parts(turn):
        yield _frame(_candidate(turn, [part], last=False))
    if turn.act.finished:
        yield _frame(_candidate(turn, []))


# ── Bedrock ──


def _converse_blocks(turn: Turn) -> list[Json]:
    blocks: list[Json] = []
    for part in turn.parts:
        match part:
            case Thought(text=text, signature=signature):
                thought = {"text": text, "signature": signature}
                blocks.append({"reasoningContent": {"reasoningText": thought}})
            case Use():
                blocks.append({"toolUse": {"toolUseId": part.id, "name": part.name, "input": part.given}})
            case str():
                blocks.append({"text": part})
    return blocks


def _converse_usage(turn: Turn) -> Json:
    read, wrote = turn.act.usage
    usage = {"inputTokens": read, "outputTokens": wrote, "totalTokens": read + wrote}
    return {"usage": usage, "metrics": {"latencyMs": 1}}


def _converse(turn: Turn) -> Json:
    message = {"role": "assistant", "content": _converse_blocks(turn)}
    stop = turn.finish("end_turn", "tool_use", "max_tokens")
    return {"output": {"message": message}, "stopReason": stop, **_converse_usage(turn)}


def _converse_stream(turn: Turn) -> Iterator[bytes]:
    yield aws_frame("messageStart", {"role": "assistant"})
    for index, part in enumerate(turn.parts):
        place = {"contentBlockIndex": index}
        deltas: list[Json]
        match part:
            case Thought():
                deltas = [{"reasoningContent": {"text": part.text}}]
                deltas.append({"reasoningContent": {"signature": part.signature}})
            case Use():
                use = {"toolUseId": part.id, "name": part.name}
                yield aws_frame("contentBlockStart", place | {"start": {"toolUse": use}})
                deltas = [{"toolUse": {"input": text}} for text in _halves(part.text)]
            case str():
                deltas = [{"text": text} for text in _halves(part)]
        for delta in deltas:
            yield aws_frame("contentBlockDelta", place | {"delta": delta})
        yield aws_frame("contentBlockStop", place)
    if turn.act.finished:
        yield aws_frame("messageStop", {"stopReason": turn.finish("end_turn", "tool_use", "max_tokens")})
        yield aws_frame("metadata", _converse_usage(turn))


def aws_frame(kind: str, payload: Json) -> bytes:
    """AWS's own framing: lengths and checksums around each event."""
    fields = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in fields.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    start = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return start + struct.pack(">I", zlib.crc32(start))


_FORMATS: dict[str, tuple[Callable[[Turn], Json], Callable[[Turn], Iterator[bytes]]]] = {
    "/chat/completions": (_chat, _chat_stream),
    "/responses": (_response, _response_stream),
    "/messages": (_message, _message_stream),
    ":generateContent": (_gemini, _gemini_stream),
    ":streamGenerateContent": (_gemini, _gemini_stream),
    "/converse": (_converse, _converse_stream),
    "/converse-stream": (_converse, _converse_stream),
}
"""By the end of a request's path."""
