"""Work tree file access, one path component at a time.

Test code has written here and may have planted anything: symlinks that lead out, pipes that block, folders
without permissions. Every path is walked with `openat` and `O_NOFOLLOW`: nothing here reads or writes
outside.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from podium.errors import WorkspaceError
from podium.tools.openat_walk import (
    MAX_DEPTH,
    descended,
    enter_folder,
    open_folder,
    open_root,
    printable,
    remove_entry,
    set_mode,
)

_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe must not block the open
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

Kind = Literal["file", "link", "folder", "special", "missing"]


class TreeEntry(msgspec.Struct, frozen=True):
    """One entry of the tree."""

    path: str
    kind: Kind
    size: int
    executable: bool
    mark: tuple[int, ...]
    """Changes with every write to the file, so that an unchanged file is not read again."""
    is_unsafe: bool = False
    """True for a file with a set-id bit, and for a world-writable file or folder."""


class WorkTree:
    """A work tree. The path to it is trusted, its contents are not."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def look(self, path: str) -> TreeEntry:
        """Return the entry at a path; a symlink along the path is reported as a link."""
        *folders, name = path.split("/")
        try:
            with self._inside(folders) as handle:
                return _entry(path, os.stat(name, dir_fd=handle, follow_symlinks=False))
        except FileNotFoundError:
            return TreeEntry(path, "missing", 0, executable=False, mark=())
        except OSError as error:  # ELOOP or ENOTDIR: a link or file in place of a folder
            if self._has_link(folders):
                return TreeEntry(path, "link", 0, executable=False, mark=())
            if isinstance(error, NotADirectoryError):
                return TreeEntry(path, "missing", 0, executable=False, mark=())
            raise

    def read(self, path: str, limit: int) -> bytes:
        """Read a whole regular file; raise a `WorkspaceError` if it is larger than `limit` bytes or not a
        regular file."""
        *folders, name = path.split("/")
        with self._inside(folders) as handle:
            file = os.open(name, _READ, dir_fd=handle)
            try:
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    raise WorkspaceError(f"{printable(path)} is not a regular file.")
                with os.fdopen(file, "rb", closefd=False) as opened:
                    data = opened.read(limit + 1)
            finally:
                os.close(file)
        if len(data) > limit:
            raise WorkspaceError(f"{printable(path)} is larger than {limit:,} bytes.")
        return data

    def write(self, path: str, data: bytes, *, executable: bool = False, sync: bool = False) -> None:
        """Write a whole file atomically, replacing a file or link; a link is not followed."""
        *folders, name = path.split("/")
        beside = f".podium-{secrets.token_hex(8)}"
        with self._inside(folders, make=True) as handle:
            file = os.open(beside, _NEW, 0o755 if executable else 0o644, dir_fd=handle)
            try:
                _give(file, handle)
                with os.fdopen(file, "wb", closefd=False) as opened:
                    opened.write(data)
                    opened.flush()
                    if sync:
                        os.fsync(file)
            finally:
                os.close(file)
            try:
                os.rename(beside, name, src_dir_fd=handle, dst_dir_fd=handle)
            except OSError:
                os.unlink(beside, dir_fd=handle)
                raise

    def link(self, path: str, target: str) -> None:
        """Create a symlink, as recorded in the repository; nothing here ever follows it."""
        *folders, name = path.split("/")
        with self._inside(folders, make=True) as handle:
            os.symlink(target, name, dir_fd=handle)
            if os.geteuid() == 0:
                owner = os.fstat(handle)
                os.chown(name, owner.st_uid, owner.st_gid, dir_fd=handle, follow_symlinks=False)

    def target(self, path: str) -> str:
        """Return the target of a link."""
        *folders, name = path.split("/")
        with self._inside(folders) as handle:
            return os.readlink(name, dir_fd=handle)

    def remove(self, path: str) -> None:
        """Remove a file, a link, or a folder with its contents, and then parent folders that became empty."""
        *folders, name = path.split("/")
        with self._inside(folders) as handle:
            remove_entry(name, handle)
        while folders:
            *above, last = folders
            with self._inside(above) as handle:
                try:
                    os.rmdir(last, dir_fd=handle)
                except OSError:  # not empty: it stays
                    return
            folders = above

    def make_folder(self, path: str) -> None:
        """Create an empty folder, for a submodule of the repository."""
        with self._inside(path.split("/"), make=True):
            pass

    def close_to_others(self, path: str) -> None:
        """Restrict write access to a folder to its owner."""
        *folders, name = path.split("/")
        with self._inside(folders) as handle:
            set_mode(name, 0o755, handle)

    def walk(self) -> Iterator[TreeEntry]:
        """Yield everything below the root, folders before their contents. Entries nested deeper than
        `MAX_DEPTH` folders are left out; only programs nest folders like that."""
        with self._inside([]) as handle:
            yield from _below(handle, "", MAX_DEPTH)

    def _has_link(self, folders: list[str]) -> bool:
        for count in range(1, len(folders) + 1):
            with self._inside(folders[: count - 1]) as handle:
                info = os.stat(folders[count - 1], dir_fd=handle, follow_symlinks=False)
                if stat.S_ISLNK(info.st_mode):
                    return True
                if not stat.S_ISDIR(info.st_mode):
                    return False
        return False

    @contextmanager
    def _inside(self, folders: list[str], *, make: bool = False) -> Generator[int]:
        root = open_root(self.root)
        with descended(root, folders, lambda name, at: _enter(name, at, make=make)) as handle:
            yield handle


def _enter(name: str, handle: int, *, make: bool) -> int:
    try:
        return enter_folder(name, handle)  # test code may have removed our permissions
    except FileNotFoundError:
        if not make:
            raise
    os.mkdir(name, 0o755, dir_fd=handle)
    made = open_folder(name, handle)
    _give(made, handle)
    return made


def _give(file: int, folder: int) -> None:
    """As root, give a new file to the owner of its folder: the sandbox runs as another user."""
    if os.geteuid() == 0:
        owner = os.fstat(folder)
        os.fchown(file, owner.st_uid, owner.st_gid)


def _entry(path: str, info: os.stat_result) -> TreeEntry:
    mode = info.st_mode
    kind: Kind = "special"
    if stat.S_ISREG(mode):
        kind = "file"
    elif stat.S_ISLNK(mode):
        kind = "link"
    elif stat.S_ISDIR(mode):
        kind = "folder"
    mark = (info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns, mode)
    unsafe = mode & (0o6002 if kind == "file" else 0o002 if kind == "folder" else 0)
    return TreeEntry(
        path, kind, info.st_size, executable=bool(mode & 0o100), mark=mark, is_unsafe=bool(unsafe)
    )


def _below(handle: int, prefix: str, levels: int) -> Iterator[TreeEntry]:
    with os.scandir(handle) as scan:
        names = sorted(entry.name for entry in scan)
    for name in names:
        path = prefix + name
        entry = _entry(path, os.stat(name, dir_fd=handle, follow_symlinks=False))
        yield entry
        if entry.kind == "folder" and levels:
            deeper = _enter(name, handle, make=False)
            try:
                yield from _below(deeper, path + "/", levels - 1)
            finally:
                os.close(deeper)
