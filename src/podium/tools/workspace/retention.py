"""The life of workspaces: where they lie, what they take, and when they go.

The work tree goes when a run stops for good or for a while: it can be made again from what git keeps. The
private repository stays, because resuming and forking begin with the states in it; of a run that is done and
nobody has touched for long, it goes too. What was committed is in the user's repository, or in the patch.
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
"""How long the repository of a run that cannot be resumed any more is kept for forks."""


class StoredWorkspace(msgspec.Struct, frozen=True, kw_only=True):
    """A workspace that is there."""

    run_id: str
    home: Path
    bytes: int
    touched: float
    """When it was last used, in seconds since 1970."""
    origin: str = ""
    """The user's folder; empty if its facts cannot be read."""
    branch: str = ""


def workspaces_of(store_url: str) -> Path:
    """Where the workspaces of a store's runs lie: beside its file, if it is one."""
    data = Path(platformdirs.user_data_dir("podium", appauthor=False))
    beside = Path(store_url.removeprefix("sqlite:///")).parent if store_url.startswith("sqlite:///") else data
    return beside / "workspaces"


def kept_workspaces(root: Path) -> list[StoredWorkspace]:
    """Every workspace in a folder, the oldest first."""
    if not root.is_dir():
        return []
    found = [_looked_at(home) for home in root.iterdir() if home.is_dir() and not home.is_symlink()]
    return sorted(found, key=lambda one: one.touched)


def untouched_for(seconds: float, root: Path) -> list[str]:
    """Runs whose workspaces nobody has used for so long."""
    before = time.time() - seconds
    homes = [home for home in root.iterdir() if home.is_dir()] if root.is_dir() else []
    return [home.name for home in homes if _touched(home) < before]


def fold_up(home: Path) -> None:
    """Take the work tree and what tests left away; the next who opens the workspace makes it again."""
    remove_folder(home / "tree")
    remove_folder(home / "results")


def remove_workspace(home: Path) -> None:
    """All of it. Its facts go first: half removed it is as if it were not there."""
    (home / NAME).unlink(missing_ok=True)
    remove_folder(home)


def _looked_at(home: Path) -> StoredWorkspace:
    about = StoredWorkspace(run_id=home.name, home=home, bytes=sum(_sizes(home)), touched=_touched(home))
    try:
        facts = read_facts(home) if has_facts(home) else None
    except WorkspaceError:  # its facts are damaged: it can still be listed and removed
        facts = None
    if facts is None:
        return about
    return msgspec.structs.replace(about, origin=facts.origin.folder, branch=facts.branch)


def _touched(home: Path) -> float:
    """The branch moves with every change; without one, when it was made."""
    places = (home / "git" / "repo.git" / "refs" / "podium" / "state", home / NAME, home)
    return next(place.stat().st_mtime for place in places if place.exists())


def _sizes(home: Path) -> Iterator[int]:
    """Bytes on disk of each file and folder; what cannot be entered is left out."""
    root = open_root(home)
    try:
        for visit in visit_folders(root, _enter):
            for entry in visit.entries:
                try:
                    yield entry.stat(follow_symlinks=False).st_blocks * 512
                except FileNotFoundError:  # a run that is under way removed it
                    continue
    finally:
        os.close(root)


def _enter(name: str, handle: int) -> int | None:
    try:
        return os.open(name, NO_LINKS, dir_fd=handle)
    except PermissionError:
        return None
