"""What the flow needs of the workspace, its files and its tests. Every operation starts from a snapshot, so
it can be done again after a crash, on a work tree in whatever state."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from podium.workflows.build.contracts import Change, LookUp
from podium.workflows.build.state import TestResult


class Started(msgspec.Struct, frozen=True):
    """A workspace to work on."""

    branch: str
    base: str
    snapshot: str
    origin: str
    tests: str
    sandbox: str
    sandbox_reason: str = ""
    warnings: list[str] = []


class Applied(msgspec.Struct, frozen=True):
    """Changes in the workspace; or, with `refused`, why nothing was changed."""

    snapshot: str
    files: list[str] = []
    refused: list[str] = []


class Inspected(msgspec.Struct, frozen=True):
    """What a program sees in the difference of two snapshots."""

    diff: str
    """As it stands in prompts: cut and fenced."""
    files: list[str]
    tests: list[str]
    has_tests: bool
    caught: list[str]
    """What closes the code gate."""
    suspected: list[str] = []
    """What the supervisor is shown."""
    security: list[str] = []


class Tested(msgspec.Struct, frozen=True):
    """The result of the tests, and as it stands in prompts."""

    result: TestResult
    shown: str
    warnings: list[str] = []
    """What a user should know of files that the tests left."""


class Delivered(msgspec.Struct, frozen=True):
    """What the branch came to."""

    branch: str
    head: str
    commits: list[str]
    """The oldest first."""
    stat: dict[str, Any]
    patch: bytes
    """The whole difference from the base; never cut."""
    where: str = ""
    """The repository that holds the branch; empty: there is only the patch."""
    warnings: list[str] = []
    """All that there is to know about the workspace by now."""


class Ground(Protocol):
    """The workspace of a run."""

    async def start(self) -> Started: ...

    async def map(self, snapshot: str) -> str:
        """Tree and symbols, within a budget; fenced."""
        ...

    async def files(self, snapshot: str, paths: list[str]) -> list[str]:
        """The text of files that a step names; fenced, and cut where they are long."""
        ...

    async def look_up(self, snapshot: str, wanted: LookUp) -> tuple[bool, str]: ...

    async def apply(self, snapshot: str, changes: list[Change]) -> Applied: ...

    async def inspect(self, before: str, after: str, allowed: list[str]) -> Inspected: ...

    async def test(self, snapshot: str, seconds: float) -> Tested: ...

    async def commit(self, snapshot: str, message: str) -> str:
        """A commit of this state on the run's branch; the same one if it is there already."""
        ...

    async def deliver(self, snapshot: str) -> Delivered: ...
