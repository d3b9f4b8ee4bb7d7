"""A patch as data, for the report: files, and lines with what happened to them. It is untrusted text."""

from __future__ import annotations

import re
from typing import Any

from podium.report.words import safe

MOST_LINES = 4000
"""Lines of all files together; a page has to open. The patch itself is an artifact."""
MOST_IN_FILE = 1500
LONGEST_LINE = 400

_FILE = re.compile(r"^diff --git (?:\"?a/)(.*?)\"? \"?b/(.*?)\"?$")
KINDS = {"+": "add", "-": "del", " ": "same", "@": "hunk", "\\": "note"}


def parsed(patch: str) -> list[dict[str, Any]]:
    """`[{path, old_path, status, added, removed, lines: [[kind, text]], left_out}]`."""
    files: list[dict[str, Any]] = []
    shown, in_hunk = 0, False
    for line in patch.splitlines():
        found = _FILE.match(line)
        if found:
            files.append(_file(found[2], found[1]))
            in_hunk = False
        elif not files:
            continue
        elif not in_hunk and not line.startswith("@@"):
            _note(files[-1], line)
        else:
            in_hunk = True
            shown += _add(files[-1], line, shown)
    return files


def _file(path: str, old: str) -> dict[str, Any]:
    return {
        "path": safe(path), "old_path": "" if old == path else safe(old), "status": "modified", "added": 0,
        "removed": 0, "lines": [], "left_out": 0,
    }  # fmt: skip


def _note(file: dict[str, Any], line: str) -> None:
    for start, status in (("new file", "added"), ("deleted file", "deleted"), ("rename from", "renamed")):
        if line.startswith(start):
            file["status"] = status
    if line.startswith(("Binary files", "GIT binary patch")):
        file["lines"].append(["note", "binary file"])


def _add(file: dict[str, Any], line: str, shown: int) -> int:
    """Count a line of a hunk, and show it while there is room. Returns how many were shown."""
    kind = KINDS.get(line[:1], "same")
    file["added"] += kind == "add"
    file["removed"] += kind == "del"
    if shown >= MOST_LINES or len(file["lines"]) >= MOST_IN_FILE:
        file["left_out"] += 1
        return 0
    text = safe(line if kind == "hunk" else line[1:])
    file["lines"].append([kind, text if len(text) <= LONGEST_LINE else f"{text[:LONGEST_LINE]}…"])
    return 1
