"""A fork begins with states that another run recorded: its workspace takes them over from that run's.

The workspaces of a store lie side by side, and the name of a state says what is in it. Objects are copied,
not shared: the other workspace may be removed later.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import msgspec

from podium.errors import WorkspaceError
from podium.tools.workspace.facts import Made, read_facts, write_facts
from podium.tools.workspace.git import Git


def inherit(home: Path, made: Made, git: Git, sha: str) -> Made | None:
    """Take a state over from the workspace that has it; what is known of ours then. `None`: nobody has it."""
    for other in sorted(home.parent.iterdir()) if home.parent.is_dir() else []:
        theirs = Git.place(other)
        if other == home or not (theirs / "refs" / "podium" / "kept" / sha).is_file():
            continue
        try:
            facts = read_facts(other)
        except WorkspaceError:  # half removed: as if it were not there
            continue
        _copy_objects(theirs / "objects", git.dir / "objects")
        _copy_shallow(theirs, git.dir)
        _copy_states(theirs, git.dir)
        ours = msgspec.structs.replace(made, base=facts.base)
        write_facts(home, ours)
        return ours
    return None


def _copy_objects(source: Path, target: Path) -> None:
    """All objects that are not there yet. A name says what is in the file, so nothing is ever overwritten."""
    for folder, _, names in os.walk(source):
        place = target / Path(folder).relative_to(source)
        place.mkdir(exist_ok=True)
        for name in sorted(names, key=lambda name: name.endswith(".idx")):  # an index comes after its pack
            if not (place / name).exists() and not name.startswith("tmp_"):
                beside = place / f"tmp_{name}"
                shutil.copyfile(Path(folder) / name, beside)
                beside.replace(place / name)


def _copy_shallow(source: Path, target: Path) -> None:
    """Where either history begins, ours begins too."""
    lines = {line for folder in (source, target) for line in _lines(folder / "shallow")}
    if lines:
        (target / "shallow").write_text("".join(f"{line}\n" for line in sorted(lines)), encoding="ascii")


def _copy_states(source: Path, target: Path) -> None:
    """Every state, and where the branch was then; a fork may go through several of them."""
    for kind in ("heads", "kept"):
        place = target / "refs" / "podium" / kind
        place.mkdir(parents=True, exist_ok=True)
        for file in (source / "refs" / "podium" / kind).glob("*"):
            for line in _lines(file):
                (place / file.name).write_text(f"{line}\n", encoding="ascii")


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="ascii").split() if file.is_file() else []
