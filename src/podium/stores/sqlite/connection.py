"""Connections, migrations, error messages, and detection of a removed file.

SQLite keeps writing to a file that was deleted, and reports success: what it commits is lost.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3
import time
from pathlib import Path

from podium.errors import StoreError, StoreFullError, StoreGoneError, UsageError
from podium.settings.places import default_store, make_private_file, make_private_folder, named, store_path

LOCK_TIMEOUT_S = 60.0
"""Default seconds that a write waits for other processes that are writing."""

_NEARLY_NOTHING = 256 * 1024
"""With less free space than this, in bytes, an I/O error counts as a full disk: SQLite reports some of them
so."""


def is_busy(error: BaseException) -> bool:
    """Return whether another connection holds the required lock."""
    return (
        isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
    )


def explain(error: BaseException, path: Path) -> StoreError:
    """Return the error for the caller: one sentence, and a hint."""
    if isinstance(error, StoreError):
        return error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and _is_full(path)):
        explained = StoreFullError(
            f"There is no space left for the store {path}.",
            hint="Make room on that disk, then resume the run.",
        )
    elif code == sqlite3.SQLITE_BUSY:
        explained = StoreError(
            f"Other processes kept the store {path} locked for too long.",
            hint="Find the processes that have it open with `fuser`, or wait longer: set `lock_timeout`.",
        )
    elif code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        explained = StoreError(
            f"The file {path} is damaged or not a Podium store.", hint="Restore it, or name another file."
        )
    elif code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        explained = StoreError(
            f"The store {path} cannot be written: {error}.",
            hint="Check the permissions of the file and its folder.",
        )
    else:
        explained = StoreError(
            f"The store {path} failed: {str(error).rstrip('.')}.",
            hint="It may be damaged, or changed by another program: restore it, or name another store.",
        )
    explained.__cause__ = error
    return explained


def _is_full(path: Path) -> bool:
    try:
        return shutil.disk_usage(path.parent).free < _NEARLY_NOTHING
    except OSError:
        return False  # the folder is gone: not a lack of space


SCHEMA = Path(__file__).parent.parent / "schema"
APPLICATION_ID = 0x506F6469
"""`Podi`: distinguishes a store from any other SQLite file."""

OLDEST_SQLITE = (3, 33, 0)
"""The first version with `UPDATE … FROM`."""

_CHECKPOINT_PAGES = 100
"""A write-ahead log that is checkpointed early is soon overwritten instead of growing, and the fsync of a
file that does not grow takes half as long: chains of steps gain a fifth, large batches lose nothing."""


def resolved(name: str | Path) -> Path:
    """Return the canonical path of a store, so that all processes find the same locks."""
    return named(store_path(name)).resolve()


def prepare(name: str | Path) -> Path:
    """Create the file of a store if needed and return its absolute path. Only the folder of the default store
    is created; any other store must be in an existing folder."""
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


def connect(path: Path, *, patience: float = LOCK_TIMEOUT_S) -> sqlite3.Connection:
    """Open a connection on which every commit is on disk when it returns.

    `isolation_level=None`: this package begins and ends transactions explicitly. Connections may move between
    threads, because each is used by one thread at a time.
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
    """Open two connections for the event loop's thread: one for inline commits, which neither wait for a lock
    nor checkpoint, and one for reading, which waits only while another process opens or closes the file."""
    near = connect(path, patience=0)
    try:
        near.execute("PRAGMA wal_autocheckpoint = 0")
        reading = connect(path, patience=5)
        reading.execute("PRAGMA query_only = ON")
    except BaseException:
        near.close()
        raise
    return near, reading


def open_database(
    path: Path, schema: Path = SCHEMA, *, lock_timeout: float = LOCK_TIMEOUT_S
) -> sqlite3.Connection:
    """Open the first connection to a store; create or migrate it if needed."""
    db: sqlite3.Connection | None = None
    try:
        db = connect(path, patience=lock_timeout)
        _check(db, path)
        _use_wal(db, path, lock_timeout)
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
    """Migrate the tables to this version. Safe if two processes do so at once."""
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
    """Checkpoint and truncate the write-ahead log, without waiting for other users of it."""
    (patience_ms,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute("PRAGMA busy_timeout = 0")
    try:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        db.execute(f"PRAGMA busy_timeout = {patience_ms}")


def schema_version(path: Path) -> int:
    """Return the schema version of a store; 0 if there is none."""
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
    """Reject a database of another application before anything in it is changed."""
    if _pragma(db, "application_id") == APPLICATION_ID:
        return
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and _pragma(db, "application_id") != APPLICATION_ID:  # another process may just have created it
        raise StoreError(
            f"The file {path} is a database, but not a Podium store.", hint="Name another file as the store."
        )


def _use_wal(db: sqlite3.Connection, path: Path, lock_timeout: float) -> None:
    """Switch to WAL mode. SQLite does not wait when two processes switch a new file at once, so retry
    here."""
    deadline = time.monotonic() + lock_timeout
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
    """Return the statements of a script, one by one: `executescript` would commit in between."""
    statements: list[str] = []
    text = ""
    for line in script.splitlines(keepends=True):
        text += line
        if sqlite3.complete_statement(text):
            statements.append(text)
            text = ""
    return statements


INTERVAL_S = 0.1
"""Minimum seconds between two checks of the files by row commits, because a check takes a few to some ten µs.
The end of a run, and everything else that is not just rows, is always checked."""


class FileIdentity:
    """The identity (inodes) of the database and its write-ahead log when the store was opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = {file: _inode(file) for file in (path, path.with_name(f"{path.name}-wal"))}
        self._next = 0.0

    def check(self) -> None:
        """Raise `StoreGoneError` if a file is not the one that was opened."""
        for file, inode in self._known.items():
            if inode is not None and (current := _inode(file)) != inode:
                what = "removed" if current is None else "replaced by another file"
                raise StoreGoneError(
                    f"{file} was {what} while the store {self._path} was in use.",
                    hint="What was written since then is lost. Put the file back, then resume the run.",
                )

    def problem(self) -> StoreError | None:
        """Return what `check` raises."""
        try:
            self.check()
        except StoreGoneError as error:
            return error
        return None

    def is_due(self) -> bool:
        """Return whether the files have to be checked again; true at most every `INTERVAL_S` seconds."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + INTERVAL_S
        return True


def _inode(file: Path) -> tuple[int, int] | None:
    """Return device and inode; `None` if there is no such file."""
    try:
        status = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino
