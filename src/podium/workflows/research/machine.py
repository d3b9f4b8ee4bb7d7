"""The state machine as data: which phase may follow which. Everything else is refused.

initialized → planning → strategy → executing → evaluating ─┬→ merging → completed
                 ↑                                          │
                 └────────────── re_planning ←──────────────┘          any of these seven → failed
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from podium.errors import InvalidTransitionError


class Phase(StrEnum):
    """Where a run is. The values are what events and reports say."""

    INITIALIZED = "initialized"
    PLANNING = "planning"
    STRATEGY = "strategy"
    EXECUTING = "executing"
    EVALUATING = "evaluating"
    RE_PLANNING = "re_planning"
    MERGING = "merging"
    COMPLETED = "completed"
    FAILED = "failed"


TRANSITIONS: Mapping[Phase, frozenset[Phase]] = {
    Phase.INITIALIZED: frozenset({Phase.PLANNING, Phase.FAILED}),
    Phase.PLANNING: frozenset({Phase.STRATEGY, Phase.FAILED}),
    Phase.STRATEGY: frozenset({Phase.EXECUTING, Phase.FAILED}),
    Phase.EXECUTING: frozenset({Phase.EVALUATING, Phase.FAILED}),
    Phase.EVALUATING: frozenset({Phase.RE_PLANNING, Phase.MERGING, Phase.FAILED}),
    Phase.RE_PLANNING: frozenset({Phase.PLANNING, Phase.FAILED}),
    Phase.MERGING: frozenset({Phase.COMPLETED, Phase.FAILED}),
    Phase.COMPLETED: frozenset(),
    Phase.FAILED: frozenset(),
}
"""What may follow each phase. A forced completion goes through merging like any other."""

FINAL = frozenset(phase for phase, after in TRANSITIONS.items() if not after)
"""Phases in which nothing follows."""


def is_allowed(current: Phase | None, new: Phase) -> bool:
    """Whether `new` may follow; `None` is the time before a run has begun."""
    if current is None:
        return new is Phase.INITIALIZED
    return new in TRANSITIONS[current]


def check_transition(current: Phase | None, new: Phase) -> None:
    """Refuse what the table does not hold, and say what it does."""
    if is_allowed(current, new):
        return
    after = TRANSITIONS[current] if current is not None else frozenset({Phase.INITIALIZED})
    raise InvalidTransitionError(
        str(current or "nothing"), str(new), [str(phase) for phase in Phase if phase in after]
    )
