"""Routes for facts of projects and for corpora of documents."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Path, Query, Response

from podium.brain import Brain
from podium.brain.review import Review, import_facts, read_lines, write_lines
from podium.engine.process import offload
from podium.engine.store_parts import Fact as Known
from podium.errors import EmbeddingError, UsageError
from podium.server.auth import Caller
from podium.server.permissions import check_operator, project_of, shown_project
from podium.server.problems import RefusedError
from podium.server.schemas.knowledge import (
    AddCorpus,
    Corpus,
    CorpusAdded,
    CorpusList,
    CorpusRemoved,
    FactsEmbedded,
    FactsImported,
    ImportFacts,
    Passage,
    PassageList,
)
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
from podium.server.state import By, InState, ServerState
from podium.tools.corpus.corpus import (
    Shelved,
    check_name,
    find_corpus,
    list_corpora,
    open_corpus,
    passage_data,
    remove_corpus,
    search_all,
)
from podium.tools.tool import ToolError

router = APIRouter(prefix="/api/brain", tags=["brain"])

ProjectName = Annotated[str, Path(min_length=1, max_length=200, description="A project's name.")]
FactId = Annotated[str, Path(min_length=1, max_length=64)]
RunOf = Annotated[str, Query(max_length=64, description="Only facts that were taken from this run.")]


@router.get("/projects", operation_id="listProjects", summary="Projects that know something")
async def list_projects(state: InState, by: By) -> ProjectList:
    shares = [(shown_project(by, project.project), project) for project in await state.store.list_projects()]
    return ProjectList(
        projects=[
            Project(
                project=name,
                accepted=project.accepted,
                proposed=project.proposed,
                discarded=project.discarded,
                updated_at=project.updated_at,
            )
            for name, project in shares
            if name is not None
        ]
    )


@router.get("/projects/{project:name}/facts", operation_id="listFacts", summary="What a project knows")
async def list_facts(
    project: ProjectName,
    state: InState,
    by: By,
    status: Annotated[list[FactStatus] | None, Query(description="Not given: what was accepted.")] = None,
    run: RunOf = "",
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
) -> FactList:
    """In order of their creation."""
    name = await _stored(state, by, project)
    facts = await state.store.list_facts(name, status=status or ("accepted",), source_run=run, limit=limit)
    return FactList(project=project, facts=[_fact(by, fact) for fact in facts])


@router.get("/projects/{project:name}/search", operation_id="searchFacts", summary="Find facts")
async def search_facts(
    project: ProjectName,
    state: InState,
    by: By,
    text: Annotated[str, Query(min_length=1, max_length=2000)],
    limit: Annotated[int, Query(ge=1, le=200)] = 20,
) -> FactList:
    """By name, by word and, with an embedding model, by meaning; the most relevant first."""
    async with opened(state, by, project) as brain:
        matches = await brain.search(text, limit)
        return FactList(project=project, facts=[_fact(by, fact) for fact in matches], warning=brain.warning)


@router.get(
    "/projects/{project:name}/review", operation_id="readReview", summary="Facts that wait for a review"
)
async def read_review(project: ProjectName, state: InState, by: By, run: RunOf = "") -> Waiting:
    """With what they contradict."""
    async with opened(state, by, project) as brain:
        facts = await brain.facts(("proposed",), run)
        clashes = await brain.contradictions(facts)
    return Waiting(
        project=project,
        facts=[_fact(by, fact) for fact in facts],
        clashes=[
            Clash(
                new=clash.new.id,
                canon=_fact(by, clash.canon),
                reason=clash.reason,
                severity=str(clash.severity),
            )
            for clash in clashes
        ],
    )


@router.post("/projects/{project:name}/review", operation_id="reviewFacts", summary="Decide about facts")
async def review_facts(project: ProjectName, body: ReviewFacts, state: InState, by: By) -> Reviewed:
    """Everything is looked up before anything is done: a wrong id changes nothing."""
    async with opened(state, by, project) as brain:
        review = Review(brain, by=by.title)
        await _decide(review, body)
        waiting = await brain.facts(("proposed",))
        if review.outcome.accepted:
            await _embed(brain)
    done = review.outcome
    return Reviewed(
        accepted=done.accepted,
        discarded=done.discarded,
        edited=done.edited,
        replaced=done.replaced,
        changed_meanwhile=done.changed_meanwhile,
        waiting=len(waiting),
    )


@router.get(
    "/projects/{project:name}/facts/{fact:name}", operation_id="readFact", summary="One fact with its history"
)
async def read_fact(project: ProjectName, fact: FactId, state: InState, by: By) -> FactDetail:
    """One fact with its source and its changes."""
    async with opened(state, by, project) as brain:
        (current,) = await _known(brain, [fact])
        history = [
            FactChange.model_validate(msgspec.to_builtins(version))
            for version in await brain.history(current.id)
        ]
    return FactDetail(**_fact(by, current).model_dump(), history=history)


@router.delete(
    "/projects/{project:name}/facts/{fact:name}", operation_id="forgetFact", summary="Forget a fact for good"
)
async def forget_fact(project: ProjectName, fact: FactId, state: InState, by: By) -> Forgotten:
    """With its history. To take it out of canon and keep what became of it, discard it in a review."""
    async with opened(state, by, project) as brain:
        await _known(brain, [fact])
        return Forgotten(forgotten=await brain.forget([fact]))


async def _decide(review: Review, body: ReviewFacts) -> None:
    decided = [*body.accept, *body.replace, *body.discard]
    if len(set(decided)) < len(decided):
        raise UsageError("A fact can be accepted, replace others, or be discarded, but only one of these.")
    named = dict.fromkeys([*(edit.id for edit in body.edit), *decided])
    facts = {fact.id: fact for fact in await _known(review.brain, list(named))}
    for edit in body.edit:
        fields = edit.model_dump(exclude={"id"}, exclude_none=True)
        after = await review.edit(facts[edit.id], **fields)
        if after is not None:
            facts[edit.id] = after
    if body.discard:
        await review.discard([facts[discarded] for discarded in body.discard])
    for discarded in body.accept:
        await review.accept(facts[discarded])
    for discarded in body.replace:
        await review.replace(facts[discarded])


async def _known(brain: Brain, ids: list[str]) -> list[Known]:
    known = await brain.facts((), ids=ids) if ids else []
    missing = [name for name in ids if name not in {fact.id for fact in known}]
    if missing:
        raise RefusedError(404, f"There is no fact {missing[0]} in this project.")
    return known


async def _embed(brain: Brain) -> None:
    """Embed new facts. Search by meaning is optional, so an error of the embedding model is ignored."""
    try:
        await brain.embed()
    except EmbeddingError:
        return


async def _stored(state: ServerState, by: Caller, project: str) -> str:
    """Return the stored name of a project. Raises `RefusedError` (404) if it has no facts."""
    name = project_of(by, project)
    if name not in {share.project for share in await state.store.list_projects()}:
        raise RefusedError(404, f"There is no project {project!r}.")
    return name


@asynccontextmanager
async def opened(state: ServerState, by: Caller, project: str) -> AsyncGenerator[Brain]:
    """Open a project's facts for the duration of a block."""
    brain = await Brain.open(state.store, await _stored(state, by, project), settings=state.settings)
    try:
        yield brain
    finally:
        await brain.close()


