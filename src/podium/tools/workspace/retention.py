"""Workspace storage: location, size and removal.

The work tree is removed when a run stops, for good or for a while: it can be rebuilt from git. The private
repository is kept, because resuming and forking start from the states in it; if the run is done and has been
unused for long, it is removed too. Commits are in the user's repository, or in the patch.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import platformdirs

from podium.errors import WorkspaceError
from podium.tools.openat_walk import NO_LINKS, open_root, visit_folders
from podium.tools.workspace.origin import NAME, has_facts, read_facts
from podium.tools.workspace.workspace import remove_folder

KEPT_DAYS = 30.0
"""Days for which the repository of a run that can no longer be resumed is kept for forks."""


class StoredWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """An existing workspace on disk."""

    run_id: str
    home: Path
    bytes: int
    touched: float
    """Time of last use, in seconds since the epoch."""
    origin: str = ""
    """The user's folder; empty if the stored data cannot be read."""
    branch: str = ""


def workspaces_of(store_url: str) -> Path:
    """Return the folder of a store's workspaces: beside a SQLite file, otherwise in the user's data
    folder."""
    data = Path(platformdirs.user_data_dir("podium", appauthor=False))
    beside = Path(store_url.removeprefix("sqlite:///")).parent if store_url.startswith("sqlite:///") else data
    return beside / "workspaces"


def kept_workspaces(root: Path) -> list[StoredWorkspace]:
    """Return every workspace in a folder, least recently used first."""
    if not root.is_dir():
        return []
    found = [_looked_at(home) for home in root.iterdir() if home.is_dir() and not home.is_symlink()]
    return sorted(found, key=lambda one: one.touched)


def untouched_for(seconds: float, root: Path) -> list[str]:
    """Return the ids of runs whose workspaces have been unused for `seconds`."""
    before = time.time() - seconds
    homes = [home for home in root.iterdir() if home.is_dir()] if root.is_dir() else []
    return [home.name for home in homes if _touched(home) < before]


def fold_up(home: Path) -> None:
    """Remove the work tree and test results; the next opening rebuilds the tree."""
    remove_folder(home / "tree")
    remove_folder(home / "results")


def remove_workspace(home: Path) -> None:
    """Remove a workspace. Its data file goes first, so that a half-removed one counts as missing."""
    (home / NAME).unlink(missing_ok=True)
    remove_folder(home)


def _looked_at(home: Path) -> StoredWorkspace:
    about = StoredWorkspace(run_id=home.name, home=home, bytes=sum(_sizes(home)), touched=_touched(home))
    try:
        facts = read_facts(home) if has_facts(home) else None
    except WorkspaceError:  # damaged data: it can still be listed and removed
        facts = None
    if facts is None:
        return about
    return msgspec.structs.replace(about, origin=facts.origin.folder, branch=facts.branch)


def _touched(home: Path) -> float:
    """Return the time of last use: the state ref changes with every change; else the creation time."""
    places = (home / "git" / "repo.git" / "refs" / "podium" / "state", home / NAME, home)
    return next(place.stat().st_mtime for place in places if place.exists())


def _sizes(home: Path) -> Iterator[int]:
    """Yield the bytes on disk of each file and folder; folders that cannot be entered are skipped."""
    root = open_root(home)
    try:
        for visit in visit_folders(root, _enter):
            for entry in visit.entries:
                try:
                    yield entry.stat(follow_symlinks=False).st_blocks * 512
                except FileNotFoundError:  # removed by a run in progress
                    continue
    finally:
        os.close(root)


def _enter(name: str, handle: int) -> int | None:
    try:
        return os.open(name, NO_LINKS, dir_fd=handle)
    except PermissionError:
        return None
