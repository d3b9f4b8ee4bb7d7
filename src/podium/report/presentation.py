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

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar

import msgspec

from podium.engine.events import ArtifactCreated, Event, EventData, RunResumed, RunWarned
from podium.engine.state import Fold, RunState
from podium.report.turns import is_tool_call

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
    score_in: Literal["", "what", "notes"] = ""
    """The part that shows a score or verdict of a model: the text, or the first note. In a rehearsal it is
    marked as made up."""


LineFunction = Callable[[Event, RunState], Line | None]

LINES: dict[str, LineFunction] = {}
"""Line functions by event type."""


def line_for(*types: str) -> Callable[[LineFunction], LineFunction]:
    """Register the line function of these event types."""

    def register(function: LineFunction) -> LineFunction:
        LINES.update(dict.fromkeys(types, function))
        return function

    return register


class View(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of the parts of a view (see `podium.report.view`). Fields with a default are left out while they
    have it, and no field is ever null."""


class Detail(View, frozen=True, kw_only=True, tag_field="kind"):
    """Base of a workflow's own part of a view."""


class ViewGrade(View, frozen=True, kw_only=True):
    """A grade, a check or a test run of a piece of work."""

    what: str
    passed: bool
    decision: str
    feedback: list[str]
    score: float | msgspec.UnsetType = msgspec.UNSET
    threshold: float | msgspec.UnsetType = msgspec.UNSET
    text: str = ""
    """Score and threshold as they are shown: `82 (needs 80)`."""


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

    answers_are_messages: ClassVar[bool] = False
    """A person's answers are messages of a conversation, which shows them."""

    detail_type: ClassVar[type[Detail] | None] = None
    """Class of `detail`, for the description of the HTTP API."""

    def detail(self, *, alive: bool) -> Detail | None:
        """Return the workflow's own part of the view. `alive` is False if the log says that the run has
        stopped. Parts that did not change since the last call should be the same objects."""
        return None

    def grade(self, event: Event) -> ViewGrade | None:
        """Return what an event says about the work in its branch, or None."""
        return None

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


State = TypeVar("State", bound=Fold)


class WorkflowPresentation(Presentation, Generic[State]):
    """Presentation of a workflow with one fold and a table of line functions."""

    lines: ClassVar[Mapping[type[EventData], Callable[[Any, Any], Line | None]]] = {}
    """Line functions of the workflow's events; each gets the data and the fold."""
    own_events: ClassVar[type[EventData]]
    """Base class of the workflow's events. Those without a line are left out of the live view."""
    hidden: ClassVar[frozenset[str]] = frozenset({"step.completed", "step.failed", "artifact.created"})
    """Event types that the workflow's own lines already show."""
    one_exhausted: ClassVar[bool] = False
    """Only the first exhausted budget is shown: every branch hits the same limit."""
    leading_files: ClassVar[tuple[str, ...]] = ()
    """Names of the most important artifacts."""

    def __init__(self, fold: State) -> None:
        self.fold = fold
        self.files: dict[str, str] = {}
        """Ids of the artifacts by name."""
        self._exhausted = 0

    def apply(self, event: Event) -> None:
        self.fold.apply(event)
        if isinstance(event.data, ArtifactCreated):
            self.files[event.data.name] = event.data.id
        elif isinstance(event.data, RunResumed):
            self._exhausted = 0
        elif event.type == "budget.exhausted":
            self._exhausted += 1

    def line(self, event: Event, state: RunState) -> Line | None:
        return self.own_line(event)

    def own_line(self, event: Event) -> Line | None:
        """Return the line of one of the workflow's own events, or None."""
        function = self.lines.get(type(event.data))
        return None if function is None else function(event.data, self.fold)

    def is_hidden(self, event: Event) -> bool:
        if isinstance(event.data, RunWarned):
            return self.is_shown(event.data.message)
        if isinstance(event.data, self.own_events):
            return self.own_line(event) is None
        if event.type == "budget.exhausted" and self.one_exhausted:
            return self._exhausted > 1
        return event.type in self.hidden and not is_tool_call(event.path)

    def is_shown(self, warning: str) -> bool:
        """Return whether a line of the workflow's own already shows this warning."""
        return False

    def leading(self, output: Any) -> list[str]:
        return [self.files[name] for name in self.leading_files if name in self.files]


GENERIC = Presentation()
"""Presentation for workflows without one of their own. It keeps no state, so one instance is shared."""
