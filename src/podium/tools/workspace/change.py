"""What a coder may do to files, and what came of it; plain data that a step can log."""

from __future__ import annotations

from typing import Literal

import msgspec

Action = Literal["create", "modify", "delete", "rename"]
Status = Literal["added", "modified", "deleted", "renamed"]


class Edit(msgspec.Struct, frozen=True):
    """One search-and-replace block."""

    search: str
    """Text that stands in the file exactly once."""
    replace: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One file to create, modify, delete or rename."""

    path: str
    """From the root of the workspace, with `/` between names."""
    action: Action
    content: str | None = None
    """The whole file: needed to create one, one of two ways to modify one."""
    edits: list[Edit] = []
    """The other way to modify a file; also allowed with a rename. Applied one after the other."""
    new_path: str = ""
    """Where a renamed file goes."""
    executable: bool | None = None
    """Whether the file can be run as a program; `None` leaves that as it is."""


class Refusal(msgspec.Struct, frozen=True):
    """Why one change of a set was not made."""

    index: int
    """Its place in the set, from 0."""
    path: str
    action: str
    reason: str
    """One sentence that the coder can act on."""


class FileStat(msgspec.Struct, frozen=True):
    """How much one file differs."""

    path: str
    added: int
    removed: int
    binary: bool = False
    old_path: str = ""
    """Where the file was before it was renamed."""
    status: Status = "modified"


class Applied(msgspec.Struct, frozen=True):
    """A set of changes that was made, all of it."""

    snapshot: str
    """The state of the workspace afterwards, for `restore`."""
    files: list[FileStat]
    """What differs from the state before."""
    diff: str = ""
    """The same as a patch, cut where it is very long."""


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """How much may be written."""

    file_bytes: int = 1_000_000
    """One file that a coder writes."""
    change_bytes: int = 5_000_000
    """All files of one set of changes."""
    changes: int = 200
    """Files in one set of changes."""
    workspace_bytes: int = 1_000_000_000
    """Everything in the workspace."""
    workspace_files: int = 100_000
