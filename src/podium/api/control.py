"""Acting on runs that somebody else may be driving: cancel, answer, replay."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from podium.api.context import context
from podium.engine.codec import encode
from podium.engine.events import TERMINAL, RunCancelled
from podium.engine.journal import Journal, Redact
from podium.engine.log import Row, RunRow, RunUpdate, Store
from podium.engine.replay import replay as replay_run
from podium.engine.result import RunResult
from podium.engine.runner import history_of
from podium.engine.state import RunState
from podium.engine.workflow import Workflow, load_workflow
from podium.errors import NotResumableError, RunLockedError, UsageError
from podium.settings import Settings

OVER = frozenset({"completed", "partial", "failed", "cancelled"})


async def cancel(
    run_id: str,
    *,
    reason: str = "",
    store: Store | str | None = None,
    wait: float = 2.5,
    settings: Settings | None = None,
) -> RunRow:
    """End a run for good, whoever drives it. A driver that does not react within `wait` seconds is
    cut off from the log."""
    async with context(store, settings) as ctx:
        row = await ctx.store.get(run_id)
        if row.status in OVER:
            raise NotResumableError(
                f"Run {row.run_id} is already {row.status}.", hint="There is nothing to cancel."
            )
        try:
            lease = await ctx.store.acquire(row.run_id)
        except RunLockedError:
            await _cancel_driven(ctx.store, row.run_id, reason, wait)
        else:
            journal = Journal(ctx.store, lease, ctx.redact)
            journal.append(
                "", RunCancelled(reason=reason or "cancelled", usage=row.usage, driven_s=row.driven_s)
            )
            journal.update(status="cancelled", stop_reason=reason or "cancelled")
            await journal.committed()
            await ctx.store.release(lease)
        return await ctx.store.get(row.run_id)


async def _cancel_driven(store: Store, run_id: str, reason: str, wait: float) -> None:
    await store.post(run_id, "cancel", reason)
    if await _is_over(store, run_id, wait):
        return
    now = time.time_ns() // 1000
    told = RunCancelled(reason=reason or "cancelled; its driver did not react")
    await store.fence(
        run_id,
        [Row(0, now, "", told.type, encode(told))],
        RunUpdate(updated_us=now, status="cancelled", stop_reason=told.reason),
    )


async def _is_over(store: Store, run_id: str, wait: float) -> bool:
    """Wait for the driver's last word."""
    try:
        async with asyncio.timeout(wait):
            async for row in store.tail(run_id):
                if row.type in TERMINAL:
                    return True
    except TimeoutError:
        return False
    return False


async def answer(
    run_id: str,
    answer: Any,
    *,
    question: str | None = None,
    by: str = "",
    store: Store | str | None = None,
    settings: Settings | None = None,
) -> str:
    """Answer a run's question. It goes into the run's inbox, durably; whoever drives the run takes it
    from there, at once or after a `resume`. Returns the path of the question."""
    async with context(store, settings) as ctx:
        row = await ctx.store.get(run_id)
        state = await state_of(ctx.store, row.run_id)
        path = _which_question(state, question)
        choices = state.questions[path].choices
        if choices and answer not in choices:
            raise UsageError(
                f"{answer!r} is not one of the choices.", hint=f"Answer one of: {', '.join(choices)}."
            )
        await ctx.store.post(row.run_id, "answer", {"question": path, "answer": answer, "by": by})
        return path


async def state_of(store: Store, run_id: str) -> RunState:
    """The state of a run, folded from its log."""
    return RunState.of(row.to_event(run_id) for row in await store.read(run_id))


def _which_question(state: RunState, wanted: str | None) -> str:
    if state.status in OVER or not state.questions:
        raise NotResumableError(f"Run {state.run_id} has no open question.", hint=f"It is {state.status}.")
    if wanted is None and len(state.questions) == 1:
        return next(iter(state.questions))
    if wanted in state.questions:
        return wanted
    listed = "; ".join(f"{path}: {asked.question}" for path, asked in state.questions.items())
    raise UsageError("Which question is meant?", hint=f"Name one with --question. Open: {listed}")


async def replay(
    run_id: str,
    *,
    workflow: Workflow | None = None,
    store: Store | str | None = None,
    settings: Settings | None = None,
) -> RunResult:
    """Walk a finished run again from its log alone: no model, no tool, no network."""
    async with context(store, settings) as ctx:
        row = await ctx.store.get(run_id)
        if row.status not in OVER - {"cancelled"}:
            raise NotResumableError(
                f"Run {row.run_id} is {row.status}; only a finished run can be replayed.",
                hint=f"Resume it with `podium resume {row.run_id}`.",
            )
        created, _, _ = history_of(await ctx.store.read(row.run_id, types=("run.created", "run.resumed")))
        found = workflow or load_workflow(created.workflow)
        redact: Redact = ctx.redact
        return await replay_run(
            ctx.store, row.run_id, found, make_run=ctx.make_run(ctx.models({})), redact=redact
        )
