"""File changes and allowed paths.

Paths are refused if any system would resolve them elsewhere, or into the `.git` folder. That includes
spellings of `.git` that NTFS, HFS+ or a case-insensitive file system treat as equal, because the user may
check out there.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

import msgspec

Action = Literal["create", "modify", "delete", "rename"]
Status = Literal["added", "modified", "deleted", "renamed"]


class Edit(msgspec.Struct, frozen=True):
    """One search-and-replace block."""

    search: str
    """Text that occurs in the file exactly once."""
    replace: str


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """One file to create, modify, delete or rename."""

    path: str
    """Relative to the root of the workspace, with `/` between names."""
    action: Action
    content: str | None = None
    """The whole file: required to create one, and one of two ways to modify one."""
    edits: list[Edit] = []
    """The other way to modify a file; also allowed with a rename. Applied in order."""
    new_path: str = ""
    """New path of a renamed file."""
    executable: bool | None = None
    """Sets or clears the executable bit; None leaves it unchanged."""


class Refusal(msgspec.Struct, frozen=True):
    """The reason why one change of a set was refused."""

    index: int
    """Index in the set, from 0."""
    path: str
    action: str
    reason: str
    """One sentence that the coder can act on."""


class FileStat(msgspec.Struct, frozen=True):
    """Diff statistics of one file."""

    path: str
    added: int
    removed: int
    binary: bool = False
    old_path: str = ""
    """Path before a rename; empty otherwise."""
    status: Status = "modified"


class Applied(msgspec.Struct, frozen=True):
    """A set of changes that was applied as a whole."""

    snapshot: str
    """State of the workspace afterwards, for `restore`."""
    files: list[FileStat]
    """Differences from the state before."""
    diff: str = ""
    """The same as a patch, truncated if very long."""


class Caps(msgspec.Struct, frozen=True, kw_only=True):
    """Size limits."""

    file_bytes: int = 1_000_000
    """Maximum size of one file that a coder writes."""
    change_bytes: int = 5_000_000
    """Maximum size of all files in one set of changes."""
    changes: int = 200
    """Maximum number of files in one set of changes."""
    workspace_bytes: int = 1_000_000_000
    """Maximum size of the workspace."""
    workspace_files: int = 100_000


MAX_PATH = 500
MAX_NAME = 200
MAX_DEPTH = 24

_NTFS_SHORT = re.compile(r"git~\d+", re.IGNORECASE)
_IGNORABLE = frozenset(
    "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
)
"""Characters that HFS+ ignores when it compares names."""
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)", re.IGNORECASE)
_DRIVE = re.compile(r"^[A-Za-z]:")


def path_trouble(path: str) -> str:
    """Return why this path is refused, as one sentence; empty if it is allowed."""
    if not path:
        return "A path is needed."
    if len(path) > MAX_PATH:
        return f"The path is longer than {MAX_PATH} characters."
    if not path.isprintable() or any(unicodedata.category(letter) in ("Cf", "Cs", "Co") for letter in path):
        return "The path holds control or invisible characters."
    if path.startswith(("/", "~", "\\")) or _DRIVE.match(path):
        return "The path is not relative to the root of the workspace."
    names = path.split("/")
    if len(names) > MAX_DEPTH:
        return f"The path is deeper than {MAX_DEPTH} folders."
    return next((trouble for name in names if (trouble := name_trouble(name))), "")


def name_trouble(name: str) -> str:
    """Return why this component of a path is refused; empty if it is allowed."""
    if name == "":
        return "The path has an empty part: no double `/`, and none at the end."
    if name in (".", ".."):
        return f"The path holds `{name}`."
    if len(name.encode()) > MAX_NAME:
        return f"A part of the path is longer than {MAX_NAME} bytes."
    if "\\" in name:
        return "The path holds `\\`: names are divided by `/`."
    if is_git(name):
        return "Git's own files are not for changing."
    if name.casefold() == ".gitmodules":
        return "Where submodules come from is not for changing."
    if ":" in name or name != name.rstrip(" .") or name != name.lstrip(" "):
        return f"`{name}` is not a name that every system can hold."
    if _DEVICES.fullmatch(name.partition(".")[0].strip()):
        return f"`{name}` is the name of a device on some systems."
    return ""


def is_git(name: str) -> bool:
    """Return True if some file system treats this name as `.git`."""
    folded = unicodedata.normalize("NFKC", name)
    folded = "".join(letter for letter in folded if letter not in _IGNORABLE).casefold()
    bare = folded.partition(":")[0].rstrip(" .").lstrip(" ")  # NTFS ignores a stream name and these
    return bare == ".git" or bool(_NTFS_SHORT.fullmatch(bare))
