"""A folder of documents as a library: search it, read from it. All of its work is done beside the loop."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote, unquote

import msgspec

from podium.settings import Settings
from podium.settings.places import named
from podium.settings.private import make_private_folder
from podium.tools.aside import aside
from podium.tools.corpus import index
from podium.tools.corpus.indexing import Changes, Progress, update
from podium.tools.corpus.searching import Passage, search
from podium.tools.corpus.shelf import Shelved, index_of
from podium.tools.documents.document import Document
from podium.tools.tool import ToolError

T = TypeVar("T")
SCHEME = "corpus:"
_PLAIN = "/-._~!,;+=@&'"


class Kept(msgspec.Struct, frozen=True):
    """A document as the index keeps it."""

    path: str
    media_type: str
    document: Document


class Corpus:
    """An index that exists. `open_corpus` makes one."""

    def __init__(self, folder: Path, file: Path, changes: Changes) -> None:
        self.folder = folder
        """Where the documents lie, absolute."""
        self.changes = changes
        """What was found when it was opened."""
        self._file = file

    @property
    def documents(self) -> int:
        return self.changes.documents

    @property
    def troubles(self) -> list[str]:
        """Files that could not be read, and links that were not followed, one sentence each."""
        return self.changes.troubles

    async def search(self, query: str, limit: int = 8) -> list[Passage]:
        """Documents that say most about it, each with its most telling passage; any text is a query."""
        return await aside(_search, self._file, query, limit, True)

    async def read(self, path: str) -> Kept:
        """A document by its path below the folder, or a `ToolError`."""
        return await aside(_read, self._file, path)


async def open_corpus(
    folder: Path | str,
    settings: Settings,
    *,
    name: str = "",
    at: str = "",
    progress: Progress | None = None,
    semantic: bool | None = None,
) -> Corpus:
    """The corpus of a folder, its index made or brought up to date; a `ToolError` if it is no folder.

    `at` is the time to note, as ISO. `semantic` says whether documents get vectors, so that they are found by
    meaning too; None leaves that as it is. A cancel stops the indexing; what it has done so far stays.
    """
    stop, loop = threading.Event(), asyncio.get_running_loop()

    def tell(read: int, all_: int) -> None:
        """Hand progress to the loop: a thread that prints while the process ends would abort it."""
        if progress is not None and not stop.is_set() and not loop.is_closed():
            loop.call_soon_threadsafe(progress, read, all_)

    try:
        return await aside(_open, Path(folder), settings, name, at, stop, tell, semantic)
    except asyncio.CancelledError:
        stop.set()
        raise


async def search_all(corpora: list[Shelved], query: str, limit: int) -> list[tuple[Shelved, Passage]]:
    """Search several corpora, the best of all first. Meaning counts where all of them have vectors: scores
    with and without them cannot be compared."""
    semantic = all(one.semantic for one in corpora)
    found: list[tuple[Shelved, Passage]] = []
    for one in corpora:
        passages = await aside(_search, one.file, query, limit, semantic)
        found += [(one, passage) for passage in passages]
    return sorted(found, key=lambda pair: -pair[1].score)[:limit]


def url_of(path: str) -> str:
    """`corpus:notes/a.md`; what would break a link is escaped."""
    shown = "".join(char if char.isalnum() or char in _PLAIN else quote(char, safe="") for char in path)
    return SCHEME + shown


def path_of(url: str) -> str:
    """The path in such a URL."""
    return unquote(url.removeprefix(SCHEME))


def _open(
    folder: Path,
    settings: Settings,
    name: str,
    at: str,
    stop: threading.Event,
    progress: Progress,
    semantic: bool | None,
) -> Corpus:
    root = named(folder).resolve()
    file = index_of(root, settings)
    try:
        make_private_folder(file.parent)
    except OSError as error:
        raise ToolError(f"{file.parent} cannot be made: {error.strerror}.") from error
    return Corpus(root, file, update(file, root, name, at, stop, progress, semantic=semantic))


def _search(file: Path, query: str, limit: int, semantic: bool) -> list[Passage]:
    with index.connected(file) as db:
        return search(db, query, limit, semantic=semantic)


def _read(file: Path, path: str) -> Kept:
    with index.connected(file) as db:
        row = db.execute(
            "SELECT path, media_type, text, title, published, authors, cut FROM document "
            "WHERE path = ? AND trouble = ''",
            (path,),
        ).fetchone()
    if row is None:
        raise ToolError(f"The corpus has no document {path!r}.")
    authors = tuple(msgspec.json.decode(row[5], type=list[str]))
    return Kept(row[0], row[1], Document(row[2], row[3], row[4], authors, bool(row[6])))
