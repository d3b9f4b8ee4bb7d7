"""Branch publication and import of forked states.

Publishing writes two new things to the user's repository: a pack with the run's objects, and the branch. They
are written directly and not by git, so that no program from the repository's settings runs, and without
following links in it.

The workspaces of a store lie side by side, and a state's hash identifies its content. Objects are copied, not
shared: the other workspace may be removed later.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from podium.errors import WorkspaceError
from podium.tools.workspace.git import Git
from podium.tools.workspace.origin import Origin, WorkspaceRecord, read_facts, read_ref, write_facts
from podium.tools.workspace.tree import WorkTree

MAX_PACK = 2_000_000_000


def branch_name(origin: Origin, run_id: str) -> str:
    """Return the run's branch name. If the user has a branch `podium`, no `podium/…` branch can exist beside
    it."""
    common = Path(origin.common_dir) if origin.common_dir else None
    taken = common is not None and bool(read_ref(common, "refs/heads/podium"))
    return f"podium-{run_id}" if taken else f"podium/{run_id}"


def refuse_to_publish(origin: Origin) -> str:
    """Return why no branch can be written, as one sentence; empty if one can."""
    if not origin.common_dir:
        return "The folder is in no git repository: the result is a patch."
    if not origin.owned:
        return "The repository does not say that this folder is its own: the result is a patch."
    if (Path(origin.common_dir) / "reftable").exists():
        return "The repository keeps its branches in a reftable: the result is a patch."
    return ""


def publish(origin: Origin, branch: str, head: str, ours: set[str], pack: Path) -> None:
    """Write the pack, then the branch. Refuse if the branch is checked out, or was moved by others."""
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
            f"The branch {branch} was changed by others and is left as it is.",
            hint="The result is in the patch.",
        )
    repository, packed = WorkTree(common), WorkTree(pack.parent)
    try:
        for suffix in (".pack", ".idx"):  # git looks for the index, so it comes last
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
    """Return True if the branch is checked out, here or in a linked work tree."""
    places = [common / "HEAD", *common.glob("worktrees/*/HEAD")]
    return any(
        place.is_file() and place.read_text(errors="replace").strip() == f"ref: {name}" for place in places
    )


def _write_ref(repository: WorkTree, name: str, head: str) -> None:
    """Write a ref atomically, as git does; refuse if a git process of the user holds its lock."""
    if repository.look(f"{name}.lock").kind != "missing":
        raise WorkspaceError("another git has locked it")
    repository.write(name, f"{head}\n".encode(), sync=True)


def inherit(home: Path, made: WorkspaceRecord, git: Git, sha: str) -> WorkspaceRecord | None:
    """Import a state from a sibling workspace; return our updated record, or None if no workspace has the
    state."""
    for other in sorted(home.parent.iterdir()) if home.parent.is_dir() else []:
        theirs = Git.place(other)
        if other == home or not (theirs / "refs" / "podium" / "kept" / sha).is_file():
            continue
        try:
            facts = read_facts(other)
        except WorkspaceError:  # half removed: treat as missing
            continue
        _copy_objects(theirs / "objects", git.dir / "objects")
        _copy_shallow(theirs, git.dir)
        _copy_states(theirs, git.dir)
        ours = msgspec.structs.replace(made, base=facts.base)
        write_facts(home, ours)
        return ours
    return None


def _copy_objects(source: Path, target: Path) -> None:
    """Copy all missing objects. A name identifies the content, so nothing is ever overwritten."""
    for folder, _, names in os.walk(source):
        place = target / Path(folder).relative_to(source)
        place.mkdir(exist_ok=True)
        for name in sorted(names, key=lambda name: name.endswith(".idx")):  # an index comes after its pack
            if not (place / name).exists() and not name.startswith("tmp_"):
                beside = place / f"tmp_{name}"
                shutil.copyfile(Path(folder) / name, beside)
                beside.replace(place / name)


def _copy_shallow(source: Path, target: Path) -> None:
    """Merge the shallow boundaries of both histories."""
    lines = {line for folder in (source, target) for line in _lines(folder / "shallow")}
    if lines:
        (target / "shallow").write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="ascii")


def _copy_states(source: Path, target: Path) -> None:
    """Copy every state with its branch head; a fork may go through several of them."""
    for kind in ("heads", "kept"):
        place = target / "refs" / "podium" / kind
        place.mkdir(parents=True, exist_ok=True)
        for file in (source / "refs" / "podium" / kind).glob("*"):
            for line in _lines(file):
                (place / file.name).write_text(f"{line}\n", encoding="ascii")


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").split() if file.is_file() else []
