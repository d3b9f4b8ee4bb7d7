"""Opening the file: connections with the right settings, and numbered migrations."""

from __future__ import annotations

import shlex
import sqlite3
import time
from pathlib import Path

from podium.errors import StoreError, UsageError
from podium.settings.places import default_store, named, store_path
from podium.settings.private import make_private_file, make_private_folder
from podium.stores.sqlite.failures import PATIENCE_S, explain, is_busy

SCHEMA = Path(__file__).parent.parent / "schema"
APPLICATION_ID = 0x506F6469
"""`Podi`: how a store is told from any other SQLite file."""

OLDEST_SQLITE = (3, 33, 0)
"""The first with `UPDATE … FROM`."""

_CHECKPOINT_PAGES = 100
"""A write-ahead log that is checkpointed early is soon written over instead of growing, and the fsync of
a file that does not grow takes half as long: chains of steps gain a fifth, large batches lose nothing."""


def resolved(name: str | Path) -> Path:
    """The path of a store: one store has one, so that all find the same locks."""
    return named(store_path(name)).resolve()


def prepare(name: str | Path) -> Path:
    """Return the absolute path of a store, which exists afterwards. Only the folder of the default store is
    created; a store that someone names must be in an existing folder."""
    path = resolved(name)
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        raise UsageError(f"Podium needs SQLite 3.33 or newer; this Python has {sqlite3.sqlite_version}.")
    try:
        if path.is_dir():
            raise UsageError(f"The store {path} is a folder.", hint="Name a file in it, such as podium.db.")
        if path == Path(default_store().removeprefix("sqlite:///")).resolve():
            make_private_folder(path.parent)
        elif not path.parent.is_dir():
            raise UsageError(
                f"There is no folder {path.parent} for the store {path.name}.",
                hint=f"Make it with `mkdir -p {shlex.quote(str(path.parent))}`, or name another store.",
            )
        make_private_file(path)
    except OSError as error:
        raise StoreError(
            f"The folder {path.parent} of the store cannot be used: {error.strerror}.",
            hint="Name a file in a folder that you can write to.",
        ) from error
    return path


def connect(path: Path, *, patience: float = PATIENCE_S) -> sqlite3.Connection:
    """A connection on which every commit is on the disk when it returns.

    `isolation_level=None`: transactions begin and end where this package says so. Connections may move
    between threads because each is used by one thread at a time.
    """
    db = sqlite3.connect(
        path, timeout=patience, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    try:
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA temp_store = MEMORY")
        db.execute("PRAGMA cache_size = -16000")
    except BaseException:
        db.close()
        raise
    return db


def connect_near(path: Path) -> tuple[sqlite3.Connection, sqlite3.Connection]:
    """Two connections for the event loop's thread: for commits on the spot, which neither wait for a lock
    nor checkpoint, and for reading, which waits only while another process opens or closes the file."""
    near = connect(path, patience=0)
    try:
        near.execute("PRAGMA wal_autocheckpoint = 0")
        reading = connect(path, patience=5)
        reading.execute("PRAGMA query_only = ON")
    except BaseException:
        near.close()
        raise
    return near, reading


def open_database(path: Path, schema: Path = SCHEMA) -> sqlite3.Connection:
    """The first connection to a store: makes or migrates it where that is needed."""
    db: sqlite3.Connection | None = None
    try:
        db = connect(path)
        _check(db, path)
        _use_wal(db, path)
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        migrate(db, path, schema)
    except BaseException as error:
        if db is not None:
            db.close()
        if isinstance(error, sqlite3.Error):
            raise explain(error, path) from error
        raise
    return db


def migrate(db: sqlite3.Connection, path: Path, schema: Path = SCHEMA) -> None:
    """Bring the tables to this version. Two processes may do so at once: the second finds it done."""
    scripts = sorted(schema.glob("sqlite_*.sql"))
    version = _pragma(db, "user_version")
    if version > len(scripts):
        raise StoreError(
            f"The store {path} was written by a newer Podium (schema {version}; known: {len(scripts)}).",
            hint="Upgrade Podium, or name another store.",
        )
    if version == len(scripts):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        for script in scripts[_pragma(db, "user_version") :]:
            for statement in _statements(script.read_text(encoding="utf-8")):
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(scripts)}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def empty_log(db: sqlite3.Connection) -> None:
    """Move the write-ahead log into the database and truncate it, without waiting for other users of it."""
    (patience_ms,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute("PRAGMA busy_timeout = 0")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.execute(f"PRAGMA busy_timeout = {patience_ms}")


def schema_version(path: Path) -> int:
    """The schema of a store; 0 where there is none."""
    if not named(path).exists():
        return 0
    try:
        db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        try:
            return _pragma(db, "user_version")
        finally:
            db.close()
    except sqlite3.Error as error:
        raise explain(error, path) from error


def _check(db: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is somebody else's before anything in it is changed."""
    if _pragma(db, "application_id") == APPLICATION_ID:
        return
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and _pragma(db, "application_id") != APPLICATION_ID:  # another process may just have made it
        raise StoreError(
            f"The file {path} is a database, but not a Podium store.", hint="Name another file as the store."
        )


def _use_wal(db: sqlite3.Connection, path: Path) -> None:
    """SQLite does not wait when two processes switch a fresh file at once, so we do."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
            continue
        if mode != "wal":
            raise StoreError(
                f"The folder of the store {path} does not allow write-ahead logging.",
                hint="Put the store on a local disk.",
            )
        return


def _pragma(db: sqlite3.Connection, name: str) -> int:
    (value,) = db.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def _statements(script: str) -> list[str]:
    """The statements of a script, one by one: `executescript` would commit in between."""
    found: list[str] = []
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            found.append(text)
            text = ""
    return found
