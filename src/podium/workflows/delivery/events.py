"""Events of the direct draft, the editor's pass and the blind comparison, and their lines."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from podium.engine.events import Event, EventData
from podium.engine.state import RunState
from podium.report.presentation import Line, line_for
from podium.report.words import count, one_line


class Drafted(EventData, frozen=True, kw_only=True):
    """The direct draft is there; it is kept as a file."""

    type: ClassVar[str] = "floor.drafted"
    artifact: str
    points: list[str]


class Skipped(EventData, frozen=True, kw_only=True):
    """No direct draft is made."""

    type: ClassVar[str] = "floor.skipped"
    reason: str


class Edited(EventData, frozen=True, kw_only=True):
    """The editor has read the document."""

    type: ClassVar[str] = "floor.edited"
    parts: int
    missing: list[str] = msgspec.field(default_factory=list[str])
    sent_back: list[str] = msgspec.field(default_factory=list[str])
    changes: int = 0
    """Passages that the editor changed."""
    rewritten: bool = False


class Compared(EventData, frozen=True, kw_only=True):
    """Two blind comparisons of the document with the direct draft."""

    type: ClassVar[str] = "floor.compared"
    preferred: str
    """`team`, `draft` or `equal`."""
    why: list[str] = msgspec.field(default_factory=list[str])


class BaselineCompared(EventData, frozen=True, kw_only=True):
    """The best of several direct drafts, which took about as many tokens as the run, beside its result."""

    type: ClassVar[str] = "floor.baseline"
    n: int
    """Number of drafts that the best one was picked from."""
    preferred: str
    """`result`, `baseline` or `equal`. Empty means not compared."""
    why: list[str] = msgspec.field(default_factory=list[str])
    tokens: int = 0
    """Tokens of the drafts, the pick and the comparison."""
    artifact: str = ""

    def shown(self) -> dict[str, Any]:
        """Return the outcome for the run's JSON output."""
        return {"n": self.n, "preferred": self.preferred, "why": self.why, "tokens": self.tokens}


@line_for("floor.drafted", "floor.skipped", "floor.edited", "floor.compared", "floor.baseline")
def line_of(event: Event, state: RunState) -> Line | None:
    """Return the line of one of these events."""
    match event.data:
        case Drafted() as data:
            return Line(f"Direct draft: {count(len(data.points), 'point')} to cover", mark="▸")
        case Skipped() as data:
            return Line(f"No direct draft: {data.reason}", mark="▸")
        case Edited() as data:
            return Line(f"Editor: {summary_of(data)}", mark="▸")
        case Compared() as data:
            return _verdict(VERDICTS.get(data.preferred, data.preferred), data.why)
        case BaselineCompared() as data:
            return _verdict(baseline_verdict(data.n, data.preferred), data.why)
        case _:
            return None


VERDICTS = {
    "team": "Blind comparison: the team's text is better than the direct draft",
    "draft": "Blind comparison: the direct draft is better",
    "equal": "Blind comparison: neither text is clearly better",
}


BASELINE_VERDICTS = {
    "result": "the result is better",
    "baseline": "the baseline is better",
    "equal": "neither text is clearly better",
    "": "not compared",
}


def baseline_verdict(n: int, preferred: str) -> str:
    """Describe the outcome of a baseline."""
    return f"Baseline, the best of {n} direct drafts: {BASELINE_VERDICTS.get(preferred, preferred)}"


def _verdict(words: str, why: list[str]) -> Line:
    return Line(f"{words}: {one_line(why[0], 200)}" if why else words, "result", mark="▸")


def check_lines(points: int, edited: Edited | None, compared: Compared | None) -> list[str]:
    """Return lines about the checks of a result, for the record of a run: draft, editor, comparison."""
    lines = [f"Direct draft: {count(points, 'point')} that a complete result contains."] if points else []
    if edited is not None:
        lines.append(f"Editor: {summary_of(edited)}.")
    if compared is not None:
        lines.append(f"{VERDICTS.get(compared.preferred, compared.preferred)}.")
        lines += [f"A judge: {why}" for why in compared.why]
    return lines


def summary_of(data: Edited) -> str:
    """Describe the editor's findings and changes."""
    if data.sent_back:
        return f"sent back with {count(len(data.sent_back), 'remark')}"
    missing = f", {len(data.missing)} still missing" if data.missing else ""
    parts = f"{count(data.parts, 'part')} of the request checked{missing}"
    changed = "rewritten" if data.rewritten else f"{count(data.changes, 'passage')} changed"
    return f"{parts}, {changed}" if data.rewritten or data.changes else parts
