"""What runs made: artifacts and reports. A model may have written them, so a browser must not trust them."""

from __future__ import annotations

import asyncio
import re
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Response

from podium.api.outcome import state_of
from podium.engine.events import ArtifactCreated
from podium.report.file_names import file_name
from podium.report.words import one_line
from podium.server.contracts.runs import ArtifactList
from podium.server.contracts.shared import RunRef
from podium.server.hall import By, InHall
from podium.server.problems import RefusedError
from podium.server.reports import rendered
from podium.server.telling import artifacts_of

router = APIRouter(prefix="/api/runs", tags=["files"])

SANDBOX = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
"""No script, nothing remote, an origin of its own: whatever a page holds."""
SHOWN = re.compile(r"text/(plain|markdown|html|csv)|image/(png|jpeg|gif|webp)|application/(json|pdf)")
"""Kinds that a browser may show; all others are only saved."""
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
async def list_artifacts(run_id: RunRef, hall: InHall, by: By) -> ArtifactList:
    """In the order in which it was made."""
    row = await hall.run_for(by, run_id)
    return ArtifactList(run_id=row.run_id, artifacts=artifacts_of(await state_of(hall.store, row.run_id)))


@router.get("/{run_id}/artifacts/{artifact:name}", operation_id="readArtifact",
            summary="One file that a run made",
            responses=FILE,
            response_class=Response)  # fmt: skip
async def read_artifact(
    run_id: RunRef,
    artifact: Annotated[str, Path(max_length=300, description="Its id, or its name.")],
    hall: InHall,
    by: By,
    inline: Annotated[bool, Query(description="To be shown in a sandboxed frame rather than saved.")] = False,
) -> Response:
    """As it was made, with headers that let it do nothing."""
    row = await hall.run_for(by, run_id)
    made = list((await state_of(hall.store, row.run_id)).artifacts.values())
    found = next((one for one in reversed(made) if artifact in (one.id, one.name)), None)
    if found is None:
        raise RefusedError(404, f"Run {row.run_id} has no artifact {one_line(artifact, 80)}.")
    return Response(await hall.store.get_blob(found.blob), headers=_headers(found, inline=inline))


@router.get("/{run_id}/report", operation_id="readReport", summary="A report of a run",
            responses=REPORT,
            response_class=Response)  # fmt: skip
async def read_report(
    run_id: RunRef,
    hall: InHall,
    by: By,
    format: Annotated[Literal["html", "md", "json"], Query()] = "html",
) -> Response:
    """From the log alone, so also of a run that still goes."""
    row = await hall.run_for(by, run_id)
    rows = await hall.store.read(row.run_id)
    blob = await _output_blob(hall, row.run_id)
    data = await asyncio.to_thread(rendered, row, rows, blob, format)
    headers = {"Content-Security-Policy": SANDBOX, "Content-Type": f"{MEDIA[format]}; charset=utf-8"}
    return Response(data, headers=headers)


async def _output_blob(hall: InHall, run_id: str) -> bytes | None:
    state = await state_of(hall.store, run_id)
    return await hall.store.get_blob(state.output_blob) if state.output_blob else None


def _headers(made: ArtifactCreated, *, inline: bool) -> dict[str, str]:
    """A name that stays a name, a kind that a browser cannot be talked out of, and a sandbox."""
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
