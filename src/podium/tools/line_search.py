"""Line-by-line text search; also a standalone program (see `files.match_pattern`).

As a program it reads JSON with pattern, texts and limit from standard input. It imports only the standard
library to start quickly.
"""

from __future__ import annotations

import json
import re
import resource
import sys
from collections.abc import Callable
from typing import Any

Text = tuple[str, str]
"""Path and contents."""
Found = tuple[str, int, str]
"""Path, line number and line."""

MAX_LINE = 300
MAX_MEMORY = 1_000_000_000


def shortened(line: str) -> str:
    """Return the start of a long line, with a note of its length."""
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]}… [{len(line):,} characters]"


def match_plainly(wanted: str, texts: list[Text], limit: int) -> list[Found]:
    """Return the lines that contain the text, ignoring case."""
    low = wanted.casefold()
    return match_lines(texts, limit, lambda line: low in line.casefold())


def match_lines(texts: list[Text], limit: int, fits: Callable[[str], object]) -> list[Found]:
    """Return the first `limit` lines for which `fits` is true."""
    matches = list[Found]()
    for path, text in texts:
        for number, line in enumerate(text.splitlines(), 1):
            if fits(line):
                matches.append((path, number, shortened(line.rstrip())))
                if len(matches) >= limit:
                    return matches
    return matches


def main() -> None:
    """Answer one request: print `{"found": […]}`, or `{"error": …}` for an invalid pattern."""
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    request: dict[str, Any] = json.load(sys.stdin)
    try:
        pattern = re.compile(request["pattern"])
        answer: dict[str, Any] = {"found": match_lines(request["texts"], request["limit"], pattern.search)}
    except (re.error, OverflowError, RecursionError, MemoryError) as error:
        answer = {"error": str(error) or type(error).__name__}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
