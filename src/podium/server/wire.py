"""Events as they go over the wire: the log's own bytes, framed once for everybody."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec
from sse_starlette.event import ServerSentEvent

from podium.engine.codec import encode
from podium.engine.log import Row


def iso(micros: int) -> str:
    """A moment as every interface shows it."""
    when = datetime.fromtimestamp(micros / 1_000_000, UTC)
    return when.isoformat(timespec="microseconds").replace("+00:00", "Z")


def event_json(run_id: str, row: Row) -> bytes:
    """One event as JSON, without reading its data: what the log holds is what is sent."""
    return msgspec.json.encode(
        {
            "seq": row.seq,
            "run_id": run_id,
            "time": iso(row.time_us),
            "path": row.path,
            "type": row.type,
            "data": msgspec.Raw(row.data),
        }
    )


def framed_event(run_id: str, row: Row) -> bytes:
    """The same as a server-sent event, whose id a client sends back when it comes again."""
    return ServerSentEvent(_one_line(event_json(run_id, row)), id=str(row.seq), sep="\n").encode()


def framed(kind: str, data: Any, *, id: str | None = None) -> bytes:
    """Something that is not in the log."""
    return ServerSentEvent(_one_line(encode(data)), event=kind, id=id, sep="\n").encode()


def _one_line(json: bytes) -> str:
    """JSON for clients who take more for the end of a line than the standard does (Python's `splitlines`)."""
    text = json.decode()
    if text.isascii():
        return text
    return text.replace("\x85", "\\u0085").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
