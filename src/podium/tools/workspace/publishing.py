"""Leaving the run's branch in the user's repository, so that `git log podium/RUN` works there.

Two things are written, both new: a pack with the run's objects, and the branch. Written by us and not by git,
so that nothing the repository's settings name is run; and without following links in it.
"""

from __future__ import annotations

from pathlib import Path

from podium.errors import WorkspaceError
from podium.tools.workspace.origin import Origin, read_ref
from podium.tools.workspace.tree import WorkTree

MAX_PACK = 2_000_000_000


def branch_name(origin: Origin, run_id: str) -> str:
    """The run's branch; a user's own branch called `podium` takes the folder of that name away."""
    common = Path(origin.common_dir) if origin.common_dir else None
    taken = common is not None and bool(read_ref(common, "refs/heads/podium"))
    return f"podium-{run_id}" if taken else f"podium/{run_id}"


def refuse_to_publish(origin: Origin) -> str:
    """Why no branch can be left, as a sentence; empty if one can."""
    if not origin.common_dir:
        return "The folder is in no git repository: the result is a patch."
    if not origin.owned:
        return "The repository does not say that this folder is its own: the result is a patch."
    if (Path(origin.common_dir) / "reftable").exists():
        return "The repository keeps its branches in a reftable: the result is a patch."
    return ""


def publish(origin: Origin, branch: str, head: str, ours: set[str], pack: Path) -> None:
    """Write the pack, then the branch; a branch that somebody else has moved is left alone."""
    common = Path(origin.common_dir)
    name = f"refs/heads/{branch}"
    before = read_ref(common, name)
    if before == head:
        return
    if _is_checked_out(common, name):
        raise WorkspaceError(
            f"The branch {branch} is checked out and stays where it is, so that no files change under it.",
            hint="The result is in the patch.",
        )
    if before and before not in ours:
        raise WorkspaceError(
            f"The branch {branch} was changed by somebody else and is left as it is.",
            hint="The result is in the patch.",
        )
    repository, packed = WorkTree(common), WorkTree(pack.parent)
    try:
        for suffix in (".pack", ".idx"):  # git looks for the index: it comes last
            data = packed.read(pack.name + suffix, MAX_PACK)
            repository.write(f"objects/pack/{pack.name}{suffix}", data, sync=True)
        _write_ref(repository, name, head)
    except (OSError, WorkspaceError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise WorkspaceError(
            f"The branch {branch} could not be left in {origin.folder}: {reason}.",
            hint="The result is in the patch.",
        ) from error


def _is_checked_out(common: Path, name: str) -> bool:
    """Whether the user works on this branch, here or in a linked work tree."""
    places = [common / "HEAD", *common.glob("worktrees/*/HEAD")]
    return any(
        place.is_file() and place.read_text(errors="replace").strip() == f"ref: {name}" for place in places
    )


def _write_ref(repository: WorkTree, name: str, head: str) -> None:
    """In one move, as git does it; a git of the user's that is at this very branch goes first."""
    if repository.look(f"{name}.lock").kind != "missing":
        raise WorkspaceError("another git has locked it")
    repository.write(name, f"{head}\n".encode(), sync=True)
