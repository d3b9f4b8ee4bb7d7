"""The note about texts that were cut off and are not complete."""

from __future__ import annotations

from collections.abc import Sequence

from podium.engine.state import RunState
from podium.report.words import count, one_line

SHOWN = 5
"""Steps that the note names; the table of steps marks all of them."""


def cut_steps(state: RunState) -> list[str]:
    """Return the paths of the steps whose text was cut off, sorted."""
    return sorted(step.path for step in state.steps.values() if step.cut and step.status == "completed")


def cut_note(paths: Sequence[str]) -> str:
    """Return one sentence that names the texts that are not complete; empty if all are."""
    if not paths:
        return ""
    verb = "was cut off and is" if len(paths) == 1 else "were cut off and are"
    named = ", ".join(one_line(path, 100) for path in paths[:SHOWN])
    rest = f" and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return f"{count(len(paths), 'text')} {verb} not complete: {named}{rest}."
