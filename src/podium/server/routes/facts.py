"""Routes for facts: list, search, review, import and export."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Response

from podium.brain import Brain
from podium.brain.files import import_facts, read_lines, write_lines
from podium.brain.review import Review
from podium.engine.store_parts import Fact as Known
from podium.errors import EmbeddingError, UsageError
from podium.server.auth import Caller
from podium.server.permissions import check_operator, project_of, shown_project
from podium.server.problems import RefusedError
from podium.server.schemas.knowledge import FactsEmbedded, FactsImported, ImportFacts
from podium.server.schemas.system import (
    Clash,
    Fact,
    FactChange,
    FactDetail,
    FactList,
    FactStatus,
    Forgotten,
    Project,
    ProjectList,
    Reviewed,
    ReviewFacts,
    Waiting,
)
from podium.server.state import By, InHall, ServerState

router = APIRouter(prefix="/api/brain", tags=["brain"])

ProjectName = Annotated[str, Path(min_length=1, max_length=200, description="A project's name.")]
FactId = Annotated[str, Path(min_length=1, max_length=64)]
RunOf = Annotated[str, Query(max_length=64, description="Only facts that were taken from this run.")]


@router.get("/projects", operation_id="listProjects", summary="Projects that know something")
async def list_projects(hall: InHall, by: By) -> ProjectList:
    shares = [(shown_project(by, one.project), one) for one in await hall.store.list_projects()]
    return ProjectList(
        projects=[
            Project(
                project=name, accepted=one.accepted, proposed=one.proposed, discarded=one.discarded,
                updated_at=one.updated_at,
            )
            for name, one in shares
            if name is not None
        ]
    )  # fmt: skip


@router.get("/projects/{project:name}/facts", operation_id="listFacts", summary="What a project knows")
async def list_facts(
    project: ProjectName,
    hall: InHall,
    by: By,
    status: Annotated[list[FactStatus] | None, Query(description="Not given: what was accepted.")] = None,
    run: RunOf = "",
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
) -> FactList:
    """In the order in which they were told."""
    name = await _stored(hall, by, project)
    facts = await hall.store.list_facts(name, status=status or ("accepted",), source_run=run, limit=limit)
    return FactList(project=project, facts=[_fact(by, fact) for fact in facts])


@router.get("/projects/{project:name}/search", operation_id="searchFacts", summary="Find facts")
async def search_facts(
    project: ProjectName,
    hall: InHall,
    by: By,
    text: Annotated[str, Query(min_length=1, max_length=2000)],
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> FactList:
    """By name, by word and, with an embedding model, by meaning; the most telling first."""
    async with opened(hall, by, project) as brain:
        found = await brain.search(text, limit)
        return FactList(project=project, facts=[_fact(by, fact) for fact in found], warning=brain.warning)


@router.get(
    "/projects/{project:name}/review", operation_id="readReview", summary="Facts that wait for a review"
)
async def read_review(project: ProjectName, hall: InHall, by: By, run: RunOf = "") -> Waiting:
    """With what they contradict."""
    async with opened(hall, by, project) as brain:
        facts = await brain.facts(("proposed",), run)
        clashes = await brain.contradictions(facts)
    return Waiting(
        project=project,
        facts=[_fact(by, fact) for fact in facts],
        clashes=[
            Clash(new=one.new.id, canon=_fact(by, one.canon), reason=one.reason, severity=str(one.severity))
            for one in clashes
        ],
    )


@router.post("/projects/{project:name}/review", operation_id="reviewFacts", summary="Decide about facts")
async def review_facts(project: ProjectName, asked: ReviewFacts, hall: InHall, by: By) -> Reviewed:
    """Everything is looked up before anything is done: a wrong id changes nothing."""
    async with opened(hall, by, project) as brain:
        review = Review(brain, by=by.title)
        await _decide(review, asked)
        waiting = await brain.facts(("proposed",))
        if review.outcome.accepted:
            await _embed(brain)
    done = review.outcome
    return Reviewed(
        accepted=done.accepted, discarded=done.discarded, edited=done.edited, replaced=done.replaced,
        changed_meanwhile=done.changed_meanwhile, waiting=len(waiting),
    )  # fmt: skip


@router.get(
    "/projects/{project:name}/facts/{fact:name}", operation_id="readFact", summary="One fact with its history"
)
async def read_fact(project: ProjectName, fact: FactId, hall: InHall, by: By) -> FactDetail:
    """Where it comes from, and who changed it."""
    async with opened(hall, by, project) as brain:
        (found,) = await _known(brain, [fact])
        history = [
            FactChange.model_validate(msgspec.to_builtins(one)) for one in await brain.history(found.id)
        ]
    return FactDetail(**_fact(by, found).model_dump(), history=history)


@router.delete(
    "/projects/{project:name}/facts/{fact:name}", operation_id="forgetFact", summary="Forget a fact for good"
)
async def forget_fact(project: ProjectName, fact: FactId, hall: InHall, by: By) -> Forgotten:
    """With its history. To take it out of canon and keep what became of it, discard it in a review."""
    async with opened(hall, by, project) as brain:
        await _known(brain, [fact])
        return Forgotten(forgotten=await brain.forget([fact]))


async def _decide(review: Review, asked: ReviewFacts) -> None:
    decided = [*asked.accept, *asked.replace, *asked.discard]
    if len(set(decided)) < len(decided):
        raise UsageError("A fact can be accepted, replace others, or be discarded, but only one of these.")
    named = dict.fromkeys([*(edit.id for edit in asked.edit), *decided])
    facts = {fact.id: fact for fact in await _known(review.brain, list(named))}
    for edit in asked.edit:
        fields = edit.model_dump(exclude={"id"}, exclude_none=True)
        after = await review.edit(facts[edit.id], **fields)
        if after is not None:
            facts[edit.id] = after
    if asked.discard:
        await review.discard([facts[one] for one in asked.discard])
    for one in asked.accept:
        await review.accept(facts[one])
    for one in asked.replace:
        await review.replace(facts[one])


async def _known(brain: Brain, ids: list[str]) -> list[Known]:
    found = await brain.facts((), ids=ids) if ids else []
    missing = [one for one in ids if one not in {fact.id for fact in found}]
    if missing:
        raise RefusedError(404, f"There is no fact {missing[0]} in this project.")
    return found


async def _embed(brain: Brain) -> None:
    """Embed new facts. Search by meaning is optional, so an error of the embedding model is ignored."""
    try:
        await brain.embed()
    except EmbeddingError:
        return


async def _stored(hall: ServerState, by: Caller, project: str) -> str:
    """Return the stored name of a project. Raises `RefusedError` (404) if it has no facts."""
    name = project_of(by, project)
    if name not in {share.project for share in await hall.store.list_projects()}:
        raise RefusedError(404, f"There is no project {project!r}.")
    return name


@asynccontextmanager
async def opened(hall: ServerState, by: Caller, project: str) -> AsyncGenerator[Brain]:
    """Open a project's facts for the duration of a block."""
    brain = await Brain.open(hall.store, await _stored(hall, by, project), settings=hall.settings)
    try:
        yield brain
    finally:
        await brain.close()


def shown_fact(by: Caller, fact: Known) -> Known:
    """Return the fact with its project's name as the caller knows it."""
    return msgspec.structs.replace(fact, project=shown_project(by, fact.project) or fact.project)


def _fact(by: Caller, fact: Known) -> Fact:
    told = shown_fact(by, fact)
    return Fact.model_validate({name: getattr(told, name) for name in Fact.model_fields})


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
