"""The folder outside that holds what one execution has for itself: temporary files and its own /etc files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from podium.tools.descent import open_root, remove_entry

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
_FOLDERS = ("tmp", "tmp/home", "shm")
MASK = "mask"
"""An empty file that covers what a program must not reach."""

ENTRIES = len(_FILES) + len(_FOLDERS) + len((_LOCK, MASK))
"""Files and folders in a fresh one."""


@contextlib.contextmanager
def scratch_folder() -> Generator[Path]:
    """A fresh one, removed at the end whatever a program left in it."""
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    lock = _locked(folder)
    try:
        folder.chmod(0o711)  # a spare user has to pass; what lies in it is closed to others
        for name in _FOLDERS:
            (folder / name).mkdir(mode=0o700)
        (folder / MASK).touch(mode=0)
        for name, text in _FILES.items():
            (folder / name).write_text(text, encoding="ascii")
        yield folder
    finally:
        with contextlib.suppress(
            OSError
        ):  # a process that is just being ended holds it: `sweep_up` removes it
            _remove(folder)
        os.close(lock)


def clear(scratch: Path) -> None:
    """Remove the temporary files of a program that has ended."""
    for name in ("tmp", "shm"):
        with contextlib.suppress(OSError):  # as above
            _remove(scratch / name)


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
    """Remove it with whatever a program left in it."""
    holder = open_root(folder.parent)
    try:
        remove_entry(folder.name, holder)
    finally:
        os.close(holder)
