"""Access to one folder, confined to it.

Paths are walked with `openat` and `O_NOFOLLOW`, one name at a time. The file that is checked is the file that
is read or replaced: a symlink swapped in between check and use is not followed.
"""

from __future__ import annotations

import fnmatch
import os
import secrets
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

SECRET_FILES = tuple(
    """
    *.pem *.key *.p12 *.pfx *.jks *.keystore *.kdbx *.gpg *.ppk *.tfstate* id_rsa* id_dsa* id_ecdsa*
    id_ed25519* *.env credentials credentials.* secrets.* secret.* *service-account*.json
    *service_account*.json
    """.split()
)
"""Name patterns of files that may hold secrets and are refused, in addition to all names with a leading
dot."""

_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO must not block the open


_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


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

    def write(self, path: str, data: bytes) -> bool:
        """Create or replace a regular file, and create the folders that it needs. Readers see the old
        content or the new one, never a part. Return whether the file is new."""
        *folders, name = self._parts(path) or [""]
        if not name:
            raise ToolError("A path of a file is needed.")
        if len(data) > MAX_FILE_BYTES:
            raise ToolError(f"{path} is too large: over {MAX_FILE_BYTES:,} bytes.")
        with self._inside(folders, path, make=True) as handle:
            return _replace(handle, name, path, data)

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
    def _inside(self, folders: list[str], path: str, *, make: bool = False) -> Generator[int]:
        """Open the folder that `folders` leads to and yield its descriptor. With `make`, create missing
        folders."""

        def enter(name: str, handle: int) -> int:
            if make:
                _make_folder(name, handle, path)
            return _open(name, NO_LINKS, handle, path)

        try:
            root = open_root(self.root)
        except OSError as error:
            raise ToolError(f"The folder cannot be opened: {error.strerror}.") from error
        with descended(root, folders, enter) as handle:
            yield handle


def is_refused(name: str) -> bool:
    """Return True for hidden names and names that usually hold secrets."""
    low = name.casefold()
    return low.startswith(".") or any(fnmatch.fnmatchcase(low, pattern) for pattern in SECRET_FILES)


def _open(name: str, flags: int, handle: int, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=handle)
    except OSError as error:
        if _is_link(name, handle):
            raise ToolError(f"{path} is refused: links are not followed.") from error
        raise ToolError(f"{path} cannot be read: {error.strerror}.") from error


def _is_link(name: str, handle: int) -> bool:
    state = _state(name, handle)  # without one, the first error is reported
    return state is not None and stat.S_ISLNK(state.st_mode)


def _read(handle: int, name: str, path: str) -> bytes:
    file = _open(name, _FILE, handle, path)
    try:
        mode = os.fstat(file).st_mode
        if stat.S_ISDIR(mode):
            raise ToolError(f"{path} is a folder.")
        if not stat.S_ISREG(mode):
            raise ToolError(f"{path} is refused: it is not a regular file.")
        with os.fdopen(file, "rb", closefd=False) as opened:
            data = opened.read(MAX_FILE_BYTES + 1)
    finally:
        os.close(file)
    if len(data) > MAX_FILE_BYTES:
        raise ToolError(f"{path} is too large: over {MAX_FILE_BYTES:,} bytes.")
    return data


def _make_folder(name: str, handle: int, path: str) -> None:
    try:
        os.mkdir(name, dir_fd=handle)
    except FileExistsError:
        return
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror}.") from error


def _replace(handle: int, name: str, path: str, data: bytes) -> bool:
    before = _state(name, handle)
    if before is not None and not stat.S_ISREG(before.st_mode):
        raise ToolError(f"{path} is refused: it is a folder, a link or a special file.")
    part = f".podium-{secrets.token_hex(8)}"
    try:
        file = os.open(part, _NEW_FILE, 0o666 if before is None else 0o600, dir_fd=handle)
        try:
            with os.fdopen(file, "wb") as opened:
                opened.write(data)
                if before is not None:
                    os.fchmod(opened.fileno(), stat.S_IMODE(before.st_mode))
            os.rename(part, name, src_dir_fd=handle, dst_dir_fd=handle)
        except OSError:
            os.unlink(part, dir_fd=handle)
            raise
    except OSError as error:
        raise ToolError(f"{path} cannot be written: {error.strerror}.") from error
    return before is None


def _state(name: str, handle: int) -> os.stat_result | None:
    try:
        return os.stat(name, dir_fd=handle, follow_symlinks=False)
    except OSError:
        return None


def _below(
    handle: int, prefix: str, depth: int, remaining: list[int], *, tell_links: bool
) -> Iterator[FolderEntry]:
    with os.scandir(handle) as scan:
        names = sorted(entry.name for entry in scan if not is_refused(entry.name))
    for name in names:
        remaining[0] -= 1
        if remaining[0] < 0:
            return
        path = f"{prefix}/{name}" if prefix else name
        try:
            info = os.stat(name, dir_fd=handle, follow_symlinks=False)
            if stat.S_ISREG(info.st_mode):
                yield FolderEntry(path, is_folder=False, size=info.st_size, mtime_ns=info.st_mtime_ns)
            elif tell_links and stat.S_ISLNK(info.st_mode):
                yield FolderEntry(path, is_folder=False, is_link=True)
            elif stat.S_ISDIR(info.st_mode):
                yield FolderEntry(path, is_folder=True)
                if depth > 1:
                    deeper = os.open(name, NO_LINKS, dir_fd=handle)
                    try:
                        yield from _below(deeper, path, depth - 1, remaining, tell_links=tell_links)
                    finally:
                        os.close(deeper)
        except OSError:  # deleted, replaced or made unreadable since it was listed: skip it
            continue
