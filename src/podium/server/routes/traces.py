"""The trace of a run for OpenTelemetry, made of its log."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from podium.engine.log import RunRow
from podium.server.contracts.shared import RunRef
from podium.server.contracts.stock import SendTrace, TraceSent
from podium.server.hall import By, Hall, InHall
from podium.server.permissions import check_operator
from podium.settings import variable
from podium.tracing.destination import full_address, shown_address
from podium.tracing.export import check_collector, send_trace
from podium.tracing.follow import trace_of
from podium.tracing.otlp import SCOPE, to_json
from podium.tracing.span import Span, trace_id_of

router = APIRouter(prefix="/api/runs", tags=["files"])

OTLP: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {"schema": {"type": "object"}}}}
}


@router.get("/{run_id}/trace", operation_id="readTrace", summary="The trace of a run, as OTLP in JSON",
            responses=OTLP,
            response_class=Response)  # fmt: skip
async def read_trace(
    run_id: RunRef,
    hall: InHall,
    by: By,
    content: Annotated[bool, Query(description="With prompts, replies and errors' messages.")] = False,
) -> Response:
    """Its ids come from the run's own, so it is the same trace each time."""
    row = await hall.run_for(by, run_id)
    spans = await _spans(hall, row, content=content)
    headers = {"Content-Disposition": f'attachment; filename="{row.run_id}.trace.json"'}
    data = to_json(spans, variable("OTEL_SERVICE_NAME") or SCOPE)
    return Response(data, media_type="application/json", headers=headers)


@router.post("/{run_id}/trace", operation_id="sendTrace", summary="Send the trace of a run to a collector")
async def send(run_id: RunRef, asked: SendTrace, hall: InHall, by: By) -> TraceSent:
    """From the server's machine, which may reach addresses that nobody else can."""
    row = await hall.run_for(by, run_id)
    check_operator(by, "sending traces")
    check_collector(asked.otlp)
    spans = await _spans(hall, row, content=asked.content)
    address = full_address(asked.otlp)
    await asyncio.to_thread(send_trace, address, spans)
    return TraceSent(
        run_id=row.run_id, trace_id=trace_id_of(row.run_id), spans=len(spans), to=shown_address(address)
    )


async def _spans(hall: Hall, row: RunRow, *, content: bool) -> list[Span]:
    return await trace_of(hall.store, row.run_id, row.status, hall.redact, content=content)