def shown_fact(by: Caller, fact: Known) -> Known:
    """Return the fact with its project's name as the caller knows it."""
    return msgspec.structs.replace(fact, project=shown_project(by, fact.project) or fact.project)


def _fact(by: Caller, fact: Known) -> Fact:
    fields = shown_fact(by, fact)
    return Fact.model_validate({name: getattr(fields, name) for name in Fact.model_fields})


LINES = "application/x-ndjson"
FILE: dict[int | str, dict[str, Any]] = {200: {"content": {LINES: {"schema": {"type": "string"}}}}}


@router.get(
    "/projects/{project:name}/export",
    operation_id="exportFacts",
    summary="Facts as lines of JSON",
    responses=FILE,
    response_class=Response,
)
async def export_facts(
    project: ProjectName,
    state: InState,
    by: By,
    status: Annotated[list[FactStatus] | None, Query(description="Not given: all.")] = None,
) -> Response:
    """JSON Lines that can be imported again."""
    async with opened(state, by, project) as brain:
        exported = await brain.facts(status or ())
    lines = b"".join(line + b"\n" for line in write_lines(shown_fact(by, fact) for fact in exported))
    headers = {"Content-Disposition": 'attachment; filename="facts.jsonl"'}
    return Response(lines, media_type=LINES, headers=headers)


