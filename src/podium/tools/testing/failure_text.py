"""Failures of pytest, shortened for models: the error, then the last frames in the project's own files."""

from __future__ import annotations

import re
import textwrap

from podium.tools.testing.report import Failure

MAX_FRAMES = 3
_BETWEEN = re.compile(r"\n(?:_ ){5,}_?[ ]*\n|\n(?=\S+:\d+: in )")
_ERROR = re.compile(r"^E {2,3}")
_PLACE = re.compile(r"^(\S+?):(\d+):(?: |$)", re.MULTILINE)
_LIBRARY = re.compile(r"^(?:/|<)|(?:^|/)(?:site-packages|\.venv|venv|node_modules)/")


def shortened(failure: Failure) -> str:
    """Return the text of a failure; as it is, if it is not a traceback of pytest."""
    lines = failure.output.splitlines()
    errors = [_ERROR.sub("", line) for line in lines if _ERROR.match(line)]
    if not errors:
        return failure.output
    frames = [frame.strip("\n") for frame in _BETWEEN.split(f"\n{failure.output}\n")]
    own = [frame for frame in frames if _is_own(frame)]
    shown = [_without_errors(frame) for frame in reversed(own[-MAX_FRAMES:])]
    left_out = len(frames) - len(shown)
    parts = [textwrap.dedent("\n".join(errors)), *shown]
    if left_out:
        parts.append(f"[{left_out} other frames; `pytest {failure.name} --tb=long` shows all]")
    return "\n\n".join(part for part in parts if part)


def _is_own(frame: str) -> bool:
    places = _PLACE.findall(frame)
    return bool(places) and not _LIBRARY.search(places[-1][0])


def _without_errors(frame: str) -> str:
    return "\n".join(line for line in frame.splitlines() if line.strip() and not _ERROR.match(line))
