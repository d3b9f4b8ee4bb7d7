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
from podium.api.launch import RunHandle, resume
from podium.engine.budget import Budget
from podium.engine.codec import decode, encode
from podium.engine.events import TERMINAL, RunCancelled, RunFailed, RunWaiting
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
    event = RunCancelled(reason=f"{reason}; its driver did not react")
    await store.fence(
        run_id,
        [Row(0, now, "", event.type, encode(event))],
        RunUpdate(updated_us=now, status="cancelled", stop_reason=event.reason),
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
        state = RunState.of(event.to_event(row.run_id) for event in rows)
        path = _which_question(state, question, row.status)
        answer = _valid_answer(state.questions[path], answer)
        question_seq = max(event.seq for event in rows if event.type == "run.waiting" and event.path == path)
        message = {"question": path, "answer": answer, "by": by, "asked": question_seq}
        await _check_unanswered(ctx.store, row.run_id, question_seq)
        await ctx.store.post(row.run_id, "answer", decode(ctx.redact(encode(message))))
        return path


def _valid_answer(question: RunWaiting, answer: Any) -> Any:
    """Return the answer as the run gets it: one of the choices, or data that fits. Text that is a JSON object
    is data if the question takes data."""
    from podium.models.json_schema import problem_with  # noqa: PLC0415 - slow to import

    choices, forms = question.choices, question.answers
    if forms and isinstance(answer, str) and answer.lstrip().startswith("{"):
        try:
            answer = decode(answer.encode())
        except ValueError as error:
            raise UsageError(f"The answer is not valid JSON: {error}.", hint=_forms(question)) from error
    if isinstance(answer, dict) and forms:
        data = cast("dict[str, Any]", answer)
        if len(data) != 1 or not forms.keys() >= data.keys():
            raise UsageError("The answer needs exactly one of the names below.", hint=_forms(question))
        ((name, value),) = data.items()
        if problem := problem_with(forms[name], value):
            raise UsageError(f"The answer does not fit: {problem}.", hint=_forms(question))
        return data
    given = cast("Any", answer)
    if (choices or forms) and given not in choices:
        raise UsageError(f"{given!r} is not one of the choices.", hint=_forms(question))
    return given


def _forms(question: RunWaiting) -> str:
    data = [f'{{"{name}": …}}' for name in question.answers]
    return f"Answer one of: {', '.join([*question.choices, *data])}."


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
    listed = "; ".join(f"{path}: {question.question}" for path, question in state.questions.items())
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
        flow = workflow or find_workflow(created.workflow)
        redact: Redact = ctx.redact
        now, then = ctx.read_prompts(flow), cast("dict[str, str]", config.get("prompts", {}))
        try:
            return await replay_run(
                ctx.store, row.run_id, flow, make_run=ctx.make_run(ctx.models({})), redact=redact
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
    requests = [message for message in await store.inbox(run_id) if message.kind == RESUME]
    changes = [msgspec.convert(message.data, Change) for message in requests]
    await store.discard([message.id for message in requests[:-1]])
    change = changes[-1] if changes else Change()
    return await resume(
        run_id,
        store=store,
        settings=settings,
        budget=change.budget,
        model=change.model,
        model_for=change.model_for or None,
        reply_timeout=change.reply_timeout,
        reply_tokens=change.reply_tokens,
        marks=MARKS,
        nap_s=nap_s,
    )


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
            event = RunFailed(
                error=error.message,
                error_type=type(error).__name__,
                hint=error.hint,
                usage=row.usage,
                driven_s=row.driven_s,
            )
            journal.append("", event)
            journal.update(status="failed")
            await journal.committed()
        finally:
            await store.release(lease)
