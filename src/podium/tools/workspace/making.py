"""Making the workspace of a run, or finding it again after a stop or a crash."""

from __future__ import annotations

from pathlib import Path

from podium.errors import UsageError
from podium.settings.private import make_private_folder
from podium.tools.aside import aside
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.workspace.change import Caps
from podium.tools.workspace.copying import read_folder
from podium.tools.workspace.facts import Made, has_facts, read_facts, write_facts
from podium.tools.workspace.git import Git
from podium.tools.workspace.history import SUBMODULE, Blob, History, Write
from podium.tools.workspace.origin import Origin, find_origin
from podium.tools.workspace.publishing import branch_name
from podium.tools.workspace.restoring import Restoring, remove_folder
from podium.tools.workspace.tree import WorkTree
from podium.tools.workspace.uncommitted import warn_of_uncommitted
from podium.tools.workspace.workspace import Workspace


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


async def _make(folder: Path, run_id: str, git: Git, home: Path, caps: Caps) -> Made:
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
    made = Made(run_id=run_id, origin=origin, branch=branch, base=base, warnings=warnings)
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
    writes, warnings = await aside(read_folder, Path(origin.folder), caps)
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
