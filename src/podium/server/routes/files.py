"""Routes for artifacts, reports and traces."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response

from podium.api.outcome import ALIVE, conversations_of, state_of
from podium.engine.codec import decode
from podium.engine.events import ArtifactCreated
from podium.engine.log import Row, RunRow
from podium.report.data import facts_of, to_json
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.report.messages import ShownConversation
from podium.report.words import file_name, one_line
from podium.server.permissions import check_operator
from podium.server.problems import RefusedError
from podium.server.schemas.knowledge import SendTrace, TraceSent
from podium.server.schemas.runs import ArtifactList
from podium.server.schemas.shared import RunRef
from podium.server.state import By, InState, ServerState
from podium.server.views import artifacts_of
from podium.settings import variable
from podium.tracing.destination import full_address, shown_address
from podium.tracing.export import check_collector, send_trace, trace_of
from podium.tracing.span import SCOPE, Span, trace_id_of
from podium.tracing.span import to_json as trace_to_json
from podium.workflows import presentation_of

Format = Literal["html", "md", "json"]


def rendered(
    row: RunRow,
    rows: Sequence[Row],
    blob: bytes | None,
    chosen: Format,
    conversations: Sequence[ShownConversation] = (),
) -> bytes:
    """Render a report in the chosen format. `blob` is an output that is too large for the log."""
    shown = presentation_of(row.workflow)  # before the log is decoded: this registers the event classes
    events = [entry.to_event(row.run_id) for entry in rows]
    for event in events:
        shown.apply(event)
    output: Any = decode(blob) if blob is not None else None
    facts = facts_of(events, output=output, status=row.status, shown=shown, conversations=conversations)
    sections = shown.sections(alive=row.status in ALIVE)
    if chosen == "json":
        return to_json(facts, sections)
    if chosen == "md":
        return to_markdown(facts, sections).encode("utf-8", "replace")
    return to_html(facts, sections).encode("utf-8", "replace")


router = APIRouter(prefix="/api/runs", tags=["files"])

SANDBOX = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
"""Content-Security-Policy of artifacts and reports: no scripts, nothing remote, a separate origin."""
SHOWN = re.compile(r"text/(plain|markdown|html|csv)|image/(png|jpeg|gif|webp)|application/(json|pdf)")
"""Media types that a browser may display; all others are only downloaded."""
MEDIA = {"html": "text/html", "md": "text/markdown", "json": "application/json"}

REPORT: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/html": {"schema": {"type": "string"}},
            "text/markdown": {"schema": {"type": "string"}},
            "application/json": {"schema": {"type": "object"}},
        }
    }
}
FILE: dict[int | str, dict[str, Any]] = {
    200: {"content": {"*/*": {"schema": {"type": "string", "format": "binary"}}}}
}


@router.get("/{run_id}/artifacts", operation_id="listArtifacts", summary="What a run made")
async def list_artifacts(run_id: RunRef, state: InState, by: By) -> ArtifactList:
    """In the order in which it was made."""
    row = await state.run_for(by, run_id)
    return ArtifactList(run_id=row.run_id, artifacts=artifacts_of(await state_of(state.store, row.run_id)))


@router.get(
    "/{run_id}/artifacts/{artifact:name}",
    operation_id="readArtifact",
    summary="One file that a run made",
    responses=FILE,
    response_class=Response,
)
async def read_artifact(
    run_id: RunRef,
    artifact: Annotated[str, Path(max_length=300, description="Its id, or its name.")],
    state: InState,
    by: By,
    inline: Annotated[bool, Query(description="To be shown in a sandboxed frame rather than saved.")] = False,
) -> Response:
    """As it was made, with headers that let it do nothing."""
    row = await state.run_for(by, run_id)
    made = list((await state_of(state.store, row.run_id)).artifacts.values())
    match = next(
        (candidate for candidate in reversed(made) if artifact in (candidate.id, candidate.name)), None
    )
    if match is None:
        raise RefusedError(404, f"Run {row.run_id} has no artifact {one_line(artifact, 80)}.")
    return Response(await state.store.get_blob(match.blob), headers=_headers(match, inline=inline))


@router.get(
    "/{run_id}/report",
    operation_id="readReport",
    summary="A report of a run",
    responses=REPORT,
    response_class=Response,
)
async def read_report(
    run_id: RunRef,
    state: InState,
    by: By,
    format: Annotated[Literal["html", "md", "json"], Query()] = "html",
) -> Response:
    """From the log alone, so also of a run that still goes."""
    row = await state.run_for(by, run_id)
    rows = await state.store.read(row.run_id)
    blob = await _output_blob(state, row.run_id)
    talks = await conversations_of(state.store, (entry.to_event(row.run_id) for entry in rows))
    data = await asyncio.to_thread(rendered, row, rows, blob, format, talks)
    headers = {"Content-Security-Policy": SANDBOX, "Content-Type": f"{MEDIA[format]}; charset=utf-8"}
    return Response(data, headers=headers)


async def _output_blob(state: InState, run_id: str) -> bytes | None:
    run_state = await state_of(state.store, run_id)
    return await state.store.get_blob(run_state.output_blob) if run_state.output_blob else None


def _headers(made: ArtifactCreated, *, inline: bool) -> dict[str, str]:
    """Return headers with a safe file name, a media type from the allow-list, and a sandbox."""
    media = made.media_type.split(";")[0].strip().lower()
    shown = inline and SHOWN.fullmatch(media) is not None
    if not SHOWN.fullmatch(media):
        media = "application/octet-stream"
    text = "; charset=utf-8" if media.startswith("text/") else ""
    name = file_name(made.name)
    plain = re.sub(r"[^A-Za-z0-9 ._-]", "_", name)
    kind = "inline" if shown else "attachment"
    return {
        "Content-Type": media + text,
        "Content-Disposition": f"{kind}; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": SANDBOX,
    }


OTLP: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {"type": "object"}}}}
}


@router.get(
    "/{run_id}/trace",
    operation_id="readTrace",
    summary="The trace of a run, as OTLP in JSON",
    responses=OTLP,
    response_class=Response,
)
async def read_trace(
    run_id: RunRef,
    state: InState,
    by: By,
    content: Annotated[bool, Query(description="With prompts, replies and errors' messages.")] = False,
) -> Response:
    """Its ids come from the run's own, so it is the same trace each time."""
    row = await state.run_for(by, run_id)
    spans = await _spans(state, row, content=content)
    headers = {"Content-Disposition": f'attachment; filename="{row.run_id}.trace.json"'}
    data = trace_to_json(spans, variable("OTEL_SERVICE_NAME") or SCOPE)
    return Response(data, media_type="application/json", headers=headers)


@router.post("/{run_id}/trace", operation_id="sendTrace", summary="Send the trace of a run to a collector")
async def send(run_id: RunRef, body: SendTrace, state: InState, by: By) -> TraceSent:
    """Sent from the server's machine, which may reach addresses that clients cannot."""
    row = await state.run_for(by, run_id)
    check_operator(by, "sending traces")
    check_collector(body.otlp)
    spans = await _spans(state, row, content=body.content)
    address = full_address(body.otlp)
    await asyncio.to_thread(send_trace, address, spans)
    return TraceSent(
        run_id=row.run_id, trace_id=trace_id_of(row.run_id), spans=len(spans), to=shown_address(address)
    )


async def _spans(state: ServerState, row: RunRow, *, content: bool) -> list[Span]:
    return await trace_of(state.store, row.run_id, row.status, state.redact, content=content)
