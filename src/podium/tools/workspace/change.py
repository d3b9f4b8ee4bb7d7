"""File changes and allowed paths.

Refused is everything that some system reads as leading elsewhere, or into git's own folder. Spellings of
`.git` that NTFS, HFS+ or a file system without case take for it count too: the user may check out there.
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


MAX_PATH = 500
MAX_NAME = 200
MAX_DEPTH = 24

_NTFS_SHORT = re.compile(r"git~\d+", re.IGNORECASE)
_IGNORABLE = frozenset(
    "\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u206a\u206b\u206c\u206d\u206e\u206f\ufeff"
)
"""Characters that HFS+ leaves out when it compares names."""
_DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)", re.IGNORECASE)
_DRIVE = re.compile(r"^[A-Za-z]:")


def path_trouble(path: str) -> str:
    """Why this path is refused, as a sentence; empty if it is a good one."""
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
    """Why this part of a path is refused."""
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
    """Whether some file system takes this name for `.git`."""
    folded = unicodedata.normalize("NFKC", name)
    folded = "".join(letter for letter in folded if letter not in _IGNORABLE).casefold()
    bare = folded.partition(":")[0].rstrip(" .").lstrip(" ")  # an alternate stream, and what NTFS drops
    return bare == ".git" or bool(_NTFS_SHORT.fullmatch(bare))
