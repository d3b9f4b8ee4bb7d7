"""Control of runs: cancel, answer, raise the budget, replay, requeue.

The server's scheduler and the workers of a fleet both continue runs with the functions of this module.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any, cast

import msgspec

from podium.api.context import context
from podium.api.handle import RunHandle
from podium.api.launch import resume
from podium.engine.budget import Budget
from podium.engine.codec import decode, encode
from podium.engine.events import TERMINAL, RunCancelled, RunFailed
from podium.engine.history import HISTORY, history_of
from podium.engine.history import OVER as FINAL
from podium.engine.journal import Journal, Redact
from podium.engine.log import Row, RunRow, RunUpdate, Store
from podium.engine.redaction import redactor
from podium.engine.result import RunResult
from podium.engine.runner import replay as replay_run
from podium.engine.state import RunState
from podium.engine.workflow import Workflow
from podium.errors import (
    NotResumableError,
    PodiumError,
    ReplayDivergedError,
    RunLockedError,
    StoreError,
    UsageError,
)
from podium.settings import Settings
from podium.workflows import find_workflow

OVER = frozenset({"completed", "partial", "failed", "cancelled"})


async def cancel(
    run_id: str,
    *,
    reason: str = "",
    store: Store | str | Path | None = None,
    wait: float = 2.5,
    settings: Settings | None = None,
) -> RunRow:
    """End a run for good, whichever process drives it. A driver that does not react within `wait` seconds is
    fenced off from the log."""
    async with context(store, settings) as ctx:
        row = await ctx.store.get(run_id)
        if row.status in OVER:
            raise NotResumableError(
                f"Run {row.run_id} is already {row.status}.", hint="There is nothing to cancel."
            )
        reason = str(decode(ctx.redact(encode(reason or "cancelled"))))
        try:
            lease = await ctx.store.acquire(row.run_id)
        except RunLockedError:
            await _cancel_driven(ctx.store, row.run_id, reason, wait)
        else:
            try:
                journal = Journal(ctx.store, lease, ctx.redact)
                journal.append("", RunCancelled(reason=reason, usage=row.usage, driven_s=row.driven_s))
                journal.update(status="cancelled", stop_reason=reason)
                await journal.committed()
            finally:
                await ctx.store.release(lease)
        return await ctx.store.get(row.run_id)


async def _cancel_driven(store: Store, run_id: str, reason: str, wait: float) -> None:
    lives = await store.read(run_id, types=("run.created", "run.started", "run.resumed"))
    await store.post(run_id, "cancel", reason)
    if await _is_over(store, run_id, lives[-1].seq, wait):
        return
    now = time.time_ns() // 1000
    told = RunCancelled(reason=f"{reason}; its driver did not react")
    await store.fence(
        run_id,
        [Row(0, now, "", told.type, encode(told))],
        RunUpdate(updated_us=now, status="cancelled", stop_reason=told.reason),
    )


async def _is_over(store: Store, run_id: str, after: int, wait: float) -> bool:
    """Wait up to `wait` seconds for a terminal event after `after`. Returns whether there was one."""
    try:
        async with asyncio.timeout(wait), aclosing(store.tail(run_id, after=after)) as rows:
            async for row in rows:
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
    store: Store | str | Path | None = None,
    settings: Settings | None = None,
) -> str:
    """Answer a run's question. The answer is stored durably in the run's inbox; the driver takes it from
    there, immediately or after a `resume`. Returns the path of the question."""
    async with context(store, settings) as ctx:
        row = await ctx.store.get(run_id)
        rows = await ctx.store.read(row.run_id)
        state = RunState.of(found.to_event(row.run_id) for found in rows)
        path = _which_question(state, question, row.status)
        choices = state.questions[path].choices
        if choices and answer not in choices:
            raise UsageError(
                f"{answer!r} is not one of the choices.", hint=f"Answer one of: {', '.join(choices)}."
            )
        asked = max(found.seq for found in rows if found.type == "run.waiting" and found.path == path)
        said = {"question": path, "answer": answer, "by": by, "asked": asked}
        await _check_unanswered(ctx.store, row.run_id, asked)
        await ctx.store.post(row.run_id, "answer", decode(ctx.redact(encode(said))))
        return path


async def raise_budget(
    run_id: str, budget: Budget, *, store: Store | str | Path | None = None, settings: Settings | None = None
) -> Budget:
    """Raise the budget of a run under way, whichever process drives it. Returns what is raised. Only limits
    on money, tokens and calls that exist can be raised: the time of a run is fixed while it is driven."""
    async with context(store, settings) as ctx:
        row = await ctx.store.get(run_id)
        _, _, now = history_of(await ctx.store.read(row.run_id, types=HISTORY))
        more = now.raised_to(budget)
        if more == Budget():
            raise NotResumableError(
                f"Run {row.run_id} is driven just now, and nothing that was asked is more than it may spend.",
                hint="Money, tokens and calls of such a run can be raised; give new totals.",
            )
        await ctx.store.post(row.run_id, "budget", more.to_dict())
        return more


async def _check_unanswered(store: Store, run_id: str, asked: int) -> None:
    """Raise `NotResumableError` if the question has an answer already: the first one counts, a second would
    be ignored."""
    for message in await store.inbox(run_id):
        if message.kind == "answer" and message.data.get("asked") == asked:
            raise NotResumableError(
                f"Run {run_id} has an answer to this question already.",
                hint=f"Let it go on with `podium resume {run_id}`.",
            )


def _which_question(state: RunState, wanted: str | None, status: str) -> str:
    if state.status in OVER or not state.questions:
        raise NotResumableError(f"Run {state.run_id} has no open question.", hint=f"It is {status}.")
    if wanted in state.questions:
        return wanted
    meant = [path for path in state.questions if path.startswith(wanted or "")]
    if len(meant) == 1:
        return meant[0]
    listed = "; ".join(f"{path}: {asked.question}" for path, asked in state.questions.items())
    problem = f"There is no open question {wanted}." if wanted and not meant else "Which question is meant?"
    raise UsageError(problem, hint=f"Name one with --question. Open: {listed}")


async def replay(
    run_id: str,
    *,
    workflow: Workflow | None = None,
    store: Store | str | Path | None = None,
    settings: Settings | None = None,
) -> RunResult:
    """Replay a finished run from its log alone: no model, no tool, no network."""
    async with context(store, settings) as ctx:
        row = await ctx.store.get(run_id)
        if row.status not in OVER - {"cancelled"}:
            ended = row.status == "cancelled"
            raise NotResumableError(
                f"Run {row.run_id} is {row.status}; only a run that came to its end can be replayed.",
                hint=f"Its log: `podium events {row.run_id}`."
                if ended
                else f"Resume it with `podium resume {row.run_id}`.",
            )
        created, config, _ = history_of(await ctx.store.read(row.run_id, types=HISTORY))
        found = workflow or find_workflow(created.workflow)
        redact: Redact = ctx.redact
        now, then = ctx.read_prompts(found), cast("dict[str, str]", config.get("prompts", {}))
        try:
            return await replay_run(
                ctx.store, row.run_id, found, make_run=ctx.make_run(ctx.models({})), redact=redact
            )
        except ReplayDivergedError as error:
            changed = sorted(name for name in now.keys() | then.keys() if now.get(name) != then.get(name))
            if changed:
                error.hint = f"Prompts overridden in another way than in the run: {', '.join(changed)}."
            raise


MARKS: dict[str, Any] = {"served": True}
"""Config of a run that a server or a fleet drives."""
RESUME = "resume"
"""Kind of inbox message that continues a run."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """Changes with which a run is resumed."""

    budget: Budget = Budget()
    model: str | None = None
    model_for: dict[str, str] = {}
    reply_timeout: float | None = None
    reply_tokens: int | None = None


async def requeue(
    store: Store, settings: Settings, run_id: str, change: Change | None = None, *, take_over: bool = False
) -> None:
    """Make a run `queued` again, with its changes. Durable when this returns."""
    lease = await store.acquire(run_id, take_over=take_over)
    try:
        await store.post(run_id, RESUME, msgspec.to_builtins(change or Change()))
        journal = Journal(store, lease, redactor(settings.secrets()))
        journal.update(status="queued", stop_reason="", budget=change.budget if change else None)
        await journal.committed()
    finally:
        await store.release(lease)


async def go_on(store: Store, settings: Settings, run_id: str, *, nap_s: float | None = None) -> RunHandle:
    """Drive a run with the newest change that was requested while it waited. A run that sleeps for longer
    than `nap_s` seconds is paused until it wakes."""
    asked = [message for message in await store.inbox(run_id) if message.kind == RESUME]
    changes = [msgspec.convert(message.data, Change) for message in asked]
    await store.discard([message.id for message in asked[:-1]])
    change = changes[-1] if changes else Change()
    return await resume(
        run_id, store=store, settings=settings, budget=change.budget, model=change.model,
        model_for=change.model_for or None, reply_timeout=change.reply_timeout,
        reply_tokens=change.reply_tokens, marks=MARKS, nap_s=nap_s,
    )  # fmt: skip


async def is_served(store: Store, run_id: str) -> bool:
    """Return whether a server or a fleet should drive the run, because it accepted or requeued it. A run that
    belongs to a terminal stays there."""
    _, config, _ = history_of(await store.read(run_id, types=HISTORY))
    if config.get("served"):
        return True
    return any(message.kind == RESUME for message in await store.inbox(run_id))


async def refuse(store: Store, settings: Settings, row: RunRow, error: PodiumError) -> None:
    """Mark a run that cannot be started (for example because its model is gone) as failed, with the reason in
    its log. A finished run is not changed: a queue restored after a crash may submit it late."""
    if isinstance(error, StoreError | NotResumableError):
        return
    with suppress(StoreError):
        lease = await store.acquire(row.run_id)
        try:
            if (await store.get(row.run_id)).status in FINAL:
                return
            journal = Journal(store, lease, redactor(settings.secrets()))
            told = RunFailed(
                error=error.message, error_type=type(error).__name__, hint=error.hint, usage=row.usage,
                driven_s=row.driven_s,
            )  # fmt: skip
            journal.append("", told)
            journal.update(status="failed")
            await journal.committed()
        finally:
            await store.release(lease)
