"""Detection of a database file that was removed or replaced while it is open.

SQLite goes on writing to a file that has no name any more, and reports success: what it commits is lost.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

from podium.errors import StoreError, StoreGoneError

INTERVAL_S = 0.1
"""Commits look at the files this often at most, because a look takes a few to some ten µs. The end of a run,
and everything else that is not just rows, is always looked at."""


class FileIdentity:
    """The database and its write-ahead log as they were when the store was opened."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = {file: _inode(file) for file in (path, path.with_name(f"{path.name}-wal"))}
        self._next = 0.0

    def check(self) -> None:
        """Raise `StoreGoneError` if a file is not the one that was opened."""
        for file, inode in self._known.items():
            if inode is not None and (found := _inode(file)) != inode:
                what = "removed" if found is None else "replaced by another file"
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
        """Return whether the file has to be looked at again; at most every `INTERVAL_S`."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + INTERVAL_S
        return True


def _inode(file: Path) -> tuple[int, int] | None:
    """Return device and inode; `None` if there is no such file."""
    try:
        found = os.stat(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino
