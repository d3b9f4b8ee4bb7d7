"""Presentation base class, `Line`, and the registry of line functions.

A workflow adds lines for its own events with `@line_for("flow.draft_scored")`; those of the engine and the
models are in `podium.report.event_lines`. A line that needs more than the event, such as the title of a node
from an earlier event, comes from the workflow's `Presentation`, which keeps state.

A shipped workflow may have one subclass in its `report.py`, under the name `PRESENTATION`. It is found by the
workflow's name (`podium.workflows.presentation_of`), so it also works for a run of another process. An
instance shows one run: it receives all events in order and keeps what it needs of them. Every method has a
default, and with the defaults a run looks like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from podium.engine.events import Event
from podium.engine.state import RunState

Weight = Literal["trace", "routine", "result", "warning", "failure", "attention"]
"""Importance of a line. `trace` is left out of the live view; `attention` needs a person."""


class Line(msgspec.Struct, frozen=True):
    """The line shown for one event."""

    what: str
    weight: Weight = "routine"
    notes: tuple[str, ...] = ()
    """Figures for the right-hand side, the most important first: score, cost, time."""
    mark: str = "·"
    indent: int = 0
    """Nesting level below the run, for workflows that have levels."""


LineFunction = Callable[[Event, RunState], Line | None]

LINES: dict[str, LineFunction] = {}
"""Line functions by event type."""


def line_for(*types: str) -> Callable[[LineFunction], LineFunction]:
    """Register the line function of these event types."""

    def register(teller: LineFunction) -> LineFunction:
        LINES.update(dict.fromkeys(types, teller))
        return teller

    return register


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a report that a workflow adds, after the deliverable."""

    name: str
    """Key in the JSON report."""
    title: str
    data: Any
    """Plain data for the JSON report; the template gets it as `data`."""
    markdown: Callable[[], str]
    """Returns the text for the Markdown report, without the title."""
    package: str
    """Package whose folder `templates` contains template and style."""
    template: str
    """Template of the HTML, without the title. Everything is escaped unless it went through `prose`."""
    context: dict[str, Any] = {}
    """Further variables of the template, such as a drawing made from the data."""
    scored: bool = False
    """True if it shows scores or verdicts of models. A report of a rehearsal marks them as made up."""
    style: str = ""
    """CSS file of the section. The report's own tokens and classes are available. Empty: none."""


class Presentation:
    """Shows one run. A workflow overrides what it can present better."""

    def apply(self, event: Event) -> None:
        """Apply one event. Called for every event, before any other method is called about it."""

    def line(self, event: Event, state: RunState) -> Line | None:
        """Return the line of an event. None: use the function registered with `@line_for`, or the generic
        line."""
        return None

    def is_hidden(self, event: Event) -> bool:
        """Return whether the event's line is left out of the live view because other lines say the same."""
        return False

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        """Return a drawing of the run in at most `most` lines, for the footer of the live view and for
        `show`. `alive` is False if no process drives the run. Empty: there is only the footer."""
        return []

    def summary(self) -> str:
        """Return the key figures on one short line."""
        return ""

    def deliverable(self, output: Any) -> str | None:
        """Return the part of the output that a person wants to read first, as Markdown. Empty: there is
        nothing to read. None: the output is shown as data."""
        return output if isinstance(output, str) else None

    def answer(self, output: Any) -> Section | None:
        """Return the deliverable as HTML section, if plain Markdown cannot show it. Only its template is
        used."""
        return None

    def leading(self, output: Any) -> list[str]:
        """Return the ids of the most important artifacts. If there are many, the others are only counted."""
        return []

    def suggestions(self) -> list[tuple[tuple[str, ...], str]]:
        """Return next commands that apply only to this workflow's finished runs: the words after `podium`,
        and the purpose in a word or two."""
        return []

    def sections(self, *, alive: bool) -> list[Section]:
        """Return the workflow's own sections of the report."""
        return []


GENERIC = Presentation()
"""Presentation for workflows without one of their own. It keeps no state, so one instance is shared."""
