"""Bringing an index up to date with its folder: only what changed is read again."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import msgspec

from podium.tools.corpus import index
from podium.tools.corpus.index import Known, Read
from podium.tools.documents.child import INSTALL
from podium.tools.documents.document import Document
from podium.tools.documents.reader import Reader, media_type_of
from podium.tools.folder import Entry, Folder
from podium.tools.tool import ToolError

MAX_ENTRIES = 200_000
"""Files and folders that are looked at; what lies behind is told as left out."""
BATCH = 256
READERS = 2
"""Processes that read HTML and PDF side by side."""


class Changes(msgspec.Struct, frozen=True):
    """What an update found."""

    documents: int
    """In the index now."""
    added: int = 0
    changed: int = 0
    removed: int = 0
    troubles: list[str] = []
    """What could not be read, one sentence each."""


Progress = Callable[[int, int], None]
"""Told how many of how many files were read, in the thread that reads."""


def update(
    file: Path, folder: Path, name: str, at: str, stop: threading.Event, progress: Progress | None = None
) -> Changes:
    """Blocking. A second process that does the same waits, and then finds nothing left to do."""
    if not folder.is_dir():
        raise ToolError(f"{folder} is not a folder.")
    with index.locked(file):
        index.prepare(file)
        with index.connected(file) as db:
            known = index.known_files(db)
            troubles, entries = _listed(Folder(folder))
            gone = sorted(known.keys() - {entry.path for entry in entries})
            index.remove(db, gone)
            fresh = [entry for entry in entries if _is_new(entry, known.get(entry.path))]
            reading = _Reading(Folder(folder), known, stop, progress)
            added, changed = reading.all_of(fresh, db)
            index.describe(db, folder, name, at or datetime.now(UTC).isoformat(timespec="seconds"))
            troubles += _told(db)
            count: int = db.execute("SELECT count(*) FROM document WHERE trouble = ''").fetchone()[0]
    return Changes(count, added, changed, len(gone), troubles)


def _listed(folder: Folder) -> tuple[list[str], list[Entry]]:
    """The documents below a folder, and what is said about the rest."""
    troubles, entries, seen = list[str](), list[Entry](), 0
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


def _is_new(entry: Entry, known: Known | None) -> bool:
    """Also when what its reading needed was missing, which may have changed."""
    same = known is not None and (known.size, known.mtime_ns) == (entry.size, entry.mtime_ns)
    return not same or (known is not None and INSTALL in known.trouble)


def _batches(entries: Iterable[Entry]) -> Iterator[list[Entry]]:
    rest = iter(entries)
    while batch := list(islice(rest, BATCH)):
        yield batch


class _Reading:
    """Reads files and writes them into the index, batch by batch: an update that is interrupted keeps what it
    has done."""

    def __init__(
        self, folder: Folder, known: dict[str, Known], stop: threading.Event, progress: Progress | None
    ) -> None:
        self._folder, self._known, self._stop, self._progress = folder, known, stop, progress

    def all_of(self, entries: list[Entry], db: sqlite3.Connection) -> tuple[int, int]:
        """How many documents are new, and how many have changed."""
        added = changed = done = 0
        with ExitStack() as stack:
            readers = [stack.enter_context(Reader()) for _ in range(READERS)]
            threads = stack.enter_context(ThreadPoolExecutor(READERS, thread_name_prefix="podium-corpus"))
            for batch in _batches(entries):
                shares = [batch[place::READERS] for place in range(READERS)]
                read = [item for share in threads.map(self._share, shares, readers) for item in share]
                if self._stop.is_set():
                    raise ToolError("The indexing was stopped.")
                good = self._write(read, db)
                before = sum(path in self._known and not self._known[path].trouble for path in good)
                added, changed, done = added + len(good) - before, changed + before, done + len(batch)
                if self._progress is not None:
                    self._progress(done, len(entries))
        return added, changed

    def _share(self, entries: list[Entry], reader: Reader) -> list[Read]:
        return [self._one(entry, reader) for entry in entries if not self._stop.is_set()]

    def _one(self, entry: Entry, reader: Reader) -> Read:
        kind, digest = media_type_of(entry.path), ""
        known = self._known.get(entry.path)
        try:
            data = self._folder.read(entry.path)
            digest = hashlib.sha256(data).hexdigest()
            if known is not None and known.sha256 == digest and INSTALL not in known.trouble:
                return Read(entry, digest, kind, Document(""), unchanged=True)
            document = reader.read(data, kind)
            if not document.text:
                raise ToolError("it is empty")
        except ToolError as error:
            return Read(entry, digest, kind, Document(""), _sentence(entry.path, str(error)))
        return Read(entry, digest, kind, document)

    def _write(self, read: list[Read], db: sqlite3.Connection) -> list[str]:
        """The paths of those that can be found from now on."""
        index.touch(db, (item.entry for item in read if item.unchanged))
        fresh = [item for item in read if not item.unchanged]
        index.write(db, fresh)
        return [item.entry.path for item in fresh if not item.trouble]


def _sentence(path: str, reason: str) -> str:
    """`notes/a.pdf: it is locked with a password.`; a reason that names the path says all itself."""
    return reason if reason.startswith(path) else f"{path}: {reason.rstrip('.')}."


def _told(db: sqlite3.Connection) -> list[str]:
    """Files that cannot be read stay known, so that each update tells of them without trying again."""
    rows = db.execute("SELECT trouble FROM document WHERE trouble != '' ORDER BY path")
    cut = db.execute("SELECT path FROM document WHERE cut AND trouble = '' ORDER BY path")
    return [trouble for (trouble,) in rows] + [f"{path}: only its beginning is kept." for (path,) in cut]
