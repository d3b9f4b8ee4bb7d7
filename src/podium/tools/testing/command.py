"""How the tests of a project are run, and the project they are found in."""

from __future__ import annotations

from pathlib import Path

import msgspec

from podium.errors import WorkspaceError
from podium.tools.workspace.tree import WorkTree

MAX_READ = 1_000_000


class TestCommand(msgspec.Struct, frozen=True, kw_only=True):
    """A command, and what it needs around it."""

    __test__ = False  # its name makes pytest take it for a test

    argv: list[str]
    framework: str
    """`pytest`, `jest`, `vitest`, `npm`, `go`, `cargo`, `make` or `command`: how its results are read."""
    told_as: str
    """As a person would type it."""
    why: str
    """What it was told by: a file of the project, or the user."""
    env: dict[str, str] = {}
    readable: list[str] = []
    """Folders outside that it needs, such as an interpreter's; they cannot be written."""
    links: dict[str, str] = {}
    """Names in the project's folder that lead to such a folder while the tests run."""


class Project(msgspec.Struct, frozen=True):
    """What tests are looked for in."""

    tree: Path
    """The work tree."""
    files: frozenset[str]
    """Every file of it that git knows."""
    origin: Path
    """The user's folder, for what is installed there: `.venv`, `node_modules`."""
    results: Path
    """The folder that frameworks write their results to."""
    below: str = ""
    """Where in the tree the project lies."""

    def has(self, name: str) -> bool:
        return self._at(name) in self.files

    def text(self, name: str) -> str:
        """What a file of the project says; empty if there is none."""
        if not self.has(name):
            return ""
        try:
            return WorkTree(self.tree).read(self._at(name), MAX_READ).decode("utf-8", "replace")
        except (OSError, WorkspaceError):  # a link or something huge tells nothing about tests
            return ""

    def installed(self, name: str) -> Path | None:
        """A folder beside the user's files that git does not know, such as `.venv`."""
        for folder in dict.fromkeys((self.below, "")):
            path = f"{folder}/{name}" if folder else name
            place = self.origin / path
            if place.is_dir() and not any(file == path or file.startswith(path + "/") for file in self.files):
                return place
        return None

    def own_files(self) -> list[str]:
        """The project's files, from its own folder."""
        prefix = f"{self.below}/" if self.below else ""
        return [file[len(prefix) :] for file in self.files if file.startswith(prefix)]

    def _at(self, name: str) -> str:
        return f"{self.below}/{name}" if self.below else name
