"""Routes for corpora, the folders of documents that research can read. They are on the server's machine, so
only its operator may use them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from podium.engine.process import offload
from podium.errors import UsageError
from podium.server.permissions import check_operator
from podium.server.problems import RefusedError
from podium.server.schemas.knowledge import (
    AddCorpus,
    Corpus,
    CorpusAdded,
    CorpusList,
    CorpusRemoved,
    Passage,
    PassageList,
)
from podium.server.state import By, InHall, ServerState
from podium.tools.corpus.corpus import (
    Shelved,
    check_name,
    find_corpus,
    list_corpora,
    open_corpus,
    remove_corpus,
    search_all,
    url_of,
)
from podium.tools.tool import ToolError

router = APIRouter(prefix="/api/corpora", tags=["corpora"])
WHAT = "folders of the server's machine"


@router.get("", operation_id="listCorpora", summary="Folders that have an index")
async def list_all(hall: InHall, by: By) -> CorpusList:
    check_operator(by, WHAT)
    return CorpusList(corpora=[Corpus(**_told(one)) for one in await offload(list_corpora, hall.settings)])


@router.post("", operation_id="addCorpus", summary="Index a folder, or bring its index up to date")
async def add_corpus(asked: AddCorpus, hall: InHall, by: By) -> CorpusAdded:
    """Markdown, text, HTML and PDF; the documents stay where they are."""
    check_operator(by, WHAT)
    try:
        await offload(check_name, asked.name, asked.folder, hall.settings)
        opened = await open_corpus(asked.folder, hall.settings, name=asked.name)
        shelved = await offload(find_corpus, str(opened.folder), hall.settings)
    except (ToolError, ValueError) as error:
        raise UsageError(str(error), hint="Name a folder with documents on the server's machine.") from error
    changes = opened.changes
    return CorpusAdded(
        **_told(shelved), added=changes.added, changed=changes.changed, removed=changes.removed,
        troubles=changes.troubles,
    )  # fmt: skip


@router.get("/search", operation_id="searchCorpora", summary="Passages that say most about something")
async def search_corpora(
    hall: InHall,
    by: By,
    text: Annotated[str, Query(min_length=1, max_length=2000)],
    corpus: Annotated[str, Query(max_length=4000, description="Only this one.")] = "",
    limit: Annotated[int, Query(ge=1, le=100)] = 8,
) -> PassageList:
    """One of each document, the most telling first. The index answers as it is."""
    check_operator(by, WHAT)
    known = await offload(list_corpora, hall.settings)
    chosen = [await _found(hall, corpus)] if corpus else known
    try:
        found = await search_all(chosen, text, limit)
    except ToolError as error:
        raise UsageError(str(error), hint="Index the folder anew.") from error
    results = [
        Passage(
            corpus=one.name, url=url_of(passage.path), path=passage.path, title=passage.title,
            published=passage.published, authors=list(passage.authors), media_type=passage.media_type,
            snippet=passage.snippet, start=passage.start, end=passage.end, score=round(passage.score, 4),
        )
        for one, passage in found
    ]  # fmt: skip
    return PassageList(query=text, results=results)


@router.delete("/{name:name}", operation_id="removeCorpus", summary="Forget an index; the documents stay")
async def remove(
    name: Annotated[str, Path(min_length=1, max_length=200)], hall: InHall, by: By
) -> CorpusRemoved:
    check_operator(by, WHAT)
    found = await _found(hall, name)
    await offload(remove_corpus, found)
    return CorpusRemoved(removed=found.name, folder=str(found.folder))


async def _found(hall: ServerState, name: str) -> Shelved:
    try:
        return await offload(find_corpus, name, hall.settings)
    except (ToolError, ValueError) as error:
        raise RefusedError(404, str(error)) from error


def _told(one: Shelved) -> dict[str, Any]:
    return {
        "name": one.name, "folder": str(one.folder), "documents": one.documents, "unreadable": one.troubles,
        "characters": one.characters, "indexed_at": one.indexed_at,
    }  # fmt: skip
