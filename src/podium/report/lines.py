"""One event, one line: a registry of small pure functions from an event to what a person reads.

A workflow adds lines for its own events with `@tells("flow.draft_scored")`; the engine's and the models' own
are in `podium.report.tellers`. A line that needs more than the event, like the title of a node that was told
long ago, comes from the workflow's `Presentation`, which remembers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

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


Teller = Callable[[Event, RunState], Line | None]

TELLERS: dict[str, Teller] = {}
"""How each event type is told."""


def tells(*types: str) -> Callable[[Teller], Teller]:
    """Register how events of these types are told."""

    def register(teller: Teller) -> Teller:
        TELLERS.update(dict.fromkeys(types, teller))
        return teller

    return register
