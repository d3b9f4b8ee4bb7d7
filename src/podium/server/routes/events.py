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

from podium.engine.codec import decode, encode
from podium.errors import UsageError
from podium.server.auth import Caller
from podium.server.problems import RefusedError
from podium.server.schemas.runs import EventPage
from podium.server.schemas.shared import RunRef
from podium.server.sse import event_json
from podium.server.state import By, InState, ServerState
from podium.server.views import messages_of

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
VIEW: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/RunViewAt"}}}}
}
MESSAGES: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/RunMessages"}}}}
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
            LOG.info("Disconnected a client that read nothing for %s s.", STUCK_S)


@router.get(
    "/stream",
    operation_id="streamRuns",
    summary="The list of runs, live",
    responses=STREAM,
    response_class=Response,
)
async def stream_runs(state: InState, by: By, last_event_id: LastEventId = None) -> Live:
    """An event `run` with the summary of each run that changes. With `Last-Event-ID`, first those that have
    changed since."""
    return _streamed(state, by, state.changes.follow(by.owner, _number(last_event_id, 18)))


@router.get(
    "/{run_id}/events", operation_id="listEvents", summary="The log of a run", response_model=EventPage
)
async def list_events(
    run_id: RunRef,
    state: InState,
    by: By,
    after: After = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_EVENTS)] = 1000,
    type: Annotated[
        list[str] | None, Query(max_length=50, description="Only these; may be repeated.")
    ] = None,
) -> Response:
    """In order: what the log holds, unchanged, and with each event the line that the terminal shows for
    it."""
    row = await state.run_for(by, run_id)
    rows = await state.store.read(row.run_id, after=after, limit=limit, types=type or ())
    fold = state.folds.of(row)
    if rows:
        await fold.extend(rows[-1].seq)
    more = str(rows[-1].seq) if len(rows) == limit else "null"
    body = b",".join(event_json(row.run_id, event, fold.line(event.seq)) for event in rows)
    return Response(
        b'{"events":[' + body + b'],"next":' + more.encode() + b"}", media_type="application/json"
    )


@router.get(
    "/{run_id}/events/stream",
    operation_id="streamEvents",
    summary="The log of a run, live",
    responses=STREAM,
    response_class=Response,
)
async def stream_events(
    run_id: RunRef,
    state: InState,
    by: By,
    after: After = 0,
    view: Annotated[bool, Query(description="Also send the view of the run.")] = False,
    last: Annotated[
        int | None, Query(ge=0, le=0xFFFFFFFF, description="At most this many of the events so far.")
    ] = None,
    last_event_id: LastEventId = None,
) -> Live:
    """Unnamed events are those of the log, with their number as id: each once and in order, also over
    interruptions. `delta` is a piece of a reply that is being written (path, attempt, offset, text), which is
    not in the log and may be left out; `status` is the run's status when everything was sent. With
    `view=true`, `view` is first the complete view (`seq`, `view`), and then, at most four times a second and
    after the last event, a JSON merge patch (`seq`, `patch`, RFC 7396) to the view sent before. A client that
    reads too slowly gets a complete view again. `Last-Event-ID` takes precedence over `after` and `last`."""
    row = await state.run_for(by, run_id)
    if last_event_id is not None:
        after, last = min(_number(last_event_id, 10), 0xFFFFFFFF), None
    return _streamed(state, by, state.broadcasts.follow(row, after, view=view, last=last))


@router.get(
    "/{run_id}/view",
    operation_id="readView",
    summary="The view of a run",
    responses=VIEW,
    response_class=Response,
)
async def read_view(run_id: RunRef, state: InState, by: By) -> Response:
    """Everything that a page shows of a run, made of its whole log: state, steps, questions, files, grades,
    and the workflow's own part (`detail`)."""
    row = await state.run_for(by, run_id)
    fold = state.folds.of(row)
    await fold.whole()
    _, json = fold.complete(fresh=True)
    return Response(json, media_type="application/json")


@router.get(
    "/{run_id}/messages",
    operation_id="listMessages",
    summary="The conversations of a run",
    responses=MESSAGES,
    response_class=Response,
)
async def list_messages(
    run_id: RunRef,
    state: InState,
    by: By,
    path: Annotated[str, Query(max_length=2000, description="Only up to this turn, or this call.")] = "",
) -> Response:
    """Messages, tool calls, results and costs of agents with tools and of threads. Long texts are cut, and of
    many messages the last are sent."""
    row = await state.run_for(by, run_id)
    messages = await messages_of(state.store, row, path)
    return Response(encode(messages), media_type="application/json")


@router.get(
    "/{run_id}/events/{seq}/blob",
    operation_id="readBlob",
    summary="A large value of an event",
    responses=BLOB,
    response_class=Response,
)
async def read_blob(run_id: RunRef, seq: int, state: InState, by: By) -> Response:
    """The result, output or prompt that is stored outside of the log, under the hash in `blob`."""
    row = await state.run_for(by, run_id)
    rows = await state.store.read(row.run_id, after=max(seq, 1) - 1, limit=1) if seq < 0xFFFFFFFF else []
    data: dict[str, Any] = decode(rows[0].data) if rows and rows[0].seq == seq else {}
    digest = data.get("blob")
    if not isinstance(digest, str) or not digest or rows[0].type == "artifact.created":
        raise RefusedError(404, f"Event {seq} of run {row.run_id} has no value outside of the log.")
    blob = await state.store.get_blob(digest)
    if rows[0].type == "model.asked":  # the prompt is kept as text, everything else as JSON
        return Response(blob, media_type="text/plain; charset=utf-8")
    return Response(blob, media_type="application/json")


def _streamed(state: ServerState, by: Caller, pieces: AsyncGenerator[bytes]) -> Live:
    if state.streams[by.name] >= by.most_streams:
        raise RefusedError(
            429, f"You have {by.most_streams} live streams already.", hint="Close some of your pages."
        )
    counted = _counted(state.streams, by.name, pieces)
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
