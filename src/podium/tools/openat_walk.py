"""File operations relative to open directory descriptors: no symlink is followed, and no path can be swapped
between check and use."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import struct
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

NO_LINKS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags for opening a folder along a path."""

MAX_DEPTH = 200
"""Levels of folders that a walk enters; each holds one open descriptor."""

_NESTED = 50
"""Levels of folders that a removal enters; deeper folders are moved up first."""

_PLACE = getattr(os, "O_PATH", os.O_RDONLY) | os.O_NOFOLLOW | os.O_CLOEXEC
_CONTENTS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_GET_FLAGS, _SET_FLAGS, _UNCHANGEABLE = 0x8008_6601, 0x4008_6602, 0x10 | 0x20
"""FS_IOC_GETFLAGS, FS_IOC_SETFLAGS, and the flags "immutable" and "append only"."""


def open_root(root: Path) -> int:
    """Open the root folder. The user named it, so it may be a symlink."""
    return os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


@contextmanager
def descended(handle: int, folders: Iterable[str], enter: Callable[[str, int], int]) -> Generator[int]:
    """Yield a descriptor of the folder that the names lead to.

    `enter` opens a name in the folder of a descriptor, without following symlinks. All descriptors are closed
    at the end, including the first one.
    """
    try:
        for name in folders:
            deeper = enter(name, handle)
            os.close(handle)
            handle = deeper
        yield handle
    finally:
        os.close(handle)


class Visit(NamedTuple):
    """A folder that a walk has entered."""

    path: str
    """Relative to the root, with a trailing `/`; empty for the root."""
    handle: int
    entries: list[os.DirEntry[str]]
    is_deepest: bool
    """The walk does not enter the subfolders of this folder."""


def visit_folders(root: int, enter: Callable[[str, int], int | None]) -> Iterator[Visit]:
    """Yield a folder and every folder below it, parents first.

    `enter` opens a name in the folder of a descriptor, or returns None to skip that folder. Entries removed
    or replaced since they were listed are skipped too. The descriptor of the root stays open.
    """
    first = Visit("", root, _entries(root), is_deepest=False)
    waiting = [(first, _folders(first))]
    try:
        yield first
        while waiting:
            visit, names = waiting[-1]
            name = next(names, None)
            if name is None:
                waiting.pop()
                if waiting:
                    os.close(visit.handle)
                continue
            handle = _entered(name, visit.handle, enter)
            if handle is not None:
                deeper = Visit(
                    f"{visit.path}{name}/", handle, _entries(handle), is_deepest=len(waiting) >= MAX_DEPTH
                )
                waiting.append((deeper, iter(()) if deeper.is_deepest else _folders(deeper)))
                yield deeper
    finally:
        for visit, _ in waiting[1:]:
            os.close(visit.handle)


def _entries(handle: int) -> list[os.DirEntry[str]]:
    with os.scandir(handle) as scan:
        return list(scan)


def _folders(visit: Visit) -> Iterator[str]:
    return iter([entry.name for entry in visit.entries if entry.is_dir(follow_symlinks=False)])


def _entered(name: str, handle: int, enter: Callable[[str, int], int | None]) -> int | None:
    try:
        return enter(name, handle)
    except (FileNotFoundError, NotADirectoryError):  # removed or replaced since it was listed
        return None
    except OSError:
        if is_folder(name, handle):
            raise
        return None


def is_folder(name: str, handle: int) -> bool:
    """Return True if the name is a folder; a symlink to a folder does not count."""
    try:
        return stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def open_folder(name: str, handle: int) -> int:
    """Open a folder in the folder of a descriptor; a symlink is refused."""
    return os.open(name, NO_LINKS, dir_fd=handle)


def enter_folder(name: str, handle: int) -> int:
    """Open a folder; if its mode denies access, set it to 0700 first."""
    try:
        return open_folder(name, handle)
    except PermissionError:
        if not is_folder(name, handle):
            raise
        set_mode(name, 0o700, handle)
        return open_folder(name, handle)


def set_mode(name: str, mode: int, handle: int) -> None:
    """Change the mode of a file or folder; symlinks are left unchanged."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, mode, dir_fd=handle, follow_symlinks=False)
        return
    place = os.open(name, _PLACE, dir_fd=handle)
    try:
        if not stat.S_ISLNK(os.fstat(place).st_mode):
            os.chmod(f"/proc/self/fd/{place}", mode)
    finally:
        os.close(place)


def remove_entry(name: str, handle: int) -> None:
    """Remove a file, a link, or a folder with everything in it, of any depth and with any modes."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
        _insist(os.unlink, name, handle)
        return
    waiting = [name]
    while waiting:
        folder = waiting.pop()
        waiting += _empty(folder, handle, handle, _NESTED)
        _insist(os.rmdir, folder, handle)


def _empty(name: str, holder: int, top: int, levels: int) -> list[str]:
    """Remove everything in a folder. Folders nested too deeply move to `top`; return their new names."""
    _open_up(name, holder)
    moved: list[str] = []
    inside = open_folder(name, holder)
    try:
        for entry in _entries(inside):
            if not entry.is_dir(follow_symlinks=False):
                _insist(os.unlink, entry.name, inside)
            elif levels:
                moved += _empty(entry.name, inside, top, levels - 1)
                _insist(os.rmdir, entry.name, inside)
            else:
                _open_up(entry.name, inside)
                moved.append(f".podium-{os.urandom(8).hex()}")
                os.rename(entry.name, moved[-1], src_dir_fd=inside, dst_dir_fd=top)
    finally:
        os.close(inside)
    return moved


def _open_up(name: str, holder: int) -> None:
    with contextlib.suppress(PermissionError):  # another owner, or immutable: the removal itself reports it
        set_mode(name, 0o700, holder)


def _insist(remove: Callable[..., None], name: str, handle: int) -> None:
    """Remove one entry; on a permission error, clear flags that prevent it where possible, and retry."""
    try:
        remove(name, dir_fd=handle)
    except PermissionError:
        cleared = _clear_flags(handle)
        with contextlib.suppress(OSError):  # a symlink or a device has no flags
            file = os.open(name, _CONTENTS, dir_fd=handle)
            cleared = _clear_flags(file) or cleared
            os.close(file)
        if not cleared:
            raise
        remove(name, dir_fd=handle)


def _clear_flags(file: int) -> bool:
    """Clear the immutable and append-only flags; return True if there were any. Only root can do this."""
    try:
        flags = struct.unpack("l", fcntl.ioctl(file, _GET_FLAGS, b"\0" * struct.calcsize("l")))[0]
        if not flags & _UNCHANGEABLE:
            return False
        fcntl.ioctl(file, _SET_FLAGS, struct.pack("l", flags & ~_UNCHANGEABLE))
    except OSError:  # a file system without flags, or no permission to change them
        return False
    return True


def printable(path: str) -> str:
    """Return a path as one line of text: control characters and bytes that are not UTF-8 are escaped."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii") for letter in path
    )
