"""Which paths a coder may name.

Refused is everything that some system reads as leading elsewhere, or into git's own folder. Spellings of
`.git` that NTFS, HFS+ or a file system without case take for it count too: the user may check out there.
"""

from __future__ import annotations

import re
import unicodedata

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
