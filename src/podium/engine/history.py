"""Forks of a stored log, and checks whether a run can be resumed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

import msgspec

from podium.engine.budget import Budget
from podium.engine.codec import content_hash, decode, encode
from podium.engine.effect import BLOB_BYTES
from podium.engine.events import (
    BudgetRaised,
    EventData,
    RunAnswered,
    RunCreated,
    RunForked,
    RunResumed,
    RunStarted,
    StepCompleted,
    StepRunning,
    StepStale,
)
from podium.engine.log import DAMAGED, UNREADABLE, Row, RunRow, damaged_event
from podium.engine.result import RunResult
from podium.errors import NotResumableError, StoreError, UsageError

_LEFT_BEHIND = ("run.", "budget.")
"""Types of events about the source run itself, not its work; a fork inherits only `_KEPT_ANYWAY` of them."""
_OUTCOMES = frozenset({"step.completed", "step.failed", "run.answered"})
_KEPT_ANYWAY = frozenset({"run.answered", "run.waiting", "run.warned"})


class Fork(msgspec.Struct, frozen=True):
    """The source of a fork, the step where it differs, and the edit."""

    source: str
    """Id of the source run."""
    at: str
    """Path of the first step that differs."""
    reply: Any = msgspec.UNSET
    """Replaces that step's result, or the answer to that question; unset: no replacement."""
    edit: str = ""
    """Kind of edit: `reply`, `prompt`, `model` or empty."""


def steps_of(rows: Sequence[Row]) -> list[str]:
    """Return the steps that a fork can start from, in the order in which they began."""
    return list(dict.fromkeys(row.path for row in rows if row.type in {"step.started", "run.waiting"}))


def forked_rows(rows: Sequence[Row], created: bytes, fork: Fork) -> tuple[list[Row], list[bytes]]:
    """Return the first rows of the new run (creation, fork, inherited rows, edit), and the blobs that they
    reference and that the store may not hold yet."""
    start = _start_of(rows, fork.at)
    now = time.time_ns() // 1000
    before = [row for row in rows if row.seq < start]
    inherited = [_inherited(row) for row in before if row.path != fork.at and _is_work(row)]
    if any(row.path == fork.at and row.type in _OUTCOMES for row in before):
        again = StepStale(reason="forked here", inherited=True)  # an earlier stretch had recorded it
        inherited.append(Row(0, now, fork.at, again.type, encode(again)))
    # Calls that must not be repeated: the fork has to know of those that the source has made since.
    inherited += [_inherited(row) for row in rows if row.seq >= start and row.type == StepRunning.type]
    finished = sum(row.type in {"step.completed", "step.failed"} for row in inherited)
    forked = RunForked(source=fork.source, at=fork.at, edit=fork.edit, steps=finished)
    new = [Row(0, now, "", "run.created", created), Row(0, now, "", "run.forked", encode(forked))]
    new += inherited
    blobs: list[bytes] = []
    if fork.reply is not msgspec.UNSET:
        new.append(_edited(rows, fork, blobs))
    return [row._replace(seq=number) for number, row in enumerate(_in_order(new), 1)], blobs


def _start_of(rows: Sequence[Row], at: str) -> int:
    starts = [row.seq for row in rows if row.path == at and row.type in {"step.started", "run.waiting"}]
    if starts:
        return starts[-1]
    known = steps_of(rows)
    close = get_close_matches(at, known, 3, 0.4)
    hint = f"Did you mean {', '.join(close)}?" if close else f"Its steps: {', '.join(known[:12]) or 'none'}."
    raise UsageError(f"The run has no step {at}.", hint=hint)


def _is_work(row: Row) -> bool:
    return row.type in _KEPT_ANYWAY or not row.type.startswith(_LEFT_BEHIND)


def _inherited(row: Row) -> Row:
    try:
        fields: dict[str, Any] = dict(decode(row.data))
    except UNREADABLE as error:
        raise damaged_event(row, error) from error
    return row._replace(data=encode({**fields, "inherited": True}))


def _edited(rows: Sequence[Row], fork: Fork, blobs: list[bytes]) -> Row:
    """Return the row of the chosen step with the edited result, or of the question with the edited answer."""
    last = [row for row in rows if row.path == fork.at and row.type in _OUTCOMES]
    if not last:
        raise UsageError(
            f"The step {fork.at} has no result that could be edited.", hint="Fork without a reply."
        )
    fingerprint, raw = str(decode(last[-1].data).get("fingerprint", "")), encode(fork.reply)
    data: EventData
    if last[-1].type == "run.answered":
        data = RunAnswered(answer=msgspec.Raw(raw), fingerprint=fingerprint, inherited=True)
    elif len(raw) > BLOB_BYTES:
        blobs.append(raw)
        blob = content_hash(raw)
        data = StepCompleted(fingerprint=fingerprint, blob=blob, edited=True, inherited=True)
    else:
        result = msgspec.Raw(raw)
        data = StepCompleted(fingerprint=fingerprint, result=result, edited=True, inherited=True)
    return Row(0, last[-1].time_us, fork.at, data.type, encode(data))


def _in_order(rows: list[Row]) -> list[Row]:
    """Make times non-decreasing, as the log requires: inherited rows get the time of the fork or later."""
    latest, ordered = 0, list[Row]()
    for row in rows:
        latest = max(latest, row.time_us)
        ordered.append(row._replace(time_us=latest))
    return ordered


HISTORY = ("run.created", "run.started", "run.resumed", "budget.raised")
"""The events that `history_of` reads."""


def shown_model(config: Mapping[str, Any]) -> str:
    """Return the model name of a run for lists and results."""
    return str(config.get("model") or ", ".join(config.get("models", ())))


def history_of(rows: Sequence[Row]) -> tuple[RunCreated, dict[str, Any], Budget]:
    """Return a run's creation event, and its settings and ceilings with all later changes."""
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
"""Statuses of runs that cannot be resumed, only forked."""


def check_resumable(run_id: str, status: str) -> None:
    if status in OVER:
        raise NotResumableError(
            f"Run {run_id} is {status}; there is nothing to resume.",
            hint=f"Run it again from any step with `podium fork {run_id} --at STEP`.",
        )


def cancelled_elsewhere(row: RunRow, workflow: str) -> RunResult:
    """Return the result of a run that was cancelled from outside while its driver did not react."""
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
