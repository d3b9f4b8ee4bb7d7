"""Workspace creation and reopening, and storage: location, size and removal.

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

from podium.engine.process import offload
from podium.errors import PodiumError, UsageError, WorkspaceError
from podium.settings.places import make_private_folder
from podium.tools.openat_walk import open_folder, open_root, printable, visit_folders
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.workspace.change import LEFT_OUT, Caps, is_git
from podium.tools.workspace.git import FILE, LINK, PROGRAM, SUBMODULE, Blob, Git, History, Write
from podium.tools.workspace.origin import (
    NAME,
    Origin,
    WorkspaceRecord,
    find_origin,
    has_facts,
    read_facts,
    write_facts,
)
from podium.tools.workspace.snapshots import Restoring, remove_folder
from podium.tools.workspace.transfer import branch_name
from podium.tools.workspace.tree import TreeEntry, WorkTree
from podium.tools.workspace.workspace import Workspace


def read_folder(folder: Path, caps: Caps) -> tuple[list[Write], list[str]]:
    """Read every file of a folder that a copy takes over; return them with warnings about skipped ones."""
    tree, writes, size = WorkTree(folder), list[Write](), 0
    skipped = list[str]()
    gone = ""
    for entry in tree.walk():
        if gone and entry.path.startswith(gone):
            continue
        name = entry.path.rpartition("/")[2]
        if name in LEFT_OUT or is_git(name):
            gone = entry.path + "/"
            continue
        if entry.kind == "special":
            skipped.append(entry.path)
        elif entry.kind != "folder":
            size += entry.size
            _check(folder, size, len(writes) + 1, caps)
            writes.append(_write(tree, entry))
    if not skipped:
        return writes, []
    return writes, [
        f"{len(skipped)} pipes, sockets or devices were not copied, the first is {printable(skipped[0])}."
    ]


def _check(folder: Path, size: int, count: int, caps: Caps) -> None:
    if size > caps.workspace_bytes or count > caps.workspace_files:
        raise UsageError(
            f"{folder} is too large to copy: {caps.workspace_bytes:,} bytes in {caps.workspace_files:,} "
            "files are the maximum.",
            hint="Make it a git repository with a .gitignore, or give --workspace a smaller folder.",
        )


def _write(tree: WorkTree, entry: TreeEntry) -> Write:
    if entry.kind == "link":
        return Write(entry.path, tree.target(entry.path).encode("utf-8", "surrogateescape"), LINK)
    return Write(entry.path, tree.read(entry.path, entry.size), PROGRAM if entry.executable else FILE)


MAX_INDEX = 200_000_000
UNKNOWN = "Uncommitted changes could not be checked; they are not part of the run."


async def warn_of_uncommitted(origin: Origin, branch: str, git: Git) -> list[str]:
    """Return a warning that counts and names the uncommitted changes, or none.

    A copy of the user's index is compared with the user's files, which are only read. The user's settings do
    not apply, so a file that a filter rewrites may be reported as changed although it is not.
    """
    copy = git.folder / "index"
    try:
        copy.write_bytes(WorkTree(Path(origin.git_dir)).read("index", MAX_INDEX))
        (git.dir / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
        options = ("--porcelain", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=all")
        output = await git.run(
            *("-c", "core.bare=false", "status", *options),
            readable=[Path(origin.folder)],
            env={"GIT_WORK_TREE": origin.folder, "GIT_INDEX_FILE": str(copy)},
        )
    except FileNotFoundError:  # nothing was ever staged
        return []
    except (PodiumError, OSError):
        return [UNKNOWN]
    finally:
        copy.unlink(missing_ok=True)
    paths = [printable(line[3:]) for line in output.decode("utf-8", "surrogateescape").split("\0") if line]
    if not paths:
        return []
    named = ", ".join(paths[:5]) + (", …" if len(paths) > 5 else "")
    return [f"Uncommitted changes are not part of the run, {len(paths)} in all: {named}."]


async def open_workspace(
    folder: Path | str, run_id: str, sandbox: Sandbox, *, home: Path, caps: Caps | None = None
) -> Workspace:
    """Open the run's workspace in `home`, a folder that belongs to the run alone.

    A new workspace starts from the commit that is checked out in `folder`; uncommitted changes are left out,
    with a warning. A folder without a repository is copied. An existing workspace is opened in its last
    recorded state; `folder` is not read again.
    """
    git, caps = Git(sandbox, home / "git"), caps or Caps()
    if not has_facts(home):
        remove_folder(home)
        made = await _make(Path(folder), run_id, git, home, caps)
    else:
        made = read_facts(home)
        (home / "tree").mkdir(mode=0o700, exist_ok=True)  # `fold_up` removed it after the run stopped
    git.unlock()
    workspace = Workspace(home, made, git, caps)
    await workspace.restore(History(git).pointed("refs/podium/state") or made.base)
    return workspace


async def _make(folder: Path, run_id: str, git: Git, home: Path, caps: Caps) -> WorkspaceRecord:
    origin = find_origin(folder)
    for place in (home, git.folder, home / "tree"):
        make_private_folder(place)
    await git.make(origin.object_format)
    history = History(git)
    if origin.head:
        base, warnings = await _adopt(origin, git, history, caps)
    else:
        base, warnings = await _copy(origin, history, home / "tree", caps)
    branch = branch_name(origin, run_id)
    history.point({f"refs/podium/kept/{base}": base, f"refs/heads/{branch}": base, "refs/podium/state": base})
    if origin.head:
        warnings += await warn_of_uncommitted(origin, branch, git)
    made = WorkspaceRecord(run_id=run_id, origin=origin, branch=branch, base=base, warnings=warnings)
    write_facts(home, made)
    return made


async def _adopt(origin: Origin, git: Git, history: History, caps: Caps) -> tuple[str, list[str]]:
    await history.adopt(origin)
    files = await history.files(origin.head) or {}
    size = sum(blob.size for blob in files.values())
    if size > caps.workspace_bytes or len(files) > caps.workspace_files:
        raise UsageError(
            f"{origin.folder} is too large: {size:,} bytes in {len(files):,} files; "
            f"{caps.workspace_bytes:,} in {caps.workspace_files:,} are the maximum.",
            hint="Work on a smaller repository.",
        )
    exclude = Path(origin.common_dir) / "info" / "exclude"
    if exclude.is_file() and exclude.stat().st_size < 100_000:
        (git.dir / "info" / "exclude").write_bytes(exclude.read_bytes())
    return origin.head, await _remarks(files, history)


async def _remarks(files: dict[str, Blob], history: History) -> list[str]:
    """Return warnings about submodules and Git LFS."""
    remarks = list[str]()
    submodules = [path for path, blob in files.items() if blob.mode == SUBMODULE]
    if submodules:
        remarks.append(f"Submodules are left empty in the workspace: {', '.join(submodules[:5])}.")
    attributes = files.get(".gitattributes")
    if (
        attributes
        and b"filter=lfs" in (await history.blobs({attributes.sha: attributes.size}))[attributes.sha]
    ):
        remarks.append("Files that Git LFS keeps elsewhere are only pointers in the workspace.")
    return remarks


async def _copy(origin: Origin, history: History, tree: Path, caps: Caps) -> tuple[str, list[str]]:
    """Record the folder's files as a first commit, without those that its `.gitignore` files exclude."""
    writes, warnings = await offload(read_folder, Path(origin.folder), caps)
    first = await history.record("", "", writes)
    files = await history.files(first) or {}
    await Restoring(WorkTree(tree), history).restore(files)
    ignored = await history.ignored(list(files), tree) if files else set[str]()
    if ignored:
        first = await history.record(first, first, [Write(path, None) for path in ignored])
    base = await history.commit(first, "", "The files as they were\n", 0)
    warning = (
        f"{origin.folder} is not in a git repository with a commit: "
        "the run works on a copy, and the result is a patch."
    )
    return base, [warning, *warnings]


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
    workspaces = [_looked_at(home) for home in root.iterdir() if home.is_dir() and not home.is_symlink()]
    return sorted(workspaces, key=lambda workspace: workspace.touched)


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
        return open_folder(name, handle)
    except PermissionError:
        return None
