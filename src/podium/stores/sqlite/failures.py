"""What SQLite says, in words for people."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from podium.errors import StoreError, StoreFullError

PATIENCE_S = 60.0
"""How long a write waits for other processes that are writing."""

_NEARLY_NOTHING = 256 * 1024
"""With less room than this an I/O error is taken for a full disk: SQLite reports some of them so."""


def is_busy(error: BaseException) -> bool:
    """Another connection holds the lock that was needed."""
    return (
        isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
    )


def explain(error: BaseException, path: Path) -> StoreError:
    """The error that a caller sees: one sentence, and what to do about it."""
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
            f"Other processes kept the store {path} locked for over {PATIENCE_S:.0f} s.",
            hint="Find out with `fuser` who has it open.",
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
        return False  # the folder is gone: not for want of space
