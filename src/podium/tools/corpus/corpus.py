"""Document corpora and the location of their indexes."""

from __future__ import annotations

import asyncio
import hashlib
import os
import threading
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, unquote

import msgspec

from podium.engine.process import offload
from podium.settings import Settings, default_store, nearest
from podium.settings.places import at_home, make_private_folder, named
from podium.tools.corpus import index
from podium.tools.corpus.search import CorpusPassage, search
from podium.tools.corpus.update import Changes, Progress, update
from podium.tools.documents.document import Document
from podium.tools.tool import ToolError

LONGEST_NAME = 60


class Shelved(msgspec.Struct, frozen=True):
    """An indexed folder."""

    name: str
    folder: Path
    file: Path
    """Path of the index."""
    documents: int
    troubles: int
    """Number of files that could not be read."""
    characters: int
    indexed_at: str
    semantic: bool = False
    """The documents have embedding vectors."""

    def to_dict(self) -> dict[str, Any]:
        """Return the data for JSON output."""
        return {
            "name": self.name,
            "folder": str(self.folder),
            "documents": self.documents,
            "unreadable": self.troubles,
            "characters": self.characters,
            "indexed_at": self.indexed_at,
            "semantic": self.semantic,
        }


def shelf_of(settings: Settings) -> Path:
    """Return the folder of the indexes: next to a SQLite store, otherwise in the user's data folder."""
    url = settings.store if settings.store.startswith("sqlite:///") else default_store()
    database = Path(url.removeprefix("sqlite:///"))
    return database.with_name(f"{database.name}.corpora")


def index_of(folder: Path, settings: Settings) -> Path:
    """Return the path of a folder's index, which may not exist yet. All spellings of a folder share one
    index."""
    key = hashlib.sha256(str(_real(folder)).encode("utf-8", "surrogateescape")).hexdigest()
    return shelf_of(settings) / f"{key[:20]}.sqlite"


def _real(folder: str | Path) -> Path:
    """Resolve a path, existing or not; symlink loops raise no error."""
    return Path(os.path.realpath(at_home(folder)))


def list_corpora(settings: Settings) -> list[Shelved]:
    """Return all indexed corpora, sorted by name; blocking."""
    corpora = [corpus for file in shelf_of(settings).glob("*.sqlite") if (corpus := _look(file))]
    return sorted(corpora, key=lambda corpus: (corpus.name, str(corpus.folder)))


def find_corpus(reference: str, settings: Settings) -> Shelved:
    """Find a corpus by name or folder, or raise a `ToolError`; blocking."""
    known = list_corpora(settings)
    called = [corpus for corpus in known if corpus.name == reference]
    if len(called) == 1:
        return called[0]
    folder = _real(reference)
    for corpus in known:
        if corpus.folder == folder:
            return corpus
    if called:
        raise ToolError(f"Several corpora are called {reference!r}: name one by its folder.")
    meant = nearest(reference, [corpus.name for corpus in known])
    also = f" Did you mean {meant!r}?" if meant else ""
    raise ToolError(f"There is no corpus {reference!r}.{also}")


def check_name(name: str, folder: str, settings: Settings) -> None:
    """Raise a `ToolError` if the name is invalid or taken by another folder. Empty stands for the folder's
    own name. Blocking."""
    odd = len(name) > LONGEST_NAME or not name.isprintable() or "/" in name or name != name.strip()
    if odd or name in (".", ".."):
        raise ToolError("A name is one short line without /, and not only dots.")
    root = named(folder).resolve()
    for other in list_corpora(settings):
        if name and other.name == name and other.folder != root:
            raise ToolError(f"{name!r} is the name of {other.folder}.")


def remove_corpus(shelved: Shelved) -> None:
    """Delete the index; the documents stay. Blocking."""
    with index.locked(shelved.file):
        for suffix in ("", "-wal", "-shm"):
            Path(f"{shelved.file}{suffix}").unlink(missing_ok=True)


def _look(file: Path) -> Shelved | None:
    """Describe an index file. None: this version cannot use it, and the next `add` rebuilds it."""
    if not index.is_usable(file):
        return None
    with index.connected(file) as db:
        about = db.execute("SELECT folder, name, indexed_at, semantic FROM about").fetchone()
        good, bad, size = db.execute(
            "SELECT count(*) FILTER (WHERE trouble = ''), count(*) FILTER (WHERE trouble != ''), "
            "coalesce(sum(length(text)), 0) FROM document"
        ).fetchone()
    if about is None:  # the first indexing has not finished
        return None
    return Shelved(about[1], Path(about[0]), file, good, bad, size, about[2], bool(about[3]))


