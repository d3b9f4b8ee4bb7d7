"""Lock files of the processes that drive runs.

A process that drives runs holds the `flock` on one file of its own, in a folder beside the database
(`podium.db.locks/`), and a run's row names the file of its driver. The kernel releases the lock when the
process dies, however it dies: no heartbeat, no timeout.

There is one file per process rather than one per run: creating and removing a file costs some 250 µs, which
was more than half of the time that 500 short runs spent in the store, and a process may not have that many
files open.
"""

from __future__ import annotations

import errno
import fcntl
import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from podium.engine.log import this_process
from podium.errors import StoreError, StoreFullError

_SOMEBODY = "another process"
_SUFFIX = ".locks"


def folder_beside(database: Path) -> Path:
    """Return the folder with the lock files of a database."""
    return database.with_name(f"{database.name}{_SUFFIX}")


class DriverLock:
    """This process as a driver of runs, for as long as it holds its lock file."""

    def __init__(self, folder: Path) -> None:
        """Create and lock a file, and remove the files of processes that died."""
        self.name = ""
        """The mark on the runs of this process."""
        self._fd = -1
        try:
            self._mode = _mode_beside(folder)
            _make(folder, self._mode)
            _clear(folder)
            while not self._try(folder):
                pass
        except OSError as error:
            self.leave()
            raise _explain(folder, error) from error

    def leave(self) -> None:
        """Remove the lock file and release the lock."""
        if self._fd >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1

    def _try(self, folder: Path) -> bool:
        """Create and lock a file. Returns `False` if another process cleared it away before it was locked."""
        self.name = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._path = _path_of(folder, self.name)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC  # a child must not keep the lock
        self._fd = os.open(self._path, flags, self._mode)
        os.fchmod(self._fd, self._mode)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        os.write(self._fd, f"{this_process()}\nsince {since}\n".encode())
        if self._path.exists():
            return True
        os.close(self._fd)
        self._fd = -1
        return False


def _mode_beside(folder: Path) -> int:
    """Return the mode of lock files: that of their database, so that all users of it can read them."""
    mode = folder.with_name(folder.name.removesuffix(_SUFFIX)).stat().st_mode & 0o666
    return mode | 0o600


def _make(folder: Path, mode: int) -> None:
    """Create the folder; users who may read the lock files may enter it."""
    with suppress(FileExistsError):
        folder.mkdir(0o700)
        folder.chmod(mode | (mode & 0o444) >> 2)


def holder(folder: Path, name: str) -> str:
    """Return the display name of a driver; empty if it is gone. Does not disturb the lock."""
    if not name:
        return ""
    try:
        fd = os.open(_path_of(folder, name), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _explain(folder, error) from error
    try:
        if _is_free(fd):
            return ""
        lines = os.pread(fd, 500, 0).decode("utf-8", "replace").splitlines()
        return lines[0] if lines else _SOMEBODY
    finally:
        os.close(fd)


def _clear(folder: Path) -> None:
    """Remove the files of drivers that are gone."""
    for path in folder.glob("*.lock"):
        if not holder(folder, path.stem):
            path.unlink(missing_ok=True)


def _is_free(fd: int) -> bool:
    """Return whether the lock is free. Tests with a shared lock, so that concurrent tests do not see each
    other."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _path_of(folder: Path, name: str) -> Path:
    return folder / f"{name}.lock"


def _explain(folder: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFullError(
            f"There is no space left in {folder}.", hint="Make room on that disk, then resume the run."
        )
    return StoreError(
        f"The lock files in {folder} cannot be used: {error.strerror}.",
        hint="Check the permissions of the folder that the store is in.",
    )
