"""Files and folders that only their owner may read, whatever the umask is."""

from __future__ import annotations

import os
import stat
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents with mode 0700. Existing folders keep their mode."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    for parent in reversed(missing):
        try:
            parent.mkdir(FOLDER_MODE)
        except FileExistsError:
            continue  # another process was faster
        parent.chmod(FOLDER_MODE)
    if not folder.is_dir():
        raise NotADirectoryError(20, os.strerror(20), str(folder))


def make_private_file(file: Path) -> None:
    """Create an empty file with mode 0600. An existing file is left as it is."""
    try:
        opened = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        return
    try:
        os.fchmod(opened, FILE_MODE)
    finally:
        os.close(opened)


def write_private(file: Path, data: bytes) -> None:
    """Write a file. A new one gets mode 0600; an existing one keeps its mode."""
    make_private_file(file)
    file.write_bytes(data)


def others_may(path: Path) -> bool:
    """Return whether anyone but the owner has rights on a file or folder."""
    return bool(path.stat().st_mode & _OTHERS)
