"""Answers in the formats of Google and of Bedrock, as far as tests need them."""

from __future__ import annotations

import json
from typing import Any

from tests.models.wire.acting import aws_frame
from tests.models.wire.answers import Raw

USAGE = {"promptTokenCount": 12, "candidatesTokenCount": 5, "totalTokenCount": 17}
TOKENS = {"inputTokens": 12, "outputTokens": 5, "totalTokens": 17}


def gemini(text: str) -> Raw:
    return Raw(json.dumps(_candidate(text) | {"usageMetadata": USAGE}).encode())


def gemini_stream(*pieces: str) -> Raw:
    chunks = [_candidate(piece, "") for piece in pieces[:-1]]
    chunks.append(_candidate(pieces[-1]) | {"usageMetadata": USAGE})
    body = "".join(f"data: {json.dumps(chunk)}\r\n\r\n" for chunk in chunks)
    return Raw(body.encode(), "text/event-stream")


def _candidate(text: str, finish: str = "STOP") -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": [{"text": text}], "role": "model"}}
    return {"candidates": [candidate | ({"finishReason": finish} if finish else {})]}


def converse(text: str, *, tool: bool = False) -> Raw:
    part: dict[str, Any] = {"text": text}
    if tool:
        part = {"toolUse": {"toolUseId": "t1", "name": "answer", "input": json.loads(text)}}
    message = {"role": "assistant", "content": [part]}
    ended = "tool_use" if tool else "end_turn"
    whole = {"output": {"message": message}, "stopReason": ended, "usage": TOKENS}
    return Raw(json.dumps(whole | {"metrics": {"latencyMs": 1}}).encode())


def converse_stream(*pieces: str) -> Raw:
    """AWS's own framing: lengths and checksums around each event."""
    frames = [aws_frame("messageStart", {"role": "assistant"})]
    frames += [
        aws_frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}}) for piece in pieces
    ]
    frames.append(aws_frame("contentBlockStop", {"contentBlockIndex": 0}))
    frames.append(aws_frame("messageStop", {"stopReason": "end_turn"}))
    frames.append(aws_frame("metadata", {"usage": TOKENS, "metrics": {"latencyMs": 1}}))
    return Raw(b"".join(frames), "application/vnd.amazon.eventstream")
