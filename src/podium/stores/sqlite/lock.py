"""Who drives a run: the process that holds the `flock` on its lock file.

The kernel lets go of the lock when the process dies, however it dies, so there is no heartbeat and no
time-out. The file's text says who it is. It lies in a folder beside the database: `podium.db.locks/`.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from podium.errors import RunLockedError, StoreError, StoreFullError

_SOMEBODY = "another process"
_PATIENCE_S = 1.0
"""How long a moment is: for onlookers who hold a file's lock while they look at it, and for the gate."""


class RunLock:
    """A lock that this process holds."""

    def __init__(self, folder: Path, path: Path, fd: int) -> None:
        self._folder = folder
        self._path = path
        self._fd = fd

    def free(self) -> None:
        """Let go of it. The file goes too, unless it is another's by now."""
        if self._fd < 0:
            return
        try:
            with _gate(self._folder) as passed:
                if passed and _is_at(self._fd, self._path):
                    self._path.unlink(missing_ok=True)
        finally:
            os.close(self._fd)
            self._fd = -1


def folder_beside(database: Path) -> Path:
    """Where the lock files of a database are."""
    return database.with_name(f"{database.name}.locks")


def take(folder: Path, run_id: str, *, take_over: bool = False) -> RunLock:
    """Lock a run, or raise `RunLockedError`. With `take_over` the holder's file is put aside: it keeps a lock
    on a file that nobody looks at any more, and the epoch keeps it from writing."""
    path = _path_of(folder, run_id)
    try:
        folder.mkdir(exist_ok=True)
        if take_over:
            with _gate(folder):
                path.unlink(missing_ok=True)
        fd = _lock_file(path)
        if fd is None:
            raise RunLockedError(run_id, holder(folder, run_id) or _SOMEBODY)
        _sign(fd)
    except OSError as error:
        raise _explain(run_id, folder, error) from error
    return RunLock(folder, path, fd)


def holder(folder: Path, run_id: str) -> str:
    """Who drives this run; empty if nobody does. Looking does not disturb whoever it is."""
    try:
        fd = os.open(_path_of(folder, run_id), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except PermissionError:
        return "a process of another user"
    try:
        if _try(fd, fcntl.LOCK_SH):
            return ""
        lines = os.pread(fd, 500, 0).decode("utf-8", "replace").splitlines()
        return lines[0] if lines else _SOMEBODY
    finally:
        os.close(fd)


def this_process() -> str:
    """How this process is named to others."""
    return f"pid {os.getpid()} on {socket.gethostname()}"


def _sign(fd: int) -> None:
    """Write into a lock file who holds it."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{this_process()}\nsince {since}\n".encode(), 0)
    except BaseException:
        os.close(fd)
        raise


def _explain(run_id: str, folder: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFullError(
            f"There is no space left for locks in {folder}.",
            hint="Make room on that disk, then resume the run.",
        )
    hint = "Raise the limit with `ulimit -n`." if error.errno == errno.EMFILE else ""
    return StoreError(f"Run {run_id} cannot be locked: {error.strerror}.", hint=hint)


def _path_of(folder: Path, run_id: str) -> Path:
    return folder / f"{quote(run_id, safe='')}.lock"


def _lock_file(path: Path) -> int | None:
    """Open and lock the file at `path`; `None` if another holds it."""
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if _try(fd, fcntl.LOCK_EX):
            if _is_at(fd, path):
                return fd
            os.close(fd)  # its holder removed the file between our opening and locking it
            continue
        onlookers_only = _try(fd, fcntl.LOCK_SH)
        os.close(fd)
        if not onlookers_only or time.monotonic() > deadline:
            return None
        time.sleep(0.0005)


def _try(fd: int, how: int) -> bool:
    try:
        fcntl.flock(fd, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_at(fd: int, path: Path) -> bool:
    """Whether the file that we have open is still the one at that path."""
    try:
        return os.path.samestat(os.fstat(fd), path.stat())
    except FileNotFoundError:
        return False


@contextmanager
def _gate(folder: Path) -> Generator[bool]:
    """Files are removed by one process at a time, so that nobody removes what another just made.

    It is held for microseconds. A process stopped inside of it must not stop the others: after a moment
    they go on with `False`, and a file that is left over does no harm.
    """
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + _PATIENCE_S
        while not (passed := _try(fd, fcntl.LOCK_EX)) and time.monotonic() < deadline:
            time.sleep(0.0005)
        yield passed
    finally:
        os.close(fd)
