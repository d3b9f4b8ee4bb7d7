"""SQLite index of one folder: its documents, their full-text index and their vectors."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path

import msgspec

from podium.settings.places import make_private_file
from podium.stores.rows import spaced
from podium.tools.documents.document import Document
from podium.tools.documents.word_vectors import MODEL, Meaning
from podium.tools.folder import FolderEntry
from podium.tools.tool import ToolError

FORMAT = 3
"""Format version of the index. Increased when the tables or the stored document data change; older indexes
are rebuilt."""
_PATIENCE_S = 30.0


class Known(msgspec.Struct, frozen=True):
    """The state of a file when it was last indexed."""

    number: int
    size: int
    mtime_ns: int
    sha256: str
    trouble: str
    model: str = ""
    """Model of its vectors; empty if it has none."""


class Read(msgspec.Struct, frozen=True):
    """A file read by the current update."""

    entry: FolderEntry
    sha256: str
    media_type: str
    document: Document
    trouble: str = ""
    meaning: Meaning | None = None
    unchanged: bool = False
    """The content hash equals the indexed one; the file was not parsed again."""


@contextmanager
def connected(file: Path, *, create: bool = False) -> Generator[sqlite3.Connection]:
    """Open a connection for one task, in the thread that runs it."""
    address = f"{file.as_uri()}?mode={'rwc' if create else 'rw'}"
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE_S, isolation_level=None)) as db:
            yield db
    except sqlite3.DatabaseError as error:
        raise ToolError(f"The index {file} cannot be used: {error}.") from error


@contextmanager
def locked(file: Path) -> Generator[None]:
    """Hold the lock that lets one process at a time update an index. The kernel releases it if the process
    dies."""
    try:
        handle = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ToolError(f"{file.parent} cannot be written to: {error.strerror}.") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def prepare(file: Path) -> None:
    """Create the tables if they are missing, damaged or of another format version. Called with the lock
    held."""
    if file.exists() and not is_usable(file):
        for suffix in ("", "-wal", "-shm"):
            Path(f"{file}{suffix}").unlink(missing_ok=True)
    if file.exists():
        return
    make_private_file(file)
    with connected(file, create=True) as db:
        db.execute("PRAGMA journal_mode = WAL")
        script = (files("podium.tools.corpus") / "schema.sql").read_text(encoding="utf-8")
        db.executescript(f"BEGIN IMMEDIATE; {script}; PRAGMA user_version = {FORMAT}; COMMIT;")


def is_usable(file: Path) -> bool:
    """Return True if the file is a readable index of this format version."""
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True, timeout=_PATIENCE_S)) as db:
            version: int = db.execute("PRAGMA user_version").fetchone()[0]
            db.execute("SELECT count(*) FROM document, about").fetchone()
            return version == FORMAT
    except sqlite3.DatabaseError:
        return False


def known_files(db: sqlite3.Connection) -> dict[str, Known]:
    """Return the indexed files by path."""
    rows = db.execute(
        "SELECT path, number, size, mtime_ns, sha256, trouble, coalesce(model, '') "
        "FROM document LEFT JOIN meaning USING (number)"
    )
    return {path: Known(*rest) for path, *rest in rows}


def write(db: sqlite3.Connection, read: Sequence[Read]) -> None:
    """Insert documents, replacing earlier versions of the same files, in one transaction."""
    with _transaction(db):
        _drop(db, [item.entry.path for item in read])
        for item in read:
            _insert(db, item)


def remove(db: sqlite3.Connection, paths: Sequence[str]) -> None:
    """Delete documents in one transaction."""
    with _transaction(db):
        _drop(db, paths)


def touch(db: sqlite3.Connection, entries: Iterable[FolderEntry]) -> None:
    """Update size and mtime of files whose content is unchanged."""
    with _transaction(db):
        db.executemany(
            "UPDATE document SET size = ?, mtime_ns = ? WHERE path = ?",
            [(entry.size, entry.mtime_ns, entry.path) for entry in entries],
        )


def is_semantic(db: sqlite3.Connection) -> bool:
    """Return True if documents of this index get vectors."""
    row = db.execute("SELECT semantic FROM about").fetchone()
    return bool(row and row[0])


def drop_vectors(db: sqlite3.Connection) -> None:
    with _transaction(db):
        db.execute("DELETE FROM meaning")


def describe(db: sqlite3.Connection, folder: Path, name: str, at: str, *, semantic: bool) -> None:
    """Record folder, name, time and `semantic`. An empty name keeps the current one; the first defaults to
    the folder's name."""
    with _transaction(db):
        before = db.execute("SELECT name FROM about").fetchone()
        known = name or (before[0] if before else folder.name or str(folder))
        db.execute("DELETE FROM about")
        db.execute("INSERT INTO about VALUES (?, ?, ?, ?)", (str(folder), known, at, semantic))


@contextmanager
def _transaction(db: sqlite3.Connection) -> Generator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _drop(db: sqlite3.Connection, paths: Sequence[str]) -> None:
    """Delete documents. The full-text index stores no text itself, so a deletion must pass the indexed
    text."""
    chosen = [(path,) for path in paths]
    db.executemany(
        "INSERT INTO words (words, rowid, title, body) "
        "SELECT 'delete', s.number, s.title, s.body FROM searchable AS s JOIN document USING (number) "
        "WHERE path = ? AND trouble = ''",
        chosen,
    )
    db.executemany("DELETE FROM meaning WHERE number = (SELECT number FROM document WHERE path = ?)", chosen)
    db.executemany("DELETE FROM document WHERE path = ?", chosen)


def _insert(db: sqlite3.Connection, read: Read) -> None:
    document, entry = read.document, read.entry
    apart = spaced(document.text)
    title = document.title or entry.path.rpartition("/")[2].rpartition(".")[0]
    row = {
        "path": entry.path,
        "size": entry.size,
        "mtime_ns": entry.mtime_ns,
        "sha256": read.sha256,
        "media_type": read.media_type,
        "title": title,
        "published": document.published,
        "authors": json.dumps(document.authors, ensure_ascii=False),
        "text": document.text,
        "spaced": apart if apart != document.text else None,
        "cut": document.cut,
        "trouble": read.trouble,
    }
    values = ", ".join(f":{name}" for name in row)
    number = db.execute(f"INSERT INTO document ({', '.join(row)}) VALUES ({values})", row).lastrowid
    if not read.trouble:
        db.execute("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)", (number, title, apart))
    if read.meaning is not None and read.meaning.places:
        places = msgspec.msgpack.encode(read.meaning.places)
        db.execute("INSERT INTO meaning VALUES (?, ?, ?, ?)", (number, MODEL, places, read.meaning.vectors))
