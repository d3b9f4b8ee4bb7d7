"""What a run's log and row tell before anybody drives it: how it was made, and whether it can go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from podium.engine.budget import Budget
from podium.engine.events import BudgetRaised, RunCreated, RunResumed, RunStarted
from podium.engine.log import DAMAGED, UNREADABLE, Row, RunRow, damaged_event
from podium.engine.result import RunResult
from podium.errors import NotResumableError, StoreError

HISTORY = ("run.created", "run.started", "run.resumed", "budget.raised")
"""The events that `history_of` reads."""


def shown_model(config: Mapping[str, Any]) -> str:
    """How lists and results name the model of a run."""
    return str(config.get("model") or ", ".join(config.get("models", ())))


def history_of(rows: Sequence[Row]) -> tuple[RunCreated, dict[str, Any], Budget]:
    """How a run was created, and its settings and ceilings with all later changes."""
    if not rows or rows[0].type != "run.created":
        raise StoreError("The log of this run does not begin with its creation; it is damaged.", hint=DAMAGED)
    created, config, budget = RunCreated(workflow="", request=None), dict[str, Any](), Budget()
    for row in rows:
        try:
            if row.type == "run.created":
                created = _CREATED.decode(row.data)
                config, budget = dict(created.config), msgspec.convert(created.budget, Budget)
            elif row.type == "run.started":
                config |= _STARTED.decode(row.data).config
            elif row.type == "run.resumed":
                resumed = _RESUMED.decode(row.data)
                config |= resumed.config
                budget = budget.merged(msgspec.convert(resumed.budget, Budget))
            elif row.type == "budget.raised":
                budget = budget.merged(msgspec.convert(_RAISED.decode(row.data).budget, Budget))
        except UNREADABLE as error:
            raise damaged_event(row, error) from error
    return created, config, budget


_CREATED = msgspec.json.Decoder(RunCreated)
_STARTED = msgspec.json.Decoder(RunStarted)
_RESUMED = msgspec.json.Decoder(RunResumed)
_RAISED = msgspec.json.Decoder(BudgetRaised)


OVER = frozenset({"completed", "cancelled"})
"""Of a run that cannot go on any more; it can only be forked."""


def check_resumable(run_id: str, status: str) -> None:
    if status in OVER:
        raise NotResumableError(
            f"Run {run_id} is {status}; there is nothing to resume.",
            hint=f"Run it again from any step with `podium fork {run_id} --at STEP`.",
        )


def cancelled_elsewhere(row: RunRow, workflow: str) -> RunResult:
    """The end of a run that somebody else cancelled while its driver did not react."""
    return RunResult(
        run_id=row.run_id,
        workflow=workflow,
        status="cancelled",
        stop_reason=row.stop_reason,
        usage=row.usage,
        duration_s=row.driven_s,
        model=row.model,
        rehearsal=row.rehearsal,
    )
