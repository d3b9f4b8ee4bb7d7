"""File names made of names that a model chose."""

from __future__ import annotations

import hashlib
import re

from podium.report.words import one_line

MOST_BYTES = 255
"""The longest name, in bytes, that common file systems take."""
MOST_SUFFIX = 20
"""The longest extension, in bytes, that is kept when a name is shortened."""
_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f\x7f]')
_RESERVED = re.compile(r"(con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices, with any extension."""


def file_name(name: str, otherwise: str = "artifact") -> str:
    """Return a name that is safe inside any folder: no path, no hidden file, no reserved name, at most 255
    bytes. The extension stays; a name that was shortened carries a part of its hash, so that two long names
    stay different."""
    last = one_line(name).replace("\\", "/").rpartition("/")[2]
    clean = _FORBIDDEN.sub("_", last).strip(" ").lstrip(". ").rstrip(". ")
    if not clean:
        return otherwise
    if _RESERVED.fullmatch(clean):
        clean = f"_{clean}"
    return shortened(clean)


def shortened(name: str, most: int = MOST_BYTES) -> str:
    """Return a name of at most `most` bytes in UTF-8, with its extension."""
    data = name.encode("utf-8", "replace")
    if len(data) <= most:
        return data.decode()
    stem, dot, suffix = name.rpartition(".")
    tail = f"{dot}{suffix}" if stem and len(suffix.encode("utf-8", "replace")) <= MOST_SUFFIX else ""
    mark = f"~{hashlib.sha256(data).hexdigest()[:8]}{tail}"
    room = most - len(mark.encode("utf-8", "replace"))
    return data[:room].decode("utf-8", "ignore").rstrip(" .") + mark


class FileNames:
    """Unique file names for one folder; also unique where the file system ignores case."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, name: str) -> str:
        """Return a safe name that was not taken before; equal names get a number in front."""
        safe = file_name(name)
        chosen, number = safe, 1
        while chosen.casefold() in self._taken:
            number += 1
            chosen = f"{number}-{shortened(safe, MOST_BYTES - len(str(number)) - 1)}"
        self._taken.add(chosen.casefold())
        return chosen
