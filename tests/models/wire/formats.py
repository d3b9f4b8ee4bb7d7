"""The three wire formats: a whole body, or the frames of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Protocol

from tests.models.wire.answers import Say

Json = dict[str, Any]
MADE = 1_700_000_000


class Format(Protocol):
    """How one API writes an answer. `ends` tells what follows the pieces of a stream."""

    @staticmethod
    def body(say: Say, request: Json) -> Json: ...

    @staticmethod
    def starts(say: Say, request: Json) -> Iterator[bytes]: ...

    @staticmethod
    def piece(text: str, request: Json) -> bytes: ...

    @staticmethod
    def ends(say: Say, request: Json) -> Iterator[bytes]: ...


def frame(data: Json, event: str = "") -> bytes:
    head = f"event: {event}\n" if event else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


class Chat:
    """OpenAI Chat Completions."""

    @staticmethod
    def body(say: Say, request: Json) -> Json:
        tool, finish = Chat._tool(request), Chat._finish(say, request)
        message: Json = {"role": "assistant", "content": say.text, "refusal": None}
        if say.finish == "refusal":
            message |= {"content": None, "refusal": say.text}
        elif tool:
            call = {"name": tool, "arguments": say.text}
            message |= {
                "content": None,
                "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
            }
        choice = {"index": 0, "message": message, "finish_reason": finish}
        whole = Chat._head(request) | {"object": "chat.completion", "choices": [choice]}
        return whole | ({"usage": Chat._usage(say)} if say.usage else {})

    @staticmethod
    def starts(say: Say, request: Json) -> Iterator[bytes]:
        tool = Chat._tool(request)
        delta: Json = {"role": "assistant", "content": "" if not tool else None}
        if tool:
            call = {"name": tool, "arguments": ""}
            delta["tool_calls"] = [{"index": 0, "id": "call_1", "type": "function", "function": call}]
        if say.finish == "refusal":
            delta = {"role": "assistant", "content": None, "refusal": say.text}
        yield Chat._chunk(request, delta)

    @staticmethod
    def piece(text: str, request: Json) -> bytes:
        if Chat._tool(request):
            return Chat._chunk(request, {"tool_calls": [{"index": 0, "function": {"arguments": text}}]})
        return Chat._chunk(request, {"content": text})

    @staticmethod
    def ends(say: Say, request: Json) -> Iterator[bytes]:
        include_usage = request.get("stream_options", {}).get("include_usage")
        # Mistral and Groq tell it unasked, with the last piece, each in a place of its own
        unasked = (
            {}
            if include_usage or not say.usage
            else {"usage": Chat._usage(say), "x_groq": {"usage": Chat._usage(say)}}
        )
        yield Chat._chunk(request, {}, Chat._finish(say, request), **unasked)
        if say.usage and include_usage:
            yield frame(
                Chat._head(request)
                | {"object": "chat.completion.chunk", "choices": [], "usage": Chat._usage(say)}
            )
        yield b"data: [DONE]\n\n"

    @staticmethod
    def _chunk(request: Json, delta: Json, finish: str | None = None, **more: Json) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        whole = Chat._head(request) | {"object": "chat.completion.chunk", "choices": [choice]} | more
        return frame(whole)

    @staticmethod
    def _head(request: Json) -> Json:
        # `provider` is what OpenRouter adds; others ignore it
        return {"id": "chatcmpl-1", "created": MADE, "model": request["model"], "provider": "loopback"}

    @staticmethod
    def _tool(request: Json) -> str:
        return request["tools"][0]["function"]["name"] if request.get("tools") else ""

    @staticmethod
    def _finish(say: Say, request: Json) -> str:
        if say.finish == "stop" and Chat._tool(request):
            return "tool_calls"
        return {"refusal": "stop"}.get(say.finish, say.finish)

    @staticmethod
    def _usage(say: Say) -> Json:
        return {
            "prompt_tokens": say.input_tokens,
            "completion_tokens": say.output_tokens,
            "total_tokens": say.input_tokens + say.output_tokens,
            "prompt_tokens_details": {"cached_tokens": say.remembered},
        }


class Responses:
    """OpenAI Responses."""

    @staticmethod
    def body(say: Say, request: Json) -> Json:
        return Responses._response(say, request, [Responses._item(say, request)])

    @staticmethod
    def starts(say: Say, request: Json) -> Iterator[bytes]:
        opened = Responses._response(say, request, []) | {"status": "in_progress", "usage": None}
        yield Responses._event("response.created", response=opened)
        item = Responses._item(Say("", finish=say.finish), request) | {"status": "in_progress"}
        if "content" in item:
            item["content"] = []
        yield Responses._event("response.output_item.added", output_index=0, item=item)
        if "content" in item:
            part: Json = {"type": "output_text", "text": "", "annotations": []}
            yield Responses._event("response.content_part.added", **Responses._place(), part=part)

    @staticmethod
    def piece(text: str, request: Json) -> bytes:
        if Responses._tool(request):
            return Responses._event(
                "response.function_call_arguments.delta", item_id="fc_1", output_index=0, delta=text
            )
        return Responses._event("response.output_text.delta", **Responses._place(), delta=text, logprobs=[])

    @staticmethod
    def ends(say: Say, request: Json) -> Iterator[bytes]:
        item = Responses._item(say, request)
        if say.finish == "refusal":
            yield Responses._event("response.refusal.done", **Responses._place(), refusal=say.text)
        elif "content" in item:
            yield Responses._event(
                "response.output_text.done", **Responses._place(), text=say.text, logprobs=[]
            )
            yield Responses._event(
                "response.content_part.done", **Responses._place(), part=item["content"][0]
            )
        else:
            yield Responses._event(
                "response.function_call_arguments.done",
                item_id="fc_1",
                output_index=0,
                name=item["name"],
                arguments=say.text,
            )
        yield Responses._event("response.output_item.done", output_index=0, item=item)
        ended = Responses._response(say, request, [item])
        yield Responses._event(f"response.{ended['status']}", response=ended)

    @staticmethod
    def _event(kind: str, **fields: Any) -> bytes:
        return frame({"type": kind, "sequence_number": 0, **fields}, kind)

    @staticmethod
    def _place() -> Json:
        return {"item_id": "msg_1", "output_index": 0, "content_index": 0}

    @staticmethod
    def _tool(request: Json) -> str:
        return request["tools"][0]["name"] if request.get("tools") else ""

    @staticmethod
    def _item(say: Say, request: Json) -> Json:
        tool = Responses._tool(request)
        if tool and say.finish != "refusal":
            return {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "call_1",
                "name": tool,
                "arguments": say.text,
                "status": "completed",
            }
        content: Json = {"type": "output_text", "text": say.text, "annotations": [], "logprobs": []}
        if say.finish == "refusal":
            content = {"type": "refusal", "refusal": say.text}
        return {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [content],
        }

    @staticmethod
    def _response(say: Say, request: Json, output: list[Json]) -> Json:
        usage = {
            "input_tokens": say.input_tokens,
            "input_tokens_details": {
                "cached_tokens": say.remembered,
                "cache_write_tokens": say.to_remember,
            },
            "output_tokens": say.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": say.input_tokens + say.output_tokens,
        }
        cut = say.finish == "length"
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": MADE,
            "model": request["model"],
            "status": "incomplete" if cut else "completed",
            "error": None,
            "instructions": None,
            "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "metadata": {},
            "usage": usage if say.usage else None,
        }


class Messages:
    """Anthropic Messages."""

    @staticmethod
    def body(say: Say, request: Json) -> Json:
        tool = Messages._tool(request)
        content: Json = {"type": "text", "text": say.text}
        if tool and say.finish == "stop":
            content = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": json.loads(say.text)}
        return Messages._message(request) | {
            "content": [content],
            "stop_reason": Messages._finish(say, request),
            "stop_sequence": None,
            "usage": Messages._usage(say),
        }

    @staticmethod
    def starts(say: Say, request: Json) -> Iterator[bytes]:
        tool = Messages._tool(request)
        message: Json = Messages._message(request) | {
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": Messages._usage(say),
        }
        yield frame({"type": "message_start", "message": message}, "message_start")
        block: Json = {"type": "text", "text": ""}
        if tool:
            block = {"type": "tool_use", "id": "toolu_1", "name": tool, "input": {}}
        yield frame(
            {"type": "content_block_start", "index": 0, "content_block": block}, "content_block_start"
        )

    @staticmethod
    def piece(text: str, request: Json) -> bytes:
        delta: Json = {"type": "text_delta", "text": text}
        if Messages._tool(request):
            delta = {"type": "input_json_delta", "partial_json": text}
        return frame({"type": "content_block_delta", "index": 0, "delta": delta}, "content_block_delta")

    @staticmethod
    def ends(say: Say, request: Json) -> Iterator[bytes]:
        yield frame({"type": "content_block_stop", "index": 0}, "content_block_stop")
        delta = {"stop_reason": Messages._finish(say, request), "stop_sequence": None}
        shown = {"output_tokens": say.output_tokens} if say.usage else None
        yield frame({"type": "message_delta", "delta": delta, "usage": shown}, "message_delta")
        yield frame({"type": "message_stop"}, "message_stop")

    @staticmethod
    def _message(request: Json) -> Json:
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": request["model"]}

    @staticmethod
    def _tool(request: Json) -> str:
        return request["tools"][0]["name"] if request.get("tools") else ""

    @staticmethod
    def _finish(say: Say, request: Json) -> str:
        usual = "tool_use" if Messages._tool(request) else "end_turn"
        return {"stop": usual, "length": "max_tokens"}.get(say.finish, say.finish)

    @staticmethod
    def _usage(say: Say) -> Json | None:
        """Here the input does not hold what was or is to be remembered."""
        if not say.usage:
            return None
        return {
            "input_tokens": say.input_tokens - say.remembered - say.to_remember,
            "cache_read_input_tokens": say.remembered,
            "cache_creation_input_tokens": say.to_remember,
            "output_tokens": say.output_tokens,
        }


FORMATS: dict[str, type[Format]] = {
    "/chat/completions": Chat,
    "/responses": Responses,
    "/messages": Messages,
}
"""By the end of a request's path."""
