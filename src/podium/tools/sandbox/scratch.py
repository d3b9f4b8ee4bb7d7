"""The folder outside that holds what one execution has for itself: temporary files and its own /etc files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

HOME = "/tmp/home"
"""The home folder inside; empty at each start."""

PREFIX = "podium-sandbox-"
_LOCK = "lock"
_YOUNG_S = 60.0
"""One that is younger may not have its lock yet."""

_FILES = {
    "passwd": f"root:x:0:0:root:/:/bin/false\npodium:x:1000:1000:podium:{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "root:x:0:\npodium:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
}


@contextlib.contextmanager
def scratch_folder() -> Generator[Path]:
    """A fresh one, removed at the end whatever a program left in it."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = _locked(folder)
    try:
        folder.chmod(0o711)  # a spare user has to pass; what lies in it is closed to others
        for name in ("tmp", "tmp/home", "shm"):
            (folder / name).mkdir(mode=0o700)
        for name, text in _FILES.items():
            (folder / name).write_text(text, encoding="ascii")
        yield folder
    finally:
        _remove(folder)
        os.close(lock)


def sweep_up(young: float = _YOUNG_S) -> None:
    """Remove what processes that were killed left behind: the kernel has let go of their locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):  # somebody else's, in use, or gone meanwhile
            found = folder.lstat()
            if found.st_uid == os.geteuid() and time.time() - found.st_ctime > young:
                lock = _locked(folder)
                _remove(folder)
                os.close(lock)


def _locked(folder: Path) -> int:
    """A descriptor that holds the folder's lock; `BlockingIOError` if another process has it."""
    lock = os.open(folder / _LOCK, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise
    return lock


def _remove(folder: Path) -> None:
    """Remove it, opening folders that the program closed behind itself. No link is followed."""
    try:
        shutil.rmtree(folder)
    except PermissionError:
        for _, names, _, holder in os.fwalk(folder):
            for name in names:
                _open_up(name, holder)
        shutil.rmtree(folder, ignore_errors=True)


def _open_up(name: str, holder: int) -> None:
    try:
        place = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY, dir_fd=holder)
    except OSError:  # a link, which is removed as it is
        return
    os.chmod(f"/proc/self/fd/{place}", 0o700)
    os.close(place)
