"""Answers in the formats of Google and of Bedrock, as far as tests need them."""

from __future__ import annotations

import json
import struct
import zlib
from typing import Any

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
    frames = [_frame("messageStart", {"role": "assistant"})]
    frames += [
        _frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}}) for piece in pieces
    ]
    frames.append(_frame("contentBlockStop", {"contentBlockIndex": 0}))
    frames.append(_frame("messageStop", {"stopReason": "end_turn"}))
    frames.append(_frame("metadata", {"usage": TOKENS, "metrics": {"latencyMs": 1}}))
    return Raw(b"".join(frames), "application/vnd.amazon.eventstream")


def _frame(kind: str, payload: dict[str, Any]) -> bytes:
    fields = {":message-type": "event", ":event-type": kind, ":content-type": "application/json"}
    headers = b"".join(
        bytes([len(name)]) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in fields.items()
    )
    body = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    start = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return start + struct.pack(">I", zlib.crc32(start))
