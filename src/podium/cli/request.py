"""The request of a run: text, `-` for stdin, `@FILE` for a file."""

from __future__ import annotations

import sys
from pathlib import Path

from podium.errors import UsageError

STDIN = "@-"
"""How `-` is written inside: the parser would take a bare hyphen for an option."""


def read_request(given: str) -> str:
    """The request's text; empty or unreadable ones are refused."""
    if given == STDIN:
        text, source = sys.stdin.buffer.read().decode("utf-8", "replace"), "Standard input"
    elif given.startswith("@") and len(given) > 1:
        text, source = _read_file(Path(given[1:])), given[1:]
    else:
        text, source = given, "The request"
    if not text.strip():
        raise UsageError(f"{source} is empty.", hint="Say what the run should do.")
    return text


def _read_file(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.", hint="`@FILE` reads the request from a file."
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from error
