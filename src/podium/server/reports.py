"""Reports of runs, as `podium report` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from podium.api.outcome import ALIVE
from podium.engine.codec import decode
from podium.engine.log import Row, RunRow
from podium.report.data import to_json
from podium.report.facts import facts_of
from podium.report.html import to_html
from podium.report.markdown import to_markdown
from podium.workflows import presentation_of

Format = Literal["html", "md", "json"]


def rendered(row: RunRow, rows: Sequence[Row], blob: bytes | None, chosen: Format) -> bytes:
    """A report in one of its formats; `blob` is an output that is too large for the log."""
    shown = presentation_of(row.workflow)  # before the log is read: it brings the classes of the events
    events = [one.to_event(row.run_id) for one in rows]
    for event in events:
        shown.apply(event)
    output: Any = decode(blob) if blob is not None else None
    facts = facts_of(events, output=output, status=row.status, shown=shown)
    sections = shown.sections(alive=row.status in ALIVE)
    if chosen == "json":
        return to_json(facts, sections)
    if chosen == "md":
        return to_markdown(facts, sections).encode("utf-8", "replace")
    return to_html(facts, sections).encode("utf-8", "replace")