@router.post(
    "/projects/{project:name}/import", operation_id="importFacts", summary="Read facts from lines of JSON"
)
async def take_in(project: ProjectName, body: ImportFacts, state: InState, by: By) -> FactsImported:
    """All of them or, after any mistake, none. They become facts of this project, whatever a line says."""
    lines = await asyncio.to_thread(read_lines, body.lines.encode("utf-8", "replace"), "lines")
    name = project_of(by, project)
    done = await import_facts(
        state.store, lines, settings=state.settings, project=name, accept=body.accept, by=by.title
    )
    return FactsImported(imported=sum(done.added.values()), known=done.known)


@router.post(
    "/projects/{project:name}/embed", operation_id="embedFacts", summary="Prepare facts for search by meaning"
)
async def embed_facts(project: ProjectName, state: InState, by: By) -> FactsEmbedded:
    """It needs one request to the embedding model for each 128 facts."""
    check_operator(by, "the embedding of facts")
    async with opened(state, by, project) as brain:
        done = await _embedded(brain)
        share = next(row for row in await state.store.list_projects() if row.project == brain.project)
    spent = share.embedding
    return FactsEmbedded(
        embedded=done,
        model=state.settings.brain.embedding,
        calls=spent.calls,
        cost_usd=round(spent.usd, 9),
        unpriced_calls=spent.unpriced_calls,
    )


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
    state: InState,
    by: By,
    run: Annotated[str, Query(max_length=64, description="Everything that was taken from this run.")] = "",
    all: Annotated[bool, Query(description="Everything that the project knows.")] = False,
) -> Forgotten:
    """With their history."""
    if bool(run) == all:
        raise UsageError("Say what to forget: either `run`, or `all`.")
    async with opened(state, by, project) as brain:
        if all:
            return Forgotten(forgotten=await brain.forget(None))
        meant = [fact.id for fact in await brain.facts((), run)]
        return Forgotten(forgotten=await brain.forget(meant) if meant else 0)


corpora = APIRouter(prefix="/api/corpora", tags=["corpora"])
WHAT = "folders of the server's machine"


@corpora.get("", operation_id="listCorpora", summary="Folders that have an index")
async def list_all(state: InState, by: By) -> CorpusList:
    check_operator(by, WHAT)
    return CorpusList(
        corpora=[Corpus(**corpus.to_dict()) for corpus in await offload(list_corpora, state.settings)]
    )


@corpora.post("", operation_id="addCorpus", summary="Index a folder, or bring its index up to date")
async def add_corpus(body: AddCorpus, state: InState, by: By) -> CorpusAdded:
    """Markdown, text, HTML and PDF; the documents stay where they are."""
    check_operator(by, WHAT)
    try:
        await offload(check_name, body.name, body.folder, state.settings)
        opened = await open_corpus(body.folder, state.settings, name=body.name)
        shelved = await offload(find_corpus, str(opened.folder), state.settings)
    except (ToolError, ValueError) as error:
        raise UsageError(str(error), hint="Name a folder with documents on the server's machine.") from error
    changes = opened.changes
    return CorpusAdded(
        **shelved.to_dict(),
        added=changes.added,
        changed=changes.changed,
        removed=changes.removed,
        troubles=changes.troubles,
    )


@corpora.get("/search", operation_id="searchCorpora", summary="Passages that say most about something")
async def search_corpora(
    state: InState,
    by: By,
    text: Annotated[str, Query(min_length=1, max_length=2000)],
    corpus: Annotated[str, Query(max_length=4000, description="Only this one.")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 8,
) -> PassageList:
    """One passage of each document, the most relevant first. The index is not updated."""
    check_operator(by, WHAT)
    known = await offload(list_corpora, state.settings)
    chosen = [await _find(state, corpus)] if corpus else known
    try:
        matches = await search_all(chosen, text, limit)
    except ToolError as error:
        raise UsageError(str(error), hint="Index the folder anew.") from error
    return PassageList(query=text, results=[Passage(**passage_data(*match)) for match in matches])


@corpora.delete("/{name:name}", operation_id="removeCorpus", summary="Forget an index; the documents stay")
async def remove(
    name: Annotated[str, Path(min_length=1, max_length=200)], state: InState, by: By
) -> CorpusRemoved:
    check_operator(by, WHAT)
    corpus = await _find(state, name)
    await offload(remove_corpus, corpus)
    return CorpusRemoved(removed=corpus.name, folder=str(corpus.folder))


async def _find(state: ServerState, name: str) -> Shelved:
    try:
        return await offload(find_corpus, name, state.settings)
    except (ToolError, ValueError) as error:
        raise RefusedError(404, str(error)) from error
