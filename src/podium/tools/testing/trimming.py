"""Bringing what programs print down to what matters."""

from __future__ import annotations

import re
from pathlib import Path

MAX_OUTPUT = 8_000
MAX_FAILURE = 3_000
MAX_FAILURES = 20
MAX_NAMES = 5_000

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def plain(text: str, tree: Path | None = None) -> str:
    """Without colours and control characters, and with paths as the project has them."""
    text = _CONTROL.sub("", _ESCAPE.sub("", text)).replace("\r\n", "\n")
    text = "\n".join(line.rpartition("\r")[2] for line in text.split("\n"))  # a progress bar's last state
    return text.replace(f"{tree}/", "").replace(str(tree), ".") if tree else text


def ends_of(text: str, limit: int) -> str:
    """The beginning and, mostly, the end of a long text, with a mark of what is missing between."""
    text = text.strip("\n")
    if len(text) <= limit:
        return text
    head, tail = limit // 4, limit - limit // 4
    start, end = text[:head].rpartition("\n")[0], text[-tail:].partition("\n")[2]
    start, end = start or text[:head], end or text[-tail:]
    return f"{start}\n[… {len(text) - len(start) - len(end):,} characters …]\n{end}"


def first_line(text: str, limit: int = 300) -> str:
    """The first line that says something."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= limit else line[: limit - 1] + "…"
