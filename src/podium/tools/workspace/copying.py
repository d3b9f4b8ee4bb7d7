"""A folder that is in no repository becomes the first commit of one that is private to the run."""

from __future__ import annotations

from pathlib import Path

from podium.errors import UsageError
from podium.tools.workspace.change import Caps
from podium.tools.workspace.history import FILE, LINK, PROGRAM, Write
from podium.tools.workspace.paths import is_git
from podium.tools.workspace.tree import Entry, WorkTree, shown

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


def _write(tree: WorkTree, entry: Entry) -> Write:
    if entry.kind == "link":
        return Write(entry.path, tree.target(entry.path).encode("utf-8", "surrogateescape"), LINK)
    return Write(entry.path, tree.read(entry.path, entry.size), PROGRAM if entry.executable else FILE)
