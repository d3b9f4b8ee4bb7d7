"""The request of a run: text, `-` for stdin, `@FILE` for a file."""

from __future__ import annotations

import sys
from pathlib import Path

from podium.errors import UsageError
from podium.settings.places import at_home

STDIN = "@-"
"""How `-` is written inside: the parser would take a bare hyphen for an option."""


def read_request(given: str, what: str = "request", hint: str = "Say what the run should do.") -> str:
    """The text of a request or an answer (`what`); empty or unreadable ones are refused."""
    if given == STDIN:
        text, source = sys.stdin.buffer.read().decode("utf-8-sig", "replace"), "Standard input"
    elif given.startswith("@") and len(given) > 1:
        text, source = _read_file(at_home(given[1:])), given[1:]
    else:
        text, source = given, f"The {what}"
    if not text.strip():
        raise UsageError(f"{source} is empty.", hint=hint)
    return text


def _read_file(path: Path) -> str:
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}.",
            hint="`@FILE` reads a file; where an @ is meant as text, put a space before it.",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text.", hint="Save it as UTF-8.") from error
