"""Making or reopening a workspace."""

from __future__ import annotations

from pathlib import Path

from podium.engine.process import offload
from podium.errors import PodiumError, UsageError
from podium.settings.places import make_private_folder
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.workspace.change import Caps, is_git
from podium.tools.workspace.git import FILE, LINK, PROGRAM, SUBMODULE, Blob, Git, History, Write
from podium.tools.workspace.origin import (
    Origin,
    WorkspaceRecord,
    find_origin,
    has_facts,
    read_facts,
    write_facts,
)
from podium.tools.workspace.transfer import branch_name
from podium.tools.workspace.tree import TreeEntry, WorkTree, shown
from podium.tools.workspace.workspace import Restoring, Workspace, remove_folder

LEFT_OUT = frozenset({
    "node_modules", ".venv", "venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox",
    ".nox", ".hg", ".svn", ".DS_Store",
})  # fmt: skip
"""Made by programs from what else is there, and often huge."""


def read_folder(folder: Path, caps: Caps) -> tuple[list[Write], list[str]]:
    """Every file of a folder that a copy takes over, and warnings about what it does not."""
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
        f"{len(skipped)} pipes, sockets or devices were not copied, the first is {shown(skipped[0])}."
    ]


def _check(folder: Path, size: int, count: int, caps: Caps) -> None:
    if size > caps.workspace_bytes or count > caps.workspace_files:
        raise UsageError(
            f"{folder} is too large to copy: {caps.workspace_bytes:,} bytes in {caps.workspace_files:,} "
            "files are the most.",
            hint="Make it a git repository with a .gitignore, or give --workspace a smaller folder.",
        )


def _write(tree: WorkTree, entry: TreeEntry) -> Write:
    if entry.kind == "link":
        return Write(entry.path, tree.target(entry.path).encode("utf-8", "surrogateescape"), LINK)
    return Write(entry.path, tree.read(entry.path, entry.size), PROGRAM if entry.executable else FILE)


MAX_INDEX = 200_000_000
NOT_TOLD = "Whether there are uncommitted changes could not be found out; they are not part of the run."


async def warn_of_uncommitted(origin: Origin, branch: str, git: Git) -> list[str]:
    """A sentence that counts and names them, or none.

    A copy of the user's index is compared with their files, which are only read. Their settings do not
    count here, so that a file that a filter rewrites may be told as changed though it is not.
    """
    copy = git.folder / "index"
    try:
        copy.write_bytes(WorkTree(Path(origin.git_dir)).read("index", MAX_INDEX))
        (git.dir / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")
        told = await git.run(
            "-c", "core.bare=false", "status", "--porcelain", "-z", "--no-renames",
            "--untracked-files=normal", "--ignore-submodules=all",
            readable=[Path(origin.folder)],
            env={"GIT_WORK_TREE": origin.folder, "GIT_INDEX_FILE": str(copy)},
        )  # fmt: skip
    except FileNotFoundError:  # nothing was ever staged here
        return []
    except (PodiumError, OSError):
        return [NOT_TOLD]
    finally:
        copy.unlink(missing_ok=True)
    paths = [shown(line[3:]) for line in told.decode("utf-8", "surrogateescape").split("\0") if line]
    if not paths:
        return []
    named = ", ".join(paths[:5]) + (", …" if len(paths) > 5 else "")
    return [f"Uncommitted changes are not part of the run, {len(paths)} in all: {named}."]


async def open_workspace(
    folder: Path | str, run_id: str, sandbox: Sandbox, *, home: Path, caps: Caps | None = None
) -> Workspace:
    """The run's workspace in `home`, a folder that is the run's alone.

    A new one begins with the commit that is checked out in `folder`; what is not committed is left out, with
    a warning. A folder in no repository is copied. One that is there already is opened as it was last
    recorded; `folder` is not looked at again.
    """
    git, caps = Git(sandbox, home / "git"), caps or Caps()
    if not has_facts(home):
        remove_folder(home)
        made = await _make(Path(folder), run_id, git, home, caps)
    else:
        made = read_facts(home)
        (home / "tree").mkdir(mode=0o700, exist_ok=True)  # folded up when the run was left
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
            f"{caps.workspace_bytes:,} in {caps.workspace_files:,} are the most.",
            hint="Work on a smaller repository.",
        )
    exclude = Path(origin.common_dir) / "info" / "exclude"
    if exclude.is_file() and exclude.stat().st_size < 100_000:
        (git.dir / "info" / "exclude").write_bytes(exclude.read_bytes())
    return origin.head, await _remarks(files, history)


async def _remarks(files: dict[str, Blob], history: History) -> list[str]:
    """What a user of such a repository has to know."""
    found = list[str]()
    submodules = [path for path, blob in files.items() if blob.mode == SUBMODULE]
    if submodules:
        found.append(f"Submodules are left empty in the workspace: {', '.join(submodules[:5])}.")
    attributes = files.get(".gitattributes")
    if (
        attributes
        and b"filter=lfs" in (await history.blobs({attributes.sha: attributes.size}))[attributes.sha]
    ):
        found.append("Files that Git LFS keeps elsewhere are only pointers in the workspace.")
    return found


async def _copy(origin: Origin, history: History, tree: Path, caps: Caps) -> tuple[str, list[str]]:
    """The folder's files as a first commit, without those that its `.gitignore` files leave out."""
    writes, warnings = await offload(read_folder, Path(origin.folder), caps)
    first = await history.record("", "", writes)
    files = await history.files(first) or {}
    await Restoring(WorkTree(tree), history).restore(files)
    ignored = await history.ignored(list(files), tree) if files else set[str]()
    if ignored:
        first = await history.record(first, first, [Write(path, None) for path in ignored])
    base = await history.commit(first, "", "The files as they were\n", 0)
    told = (
        f"{origin.folder} is in no git repository with a commit: a copy is worked on, the result is a patch."
    )
    return base, [told, *warnings]
