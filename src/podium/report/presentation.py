"""Presentation base, Line, line registry.

A workflow adds lines for its own events with `@tells("flow.draft_scored")`; the engine's and the models' own
are in `podium.report.tellers`. A line that needs more than the event, like the title of a node that was told
long ago, comes from the workflow's `Presentation`, which remembers.

A shipped workflow may have one class of this kind in its `report.py`, under the name `PRESENTATION`. It is
found by the workflow's name (`podium.workflows.presentation_of`), so it works for a run that another process
made as well. An object shows one run: it is given all events in their order and remembers of them what it
needs. Everything has a default, and with the defaults a run looks like any other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from podium.engine.events import Event
from podium.engine.state import RunState

Weight = Literal["trace", "routine", "result", "warning", "failure", "attention"]
"""How loud a line is. `trace` is left out of the live view; `attention` needs a person."""


class Line(msgspec.Struct, frozen=True):
    """What a person reads about one event."""

    what: str
    weight: Weight = "routine"
    notes: tuple[str, ...] = ()
    """Figures for the right-hand side, the most important first: score, cost, time."""
    mark: str = "·"
    indent: int = 0
    """How many levels it stands below the run's top, where a workflow has levels."""


LineFunction = Callable[[Event, RunState], Line | None]

LINES: dict[str, LineFunction] = {}
"""How each event type is told."""


def line_for(*types: str) -> Callable[[LineFunction], LineFunction]:
    """Register how events of these types are told."""

    def register(teller: LineFunction) -> LineFunction:
        LINES.update(dict.fromkeys(types, teller))
        return teller

    return register


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a report that a workflow adds, after the deliverable."""

    name: str
    """Its key in the JSON report."""
    title: str
    data: Any
    """Plain data: it is in the JSON report, and the template knows it as `data`."""
    markdown: Callable[[], str]
    """Its text in the Markdown report, without the title; made when it is asked for."""
    package: str
    """The package whose folder `templates` holds the next two."""
    template: str
    """Makes its HTML, without the title. Everything is escaped unless it went through `prose`."""
    context: dict[str, Any] = {}
    """What the template needs besides, such as a drawing that is made of the data."""
    scored: bool = False
    """It shows scores or verdicts of models: a report of a rehearsal marks them as made up."""
    style: str = ""
    """A file of CSS for it; the tokens and classes of the report's own are there."""


class Presentation:
    """Shows one run. A workflow overrides what it can tell better."""

    def apply(self, event: Event) -> None:
        """One more event happened. It is called for every event, before anything is asked about it."""

    def line(self, event: Event, state: RunState) -> Line | None:
        """How an event is told; `None`: as for every run, or by what `@tells` has registered."""
        return None

    def is_hidden(self, event: Event) -> bool:
        """Whether its line is left out of the live view because others tell the same."""
        return False

    def drawing(self, most: int, *, alive: bool) -> list[Line]:
        """The run as a picture of at most `most` lines, for the footer of the live view and for `show`.
        `alive` is false when nobody is at work on it. Without one there is just the footer."""
        return []

    def summary(self) -> str:
        """What it came to in figures, on one short line."""
        return ""

    def deliverable(self, output: Any) -> str | None:
        """The part of the output that a person wants to read first, as Markdown; empty: there is nothing to
        read, `None`: the output is shown as data."""
        return output if isinstance(output, str) else None

    def answer(self, output: Any) -> Section | None:
        """The deliverable as HTML, where plain Markdown cannot show it; only its template is used."""
        return None

    def leading(self, output: Any) -> list[str]:
        """Ids of the artifacts that matter most; the others are only counted where there are many."""
        return []

    def suggestions(self) -> list[tuple[tuple[str, ...], str]]:
        """What only this workflow's runs are good for when they are done: the words of a command after
        `podium`, and in a word or two why one would use it."""
        return []

    def sections(self, *, alive: bool) -> list[Section]:
        """What a report tells besides what it tells of every run."""
        return []


GENERIC = Presentation()
"""For runs of workflows that bring none; it remembers nothing, so one is enough."""
