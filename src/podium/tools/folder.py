"""Read-only access to one folder, confined to it.

Paths are walked with `openat` and `O_NOFOLLOW`, one name at a time. The file that is checked is the file that
is read: a symlink swapped in between check and use is not followed.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

import msgspec

from podium.settings.places import named
from podium.tools.openat_walk import NO_LINKS, descended, open_root
from podium.tools.tool import ToolError

MAX_FILE_BYTES = 10_000_000
MAX_DEPTH = 24
MAX_PATH = 500
MAX_SEEN = 50_000
"""Maximum number of entries one walk looks at."""

SECRET_FILES = (
    "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.gpg", "*.ppk", "*.tfstate*",
    "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*.env", "credentials", "credentials.*",
    "secrets.*", "secret.*", "*service-account*.json", "*service_account*.json",
)  # fmt: skip
"""Name patterns of files that may hold secrets and are refused, in addition to all names with a leading
dot."""

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not block the open


class FolderEntry(msgspec.Struct, frozen=True):
    """A file or folder below the root."""

    path: str
    """Relative to the root, with `/`."""
    is_folder: bool
    size: int = 0
    mtime_ns: int = 0
    """Modification time reported by the file system, in nanoseconds."""
    is_link: bool = False
    """A symlink; reported only if requested, never followed."""


class Folder:
    """The folder that the user named. If the name itself is a symlink, it is resolved once."""

    def __init__(self, root: Path) -> None:
        self.root = named(root).resolve()

    def read(self, path: str) -> bytes:
        """Read a whole regular file, or raise a one-sentence `ToolError`."""
        *folders, name = self._parts(path) or [""]
        if not name:
            raise ToolError("A path of a file is needed.")
        with self._inside(folders, path) as handle:
            return _read(handle, name, path)

    def walk(
        self, path: str = "", *, deep: bool = True, most: int = MAX_SEEN, tell_links: bool = False
    ) -> Iterator[FolderEntry]:
        """Yield the entries below `path`, sorted by name; skip refused names, special files and (without
        `tell_links`) symlinks."""
        parts = self._parts(path)
        with self._inside(parts, path) as handle:
            depth = MAX_DEPTH if deep else 1
            yield from _below(handle, "/".join(parts), depth, [most], tell_links=tell_links)

    def _parts(self, path: str) -> list[str]:
        if "\0" in path or "\\" in path or len(path) > MAX_PATH:
            raise ToolError("A path is made of names with / between them, and not endless.")
        if path.startswith(("/", "~")):
            raise ToolError(f"{path} is not below the folder: paths are relative to it.")
        parts = [part for part in PurePosixPath(path).parts if part != "."]
        if ".." in parts:
            raise ToolError(f"{path} is refused: `..` leads out of the folder.")
        for part in parts:
            if is_refused(part):
                raise ToolError(f"{path} is refused: hidden files, and files that may hold secrets.")
        return parts

    @contextmanager
    def _inside(self, folders: list[str], told: str) -> Generator[int]:
        """Open the folder that `folders` leads to and yield its descriptor."""
        try:
            root = open_root(self.root)
        except OSError as error:
            raise ToolError(f"The folder cannot be opened: {error.strerror}.") from error
        with descended(root, folders, lambda name, at: _open(name, NO_LINKS, at, told)) as handle:
            yield handle


def is_refused(name: str) -> bool:
    """Return True for hidden names and names that usually hold secrets."""
    low = name.casefold()
    return low.startswith(".") or any(fnmatch.fnmatchcase(low, pattern) for pattern in SECRET_FILES)


def _open(name: str, flags: int, handle: int, told: str) -> int:
    try:
        return os.open(name, flags, dir_fd=handle)
    except OSError as error:
        if _is_link(name, handle):
            raise ToolError(f"{told} is refused: links are not followed.") from error
        raise ToolError(f"{told} cannot be read: {error.strerror}.") from error


def _is_link(name: str, handle: int) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)
    except OSError:  # report the first error instead
        return False


def _read(handle: int, name: str, told: str) -> bytes:
    file = _open(name, _FILE, handle, told)
    try:
        mode = os.fstat(file).st_mode
        if stat.S_ISDIR(mode):
            raise ToolError(f"{told} is a folder.")
        if not stat.S_ISREG(mode):
            raise ToolError(f"{told} is refused: it is not a regular file.")
        with os.fdopen(file, "rb", closefd=False) as opened:
            data = opened.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(file)
    if len(data) > MAX_FILE_BYTES:
        raise ToolError(f"{told} is too large: over {MAX_FILE_BYTES:,} bytes.")
    return data


def _below(
    handle: int, prefix: str, depth: int, left: list[int], *, tell_links: bool
) -> Iterator[FolderEntry]:
    with os.scandir(handle) as scan:
        names = sorted(entry.name for entry in scan if not is_refused(entry.name))
    for name in names:
        left[0] -= 1
        if left[0] < 0:
            return
        path = f"{prefix}/{name}" if prefix else name
        try:
            found = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISREG(found.st_mode):
                yield FolderEntry(path, is_folder=False, size=found.st_size, mtime_ns=found.st_mtime_ns)
            elif tell_links and stat.S_ISLNK(found.st_mode):
                yield FolderEntry(path, is_folder=False, is_link=True)
            elif stat.S_ISDIR(found.st_mode):
                yield FolderEntry(path, is_folder=True)
                if depth > 1:
                    deeper = os.open(name, NO_LINKS, dir_fd=handle)
                    try:
                        yield from _below(deeper, path, depth - 1, left, tell_links=tell_links)
                    finally:
                        os.close(deeper)
        except OSError:  # deleted, replaced or made unreadable since it was listed: skip it
            continue
