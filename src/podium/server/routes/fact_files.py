"""Facts as lines of JSON, whole projects at once, and what search by meaning needs."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response

from podium.brain import Brain
from podium.brain.files import import_facts, read_lines, write_lines
from podium.errors import EmbeddingError, UsageError
from podium.server.contracts.stock import FactsEmbedded, FactsImported, ImportFacts
from podium.server.contracts.world import FactStatus, Forgotten
from podium.server.hall import By, InHall
from podium.server.permissions import check_operator, project_of
from podium.server.routes.brain import ProjectName, opened, shown_fact

router = APIRouter(prefix="/api/brain", tags=["brain"])

LINES = "application/x-ndjson"
FILE: dict[int | str, dict[str, Any]] = {200: {"content": {LINES: {"schema": {"type": "string"}}}}}


@router.get("/projects/{project:name}/export", operation_id="exportFacts", summary="Facts as lines of JSON",
            responses=FILE,
            response_class=Response)  # fmt: skip
async def export_facts(
    project: ProjectName,
    hall: InHall,
    by: By,
    status: Annotated[list[FactStatus] | None, Query(description="Not given: all.")] = None,
) -> Response:
    """What is written can be imported again."""
    async with opened(hall, by, project) as brain:
        found = await brain.facts(status or ())
    lines = b"".join(line + b"\n" for line in write_lines(shown_fact(by, fact) for fact in found))
    headers = {"Content-Disposition": 'attachment; filename="facts.jsonl"'}
    return Response(lines, media_type=LINES, headers=headers)


@router.post(
    "/projects/{project:name}/import", operation_id="importFacts", summary="Read facts from lines of JSON"
)
async def take_in(project: ProjectName, asked: ImportFacts, hall: InHall, by: By) -> FactsImported:
    """All of them or, after any mistake, none. They become facts of this project, whatever a line says."""
    told = await asyncio.to_thread(read_lines, asked.lines.encode("utf-8", "replace"), "lines")
    name = project_of(by, project)
    done = await import_facts(
        hall.store, told, settings=hall.settings, project=name, accept=asked.accept, by=by.title
    )
    return FactsImported(imported=sum(done.added.values()), known=done.known)


@router.post(
    "/projects/{project:name}/embed", operation_id="embedFacts", summary="Prepare facts for search by meaning"
)
async def embed_facts(project: ProjectName, hall: InHall, by: By) -> FactsEmbedded:
    """It needs one request to the embedding model for each 128 facts."""
    check_operator(by, "the embedding of facts")
    async with opened(hall, by, project) as brain:
        done = await _embedded(brain)
        share = next(one for one in await hall.store.list_projects() if one.project == brain.project)
    spent = share.embedding
    return FactsEmbedded(
        embedded=done, model=hall.settings.brain.embedding, calls=spent.calls,
        cost_usd=round(spent.usd, 9), unpriced_calls=spent.unpriced_calls,
    )  # fmt: skip


async def _embedded(brain: Brain) -> int:
    if not brain.has_embedding:
        raise UsageError(
            "No embedding model is configured.",
            hint='Write [brain] and embedding = "openai:text-embedding-3-small" into podium.toml.',
        )
    try:
        return await brain.embed()
    except EmbeddingError as error:
        raise UsageError(error.message, hint=error.hint) from error


@router.delete(
    "/projects/{project:name}/facts", operation_id="forgetFacts", summary="Forget many facts for good"
)
async def forget_facts(
    project: ProjectName,
    hall: InHall,
    by: By,
    run: Annotated[str, Query(max_length=64, description="Everything that was taken from this run.")] = "",
    all: Annotated[bool, Query(description="Everything that the project knows.")] = False,
) -> Forgotten:
    """With their history."""
    if bool(run) == all:
        raise UsageError("Say what to forget: either `run`, or `all`.")
    async with opened(hall, by, project) as brain:
        if all:
            return Forgotten(forgotten=await brain.forget(None))
        meant = [fact.id for fact in await brain.facts((), run)]
        return Forgotten(forgotten=await brain.forget(meant) if meant else 0)
