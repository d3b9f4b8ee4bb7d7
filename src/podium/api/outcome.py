"""A run's result and state, folded from its log, for code that drives nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from podium.engine.codec import decode
from podium.engine.events import Event
from podium.engine.log import RunRow, Store
from podium.engine.result import RunResult
from podium.engine.state import RunState, StepState
from podium.report.conversation import Conversations
from podium.report.messages import ShownConversation
from podium.report.presentation import Presentation
from podium.workflows import presentation_of

PIECE = 500
"""Events folded before the event loop gets a turn."""
ALIVE = frozenset({"running", "waiting"})


async def watched(store: Store, row: RunRow, *, until: int | None = None) -> tuple[list[Event], Presentation]:
    """Return a run's events (up to `until`) and its presentation, to which they have been applied."""
    shown = presentation_of(row.workflow)  # before the log is decoded: this registers the event classes
    entries = await store.read(row.run_id)
    events = [entry.to_event(row.run_id) for entry in entries if until is None or entry.seq <= until]
    for event in events:
        shown.apply(event)
    return events, shown


async def conversations_of(store: Store, events: Iterable[Event]) -> list[ShownConversation]:
    """Return the conversations of a run: those of asks with tools, and threads."""
    return await Conversations.of(events).all(store.get_blob)


async def state_of(store: Store, run_id: str) -> RunState:
    """Fold a log into its state, in batches, so that a long log does not block the event loop."""
    state, after = RunState(), 0
    while rows := await store.read(run_id, after=after, limit=PIECE):
        for row in rows:
            state.apply(row.to_event(run_id))
        after = rows[-1].seq
        await asyncio.sleep(0)
    return state


async def result_of(store: Store, row: RunRow) -> tuple[RunResult, RunState]:
    """Return the result and the state, folded from the log. The status comes from the store, which knows
    whether the run is being driven."""
    state = await state_of(store, row.run_id)
    if row.status not in ALIVE:
        for step in state.in_flight:
            step.status = "interrupted"  # no process works on it: it died, or was told to stop
        state.usage += state.lost
        state.reserved.clear()
    output: Any = state.output
    if state.output_blob:
        output = decode(await store.get_blob(state.output_blob))
    result = RunResult(
        run_id=row.run_id,
        workflow=row.workflow,
        status=row.status,
        stop_reason=state.stop_reason or row.stop_reason,
        output=output,
        quality=state.quality,
        warnings=state.warnings,
        error=state.error,
        hint=state.hint,
        model=row.model,
        rehearsal=row.rehearsal,
        usage=state.usage,
        saved=state.saved,
        duration_s=max(state.driven_s, row.driven_s),
        artifacts=list(state.artifacts.values()),
        questions=state.questions if row.status in ("waiting", "running", "paused") else {},
    )
    return result, state


def step_data(step: StepState) -> dict[str, Any]:
    """Return a step as data, for the command line and the HTTP API."""
    return {
        "path": step.path,
        "kind": step.kind,
        "about": step.about,
        "status": step.status,
        "duration_s": step.duration_s,
        "cost_usd": round(step.charge.usd, 9),
        "calls": step.charge.calls,
        "retries": step.retries,
        "error": step.error or None,
        "inherited": step.inherited,
        "edited": step.edited,
        "cut": step.cut,
    }
