"""Reading what a sandboxed program left behind: it may have planted links, pipes or endless files."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePosixPath

from podium.errors import ResultRefusedError
from podium.tools.descent import NO_LINKS, descended, open_root

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def read_result(folder: Path, path: str, *, max_bytes: int = 10_000_000) -> bytes:
    """The bytes of a plain file below `folder`.

    Each part of the path is opened from the one before without following links, so nothing can be exchanged
    in between; what is not a plain file is never read, and a pipe never waited for. `ResultRefusedError` says
    what was wrong; a file that is not there is the usual `FileNotFoundError`.
    """
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or "\0" in path:
        raise ResultRefusedError(path, "it is not a path below the workspace")
    with descended(open_root(folder), parts[:-1], lambda part, at: _open(part, NO_LINKS, at, path)) as holder:
        file = _open(parts[-1], _FILE, holder, path)
    return _read(file, path, max_bytes)


def _open(part: str, flags: int, holder: int, path: str) -> int:
    try:
        return os.open(part, flags, dir_fd=holder)
    except FileNotFoundError:
        raise
    except OSError as error:  # a link gives ELOOP or ENOTDIR, a socket ENXIO
        raise ResultRefusedError(path, f"{part} is a link or no plain file ({error.strerror})") from error


def _read(file: int, path: str, max_bytes: int) -> bytes:
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise ResultRefusedError(path, "it is not a plain file")
        if found.st_size > max_bytes:
            raise ResultRefusedError(path, f"it is larger than {max_bytes:,} bytes")
        with os.fdopen(file, "rb", closefd=False) as stream:
            return stream.read(max_bytes)
    finally:
        os.close(file)
