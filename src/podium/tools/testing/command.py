"""How the tests of a project are run."""

from __future__ import annotations

import msgspec


class TestCommand(msgspec.Struct, frozen=True):
    """A command, and how its results are read."""

    __test__ = False  # its name makes pytest take it for a test

    argv: list[str]
    framework: str
    why: str = ""
    """What it was told by: a file of the project, or the user."""
    results: str = ""
    """File that the framework writes its results to, from the workspace's root; empty: read its output."""
    env: dict[str, str] = {}
    readable: list[str] = []
    """Folders outside that the command needs, such as an interpreter's."""