T = TypeVar("T")
SCHEME = "corpus:"
_PLAIN = "/-._~!,;+=@&'"


class StoredDocument(msgspec.Struct, frozen=True):
    """A document as stored in the index."""

    path: str
    media_type: str
    document: Document


class Corpus:
    """An existing index. Created by `open_corpus`."""

    def __init__(self, folder: Path, file: Path, changes: Changes) -> None:
        self.folder = folder
        """Absolute path of the documents."""
        self.changes = changes
        """Result of the update when the corpus was opened."""
        self._file = file

    @property
    def documents(self) -> int:
        return self.changes.documents

    @property
    def troubles(self) -> list[str]:
        """Files that could not be read and links that were not followed, one sentence each."""
        return self.changes.troubles

    async def search(self, query: str, limit: int = 8) -> list[CorpusPassage]:
        """Return the most relevant documents, each with its best passage. Any text is a valid query."""
        return await offload(_search, self._file, query, limit, True)

    async def read(self, path: str) -> StoredDocument:
        """Return a document by its path below the folder, or raise a `ToolError`."""
        return await offload(_read, self._file, path)


async def open_corpus(
    folder: Path | str,
    settings: Settings,
    *,
    name: str = "",
    at: str = "",
    progress: Progress | None = None,
    semantic: bool | None = None,
) -> Corpus:
    """Open the corpus of a folder, creating or updating its index; raise a `ToolError` if it is not a folder.

    `at` is the time to record, in ISO format. `semantic` says whether documents get vectors for search by
    meaning; None keeps the current setting. Cancelling stops the indexing; the work done so far is kept.
    """
    stop, loop = threading.Event(), asyncio.get_running_loop()

    def report(read: int, all_: int) -> None:
        """Pass progress to the event loop: a thread that prints while the interpreter exits would abort
        it."""
        if progress is not None and not stop.is_set() and not loop.is_closed():
            loop.call_soon_threadsafe(progress, read, all_)

    try:
        return await offload(_open, Path(folder), settings, name, at, stop, report, semantic)
    except asyncio.CancelledError:
        stop.set()
        raise


async def search_all(corpora: list[Shelved], query: str, limit: int) -> list[tuple[Shelved, CorpusPassage]]:
    """Search several corpora, best passages first. Vectors are used only if all corpora have them: scores
    with and without vectors are not comparable."""
    semantic = all(corpus.semantic for corpus in corpora)
    results: list[tuple[Shelved, CorpusPassage]] = []
    for corpus in corpora:
        passages = await offload(_search, corpus.file, query, limit, semantic)
        results += [(corpus, passage) for passage in passages]
    return sorted(results, key=lambda pair: -pair[1].score)[:limit]


def passage_data(corpus: Shelved, passage: CorpusPassage) -> dict[str, Any]:
    """Return the data of a found passage for JSON output."""
    return {
        "corpus": corpus.name,
        "url": url_of(passage.path),
        "path": passage.path,
        "title": passage.title,
        "published": passage.published,
        "authors": list(passage.authors),
        "media_type": passage.media_type,
        "snippet": passage.snippet,
        "start": passage.start,
        "end": passage.end,
        "score": round(passage.score, 4),
    }


def url_of(path: str) -> str:
    """Return the URL of a document, as in `corpus:notes/a.md`; characters that would break a link are
    escaped."""
    shown = "".join(char if char.isalnum() or char in _PLAIN else quote(char, safe="") for char in path)
    return SCHEME + shown


def path_of(url: str) -> str:
    """Return the path in a corpus URL."""
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


def _search(file: Path, query: str, limit: int, semantic: bool) -> list[CorpusPassage]:
    with index.connected(file) as db:
        return search(db, query, limit, semantic=semantic)


def _read(file: Path, path: str) -> StoredDocument:
    with index.connected(file) as db:
        row = db.execute(
            "SELECT path, media_type, text, title, published, authors, cut FROM document "
            "WHERE path = ? AND trouble = ''",
            (path,),
        ).fetchone()
    if row is None:
        raise ToolError(f"The corpus has no document {path!r}.")
    authors = tuple(msgspec.json.decode(row[5], type=list[str]))
    return StoredDocument(row[0], row[1], Document(row[2], row[3], row[4], authors, bool(row[6])))
