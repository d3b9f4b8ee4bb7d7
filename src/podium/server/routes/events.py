"""Routes for the log of a run, paged and live, and for the live list of runs."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response
from sse_starlette.sse import EventSourceResponse, SendTimeoutError
from starlette.types import Receive, Scope, Send

from podium.engine.codec import decode
from podium.errors import UsageError
from podium.server.auth import Caller
from podium.server.problems import RefusedError
from podium.server.schemas.runs import EventPage
from podium.server.schemas.shared import RunRef
from podium.server.sse import event_json
from podium.server.state import By, InHall, ServerState

router = APIRouter(prefix="/api/runs", tags=["events"])

LOG = logging.getLogger("podium.server")

MOST_EVENTS = 5000
HEARTBEAT_S = 15
STUCK_S = 30
"""Seconds after which a client that reads nothing is disconnected. It can reconnect where it left off."""
STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Server-sent events.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
BLOB: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {}}, "text/plain": {"schema": {"type": "string"}}}}
}

After = Annotated[int, Query(ge=0, le=0xFFFFFFFF, description="Only events behind this number.")]
LastEventId = Annotated[
    str | None, Header(alias="Last-Event-ID", description="The id of the last event that the client has.")
]


class Live(EventSourceResponse):
    """An event stream that ends quietly when the client stops reading."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except SendTimeoutError:
            LOG.info("A reader who took nothing for %s s was let go of.", STUCK_S)


@router.get("/stream", operation_id="streamRuns", summary="The list of runs, live", responses=STREAM,
            response_class=Response)  # fmt: skip
async def stream_runs(hall: InHall, by: By, last_event_id: LastEventId = None) -> Live:
    """An event `run` with the summary of each run that changes. With `Last-Event-ID`, first those that have
    changed since."""
    return _streamed(hall, by, hall.changes.follow(by.owner, _number(last_event_id, 18)))


@router.get(
    "/{run_id}/events", operation_id="listEvents", summary="The log of a run", response_model=EventPage
)
async def list_events(
    run_id: RunRef,
    hall: InHall,
    by: By,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = 1000,
    type: Annotated[
        list[str] | None, Query(max_length=50, description="Only these; may be repeated.")
    ] = None,
) -> Response:
    """In order. What the log holds, unchanged."""
    row = await hall.run_for(by, run_id)
    found = await hall.store.read(row.run_id, after=after, limit=limit, types=type or ())
    more = str(found[-1].seq) if len(found) == limit else "null"
    body = b",".join(event_json(row.run_id, event) for event in found)
    return Response(
        b'{"events":[' + body + b'],"next":' + more.encode() + b"}", media_type="application/json"
    )


@router.get("/{run_id}/events/stream", operation_id="streamEvents", summary="The log of a run, live",
            responses=STREAM, response_class=Response)  # fmt: skip
async def stream_events(
    run_id: RunRef, hall: InHall, by: By, after: After = 0, last_event_id: LastEventId = None
) -> Live:
    """Unnamed events are those of the log, with their number as id: each once and in order, also over
    interruptions. `delta` is a piece of a reply that is being written (path, attempt, offset, text), which is
    not in the log and may be left out; `status` tells how the run stands when everything was sent."""
    row = await hall.run_for(by, run_id)
    start = after if last_event_id is None else _number(last_event_id, 10)
    return _streamed(hall, by, hall.broadcasts.follow(row.run_id, min(start, 0xFFFFFFFF)))


@router.get("/{run_id}/events/{seq}/blob", operation_id="readBlob", summary="What an event was too small for",
            responses=BLOB, response_class=Response)  # fmt: skip
async def read_blob(run_id: RunRef, seq: int, hall: InHall, by: By) -> Response:
    """The result, output or prompt that an event names by the hash in `blob`."""
    row = await hall.run_for(by, run_id)
    found = await hall.store.read(row.run_id, after=max(seq, 1) - 1, limit=1) if seq < 0xFFFFFFFF else []
    data: dict[str, Any] = decode(found[0].data) if found and found[0].seq == seq else {}
    digest = data.get("blob")
    if not isinstance(digest, str) or not digest or found[0].type == "artifact.created":
        raise RefusedError(404, f"Event {seq} of run {row.run_id} names nothing that lies elsewhere.")
    blob = await hall.store.get_blob(digest)
    if found[0].type == "model.asked":  # the prompt is kept as text, everything else as JSON
        return Response(blob, media_type="text/plain; charset=utf-8")
    return Response(blob, media_type="application/json")


def _streamed(hall: ServerState, by: Caller, pieces: AsyncGenerator[bytes]) -> Live:
    if hall.streams[by.name] >= by.most_streams:
        raise RefusedError(
            429, f"You have {by.most_streams} live streams already.", hint="Close some of your pages."
        )
    counted = _counted(hall.streams, by.name, pieces)
    return Live(counted, ping=HEARTBEAT_S, send_timeout=STUCK_S, sep="\n")


async def _counted(streams: Counter[str], name: str, pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    streams[name] += 1
    try:
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece
    finally:
        streams[name] -= 1


def _number(text: str | None, digits: int) -> int:
    if text is None or not text.strip():
        return 0
    if not re.fullmatch(rf"[0-9]{{1,{digits}}}", text.strip()):
        raise UsageError("Last-Event-ID is not the number of an event.")
    return int(text)
