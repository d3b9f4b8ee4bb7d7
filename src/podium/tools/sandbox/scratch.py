"""The folder outside that holds what one execution has for itself: temporary files and its own /etc files."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

HOME = "/tmp/home"
"""The home folder inside; empty at each start."""

_FILES = {
    "passwd": f"root:x:0:0:root:/:/bin/false\npodium:x:1000:1000:podium:{HOME}:/bin/sh\n"
    "nobody:x:65534:65534:nobody:/:/bin/false\n",
    "group": "root:x:0:\npodium:x:1000:\nnogroup:x:65534:\n",
    "hosts": "127.0.0.1 localhost sandbox\n",
}


@contextlib.contextmanager
def scratch_folder() -> Generator[Path]:
    """A fresh one, removed at the end whatever a program left in it."""
    folder = Path(tempfile.mkdtemp(prefix="podium-sandbox-"))
    try:
        folder.chmod(0o711)  # a spare user has to pass; what lies in it is closed to others
        for name in ("tmp", "tmp/home", "shm"):
            (folder / name).mkdir(mode=0o700)
        for name, text in _FILES.items():
            (folder / name).write_text(text, encoding="ascii")
        yield folder
    finally:
        _remove(folder)


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
