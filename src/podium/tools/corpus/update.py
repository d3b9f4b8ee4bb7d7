"""Incremental update of an index from its folder: only changed files are read again."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from queue import LifoQueue

import msgspec

from podium.tools.corpus import index
from podium.tools.corpus.index import Known, Read
from podium.tools.documents import word_vectors as meaning
from podium.tools.documents.child import INSTALL
from podium.tools.documents.document import Document
from podium.tools.documents.reader import SECONDS, DocumentReader, media_type_of
from podium.tools.folder import Folder, FolderEntry
from podium.tools.tool import ToolError

MAX_ENTRIES = 200_000
"""Maximum files and folders that are listed; a trouble reports that the rest is skipped."""
BATCH = 256
MOST_READERS = 8
"""Maximum parallel processes that read HTML and PDF; also limited by the number of cores."""


class Changes(msgspec.Struct, frozen=True):
    """The result of an update."""

    documents: int
    """Documents in the index after the update."""
    added: int = 0
    changed: int = 0
    removed: int = 0
    troubles: list[str] = []
    """Files that could not be read, one sentence each."""


Progress = Callable[[int, int], None]
"""Called with the number of files read and the total."""


def update(
    file: Path,
    folder: Path,
    name: str,
    at: str,
    stop: threading.Event,
    progress: Progress | None = None,
    *,
    semantic: bool | None = None,
    seconds: float = SECONDS,
) -> Changes:
    """Update the index; blocking. A second process waits for the lock and then finds nothing to do.

    `semantic`: whether documents get vectors; None keeps the current setting. `seconds`: time limit per
    document.
    """
    if not folder.is_dir():
        raise ToolError(f"{folder} is not a folder.")
    with index.locked(file):
        index.prepare(file)
        with index.connected(file) as db:
            known = index.known_files(db)
            troubles, entries = _listed(Folder(folder))
            gone = sorted(known.keys() - {entry.path for entry in entries})
            index.remove(db, gone)
            wanted = index.is_semantic(db) if semantic is None else semantic
            model = meaning.MODEL if wanted else ""
            fresh = [entry for entry in entries if _is_new(entry, known.get(entry.path), model)]
            if model and (fresh or semantic) and not _can_embed(troubles, strict=semantic is True):
                model = ""
                fresh = [entry for entry in fresh if _is_new(entry, known.get(entry.path), model)]
            reading = _Reading(Folder(folder), known, stop, progress, model, seconds)
            added, changed = reading.all_of(fresh, db)
            if semantic is False:
                index.drop_vectors(db)
            moment = at or datetime.now(UTC).isoformat(timespec="seconds")
            index.describe(db, folder, name, moment, semantic=wanted)
            troubles += _troubles(db)
            count: int = db.execute("SELECT count(*) FROM document WHERE trouble = ''").fetchone()[0]
    return Changes(count, added, changed, len(gone), troubles)


def _listed(folder: Folder) -> tuple[list[str], list[FolderEntry]]:
    """Return troubles and the documents below a folder."""
    troubles, entries, seen = list[str](), list[FolderEntry](), 0
    for entry in folder.walk(most=MAX_ENTRIES, tell_links=True):
        seen += 1
        if not media_type_of(entry.path) or entry.is_folder:
            continue
        shown = entry.path.encode("utf-8", "replace").decode()
        if shown != entry.path:
            troubles.append(f"{shown}: its name is not UTF-8.")
        elif entry.is_link:
            troubles.append(f"{entry.path}: links are not followed.")
        else:
            entries.append(entry)
    if seen >= MAX_ENTRIES:
        troubles.append(f"Only the first {MAX_ENTRIES:,} files and folders were looked at.")
    return troubles, entries


def _can_embed(troubles: list[str], *, strict: bool) -> bool:
    """Return True if vectors can be computed. Otherwise record a trouble, or raise if `strict`."""
    try:
        meaning.check()
    except ToolError as error:
        if strict:
            raise
        troubles.append(f"New documents are found by their words only. {error}")
        return False
    return True


def _is_new(entry: FolderEntry, known: Known | None, model: str) -> bool:
    """Return True if the file is new or changed, lacks vectors, or failed earlier because of a missing
    extra."""
    if known is None or (known.size, known.mtime_ns) != (entry.size, entry.mtime_ns):
        return True
    return _is_incomplete(known, model)


def _is_incomplete(known: Known, model: str) -> bool:
    return INSTALL in known.trouble or (bool(model) and not known.trouble and known.model != model)


def _batches(entries: Iterable[FolderEntry]) -> Iterator[list[FolderEntry]]:
    rest = iter(entries)
    while batch := list(islice(rest, BATCH)):
        yield batch


class _Reading:
    """Reads files and writes them to the index batch by batch, so that an interrupted update keeps its
    progress."""

    def __init__(
        self,
        folder: Folder,
        known: dict[str, Known],
        stop: threading.Event,
        progress: Progress | None,
        model: str,
        seconds: float,
    ) -> None:
        self._folder, self._known, self._stop, self._progress = folder, known, stop, progress
        self._model, self._seconds = model, seconds

    def all_of(self, entries: list[FolderEntry], db: sqlite3.Connection) -> tuple[int, int]:
        """Return the number of new and of changed documents.

        The next batch is read while one is written, so that a slow document does not block others.
        """
        added = changed = done = 0
        with closing(self._ahead(entries)) as batches:
            for reading in batches:
                read = [future.result() for future in reading]
                if self._stop.is_set():
                    raise ToolError("The indexing was stopped.")
                new, other = self._write(read, db)
                added, changed, done = added + new, changed + other, done + len(read)
                if self._progress is not None:
                    self._progress(done, len(entries))
        return added, changed

    def _ahead(self, entries: list[FolderEntry]) -> Generator[list[Future[Read]]]:
        """Yield the futures of each batch, after reading of the next batch has started."""
        count = max(2, min(os.cpu_count() or 2, MOST_READERS))
        with ExitStack() as stack:
            idle = LifoQueue[DocumentReader]()
            for _ in range(count):
                idle.put(stack.enter_context(DocumentReader(self._seconds)))
            threads = ThreadPoolExecutor(count, thread_name_prefix="podium-corpus")
            stack.callback(threads.shutdown, cancel_futures=True)
            before: list[Future[Read]] = []
            for batch in _batches(entries):
                started = [threads.submit(self._with, idle, entry) for entry in batch]
                if before:
                    yield before
                before = started
            if before:
                yield before

    def _with(self, idle: LifoQueue[DocumentReader], entry: FolderEntry) -> Read:
        reader = idle.get()
        try:
            return self._one(entry, reader)
        finally:
            idle.put(reader)

    def _one(self, entry: FolderEntry, reader: DocumentReader) -> Read:
        kind, digest = media_type_of(entry.path), ""
        if self._stop.is_set():
            return Read(entry, digest, kind, Document(""), unchanged=True)
        known = self._known.get(entry.path)
        try:
            data = self._folder.read(entry.path)
            digest = hashlib.sha256(data).hexdigest()
            if known is not None and known.sha256 == digest and not _is_incomplete(known, self._model):
                return Read(entry, digest, kind, Document(""), unchanged=True)
            document, vectors = (
                reader.read_and_embed(data, kind) if self._model else (reader.read(data, kind), None)
            )
            if not document.text:
                raise ToolError("it is empty")
        except ToolError as error:
            return Read(entry, digest, kind, Document(""), _sentence(entry.path, str(error)))
        return Read(entry, digest, kind, document, meaning=vectors)

    def _write(self, read: list[Read], db: sqlite3.Connection) -> tuple[int, int]:
        """Write a batch; return the number of new and of changed documents among those without trouble."""
        index.touch(db, (item.entry for item in read if item.unchanged))
        fresh = [item for item in read if not item.unchanged]
        index.write(db, fresh)
        added = changed = 0
        for item in fresh:
            before = self._known.get(item.entry.path)
            if item.trouble:
                continue
            if before is None or before.trouble:
                added += 1
            elif before.sha256 != item.sha256:
                changed += 1
        return added, changed


def _sentence(path: str, reason: str) -> str:
    """Return a trouble such as `notes/a.pdf: it is locked with a password.`; a reason that starts with the
    path stays as is."""
    return reason if reason.startswith(path) else f"{path}: {reason.rstrip('.')}."


def _troubles(db: sqlite3.Connection) -> list[str]:
    """Return troubles of earlier and current reads. Unreadable files stay in the index, so that each update
    reports them without a retry."""
    rows = db.execute("SELECT trouble FROM document WHERE trouble != '' ORDER BY path")
    cut = db.execute("SELECT path FROM document WHERE cut AND trouble = '' ORDER BY path")
    return [trouble for (trouble,) in rows] + [f"{path}: only its beginning is kept." for (path,) in cut]
