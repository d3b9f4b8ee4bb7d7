"""How the spare user of the second tier reaches and writes what belongs to root.

As in `drop.py`, by mounts that only this process has, at the very places of the folders. Where root may not
mount (most containers) the workspace is lent: it belongs to the spare user while the program runs.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable

from podium.tools.sandbox.inside import kernel
from podium.tools.sandbox.inside.drop import take

Loan = tuple[str, int, int, int]
"""A folder, its user and group, and the spare user who has it now."""


def open_ways(folders: list[str], writable: list[str], spare: int, lent: list[Loan]) -> None:
    """Let the spare user reach all folders and write some. What was lent is added to `lent` as it is done, so
    that it can be given back whatever happens."""
    try:
        kernel.own_mounts()
        _mount_in_place(folders, writable, spare)
    except OSError:  # not allowed to mount, or a file system that cannot exchange owners
        for folder in writable:
            owner = os.stat(folder)
            lent.append((folder, owner.st_uid, owner.st_gid, spare))
            _change_owner(folder, (owner.st_uid, owner.st_gid), (spare, spare))


def give_back(lent: Iterable[Loan]) -> None:
    """Everything that is the spare user's in these folders is the owner's again."""
    for folder, user, group, spare in lent:
        _change_owner(folder, (spare, spare), (user, group))


def _mount_in_place(folders: list[str], writable: list[str], spare: int) -> None:
    """Clone all before anything is covered; cover the folders that the spare user may not enter."""
    found = [(folder, _closed_above(folder)) for folder in sorted(set(folders), key=len)]
    wanted = [(folder, closed) for folder, closed in found if closed or folder in writable]
    trees = [_clone(folder, folder in writable, spare) for folder, _ in wanted]
    for closed in dict.fromkeys(closed for _, closed in wanted if closed):
        kernel.mount_memory(closed)
    for (folder, closed), tree in zip(wanted, trees, strict=True):
        if closed:
            os.makedirs(folder, exist_ok=True)
        kernel.hang(tree, folder)
        os.close(tree)


def _clone(folder: str, writable: bool, spare: int) -> int:
    return take(folder, spare) if writable else kernel.clone_tree(folder)


def _closed_above(folder: str) -> str:
    """The first folder on the way that others may not enter; empty if the way is open."""
    place = ""
    for part in folder.strip("/").split("/")[:-1]:
        place += f"/{part}"
        if not os.stat(place).st_mode & stat.S_IXOTH:
            return place
    return ""


def _change_owner(folder: str, old: tuple[int, int], new: tuple[int, int]) -> None:
    """Of a folder and what is in it. No link is followed; a file with a second name elsewhere stays."""
    for _, names, files, holder in os.fwalk(folder, follow_symlinks=False):
        _change_one("", old, new, holder)
        for name in (*files, *(name for name in names if _is_link(name, holder))):
            _change_one(name, old, new, holder)


def _change_one(name: str, old: tuple[int, int], new: tuple[int, int], holder: int) -> None:
    with contextlib.suppress(FileNotFoundError):  # removed meanwhile
        found = os.stat(name, dir_fd=holder, follow_symlinks=False) if name else os.fstat(holder)
        shared = stat.S_ISREG(found.st_mode) and found.st_nlink > 1
        if found.st_uid != old[0] or shared:
            return
        if name:
            os.chown(name, *new, dir_fd=holder, follow_symlinks=False)
        else:
            os.fchown(holder, *new)


def _is_link(name: str, holder: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=holder, follow_symlinks=False).st_mode)
