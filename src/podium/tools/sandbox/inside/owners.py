"""How the spare user of the second tier reaches and writes what belongs to root.

As in `drop.py`, by mounts that only this process has, at the very places of the folders. Where root may not
mount (most containers) the workspace is lent: it belongs to the spare user while the program runs.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from podium.tools.descent import NO_LINKS, open_root, visit_folders
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
            _change_owner(folder, (owner.st_uid, owner.st_gid), (spare, spare), lend=True)


def give_back(lent: Iterable[Loan]) -> None:
    """Everything that is the spare user's in these folders is the owner's again."""
    for folder, user, group, spare in lent:
        _change_owner(folder, (spare, spare), (user, group), lend=False)


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


def _change_owner(folder: str, old: tuple[int, int], new: tuple[int, int], *, lend: bool) -> None:
    """Change the owner of a folder and of what is in it; no link is followed. A file with a second name is
    not lent, since that may lie elsewhere. Device files, pipes and sockets are not lent either."""
    root = open_root(Path(folder))
    try:
        _change_one("", root, os.fstat(root), old, new)
        for visit in visit_folders(root, lambda name, handle: os.open(name, NO_LINKS, dir_fd=handle)):
            for entry in visit.entries:
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    found = entry.stat(follow_symlinks=False)
                    if not lend or _may_be_lent(found):
                        _change_one(entry.name, visit.handle, found, old, new)
    finally:
        os.close(root)


def _may_be_lent(found: os.stat_result) -> bool:
    kind = stat.S_IFMT(found.st_mode)
    return kind in (stat.S_IFDIR, stat.S_IFLNK) or (kind == stat.S_IFREG and found.st_nlink == 1)


def _change_one(
    name: str, handle: int, found: os.stat_result, old: tuple[int, int], new: tuple[int, int]
) -> None:
    if found.st_uid != old[0]:
        return
    if name:
        os.chown(name, *new, dir_fd=handle, follow_symlinks=False)
    else:
        os.fchown(handle, *new)
