"""Start, resume and fork of runs."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from podium.agents.models import Models
from podium.api.admission import accept, accept_fork, check_start, first_driven, first_of
from podium.api.context import Context, ModelChoice, choose_model, named, open_context, reply_config
from podium.api.handle import RunHandle
from podium.engine.budget import Budget
from podium.engine.codec import encode
from podium.engine.events import RunCreated
from podium.engine.history import HISTORY, check_resumable, history_of
from podium.engine.log import Lease, Store
from podium.engine.result import RunResult
from podium.engine.runner import Driver
from podium.engine.workflow import Workflow
from podium.errors import RunLockedError
from podium.settings import Settings
from podium.workflows import find_workflow


async def start(
    workflow: str | Workflow,
    request: Any,
    *,
    model: ModelChoice | None = None,
    model_for: Mapping[str, str] | None = None,
    store: Store | str | Path | None = None,
    budget: Budget | None = None,
    concurrency: int | None = None,
    cache: bool | None = None,
    approve: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    reply_timeout: float | None = None,
    reply_tokens: int | None = None,
    settings: Settings | None = None,
) -> RunHandle:
    """Start a run. When this returns, the run is in the log and survives a crash.

    `reply_timeout` (seconds) and `reply_tokens` limit each reply of this run, whatever the settings and the
    agents say.
    """
    found = check_start(workflow, request, budget, concurrency, approve, options)
    limits = reply_config(reply_timeout, reply_tokens)
    ctx = await open_context(store, settings)
    try:
        prompts = ctx.read_prompts(found.workflow)
        marks = {**limits, "prompts": prompts} if prompts else limits
        new = await accept(
            ctx, found, model=model, model_for=model_for, budget=budget,
            concurrency=concurrency, cache=cache, marks=marks,
        )  # fmt: skip
        lease = await ctx.store.create_driven(*first_driven(ctx, new))
        driver = Driver(
            ctx.store,
            lease.run_id,
            new.workflow,
            make_run=ctx.make_run(new.models),
            redact=ctx.redact,
            concurrency=new.created.config["concurrency"],
            pause_grace_s=ctx.settings.pause_grace,
            created=_as_logged(ctx, new.created),
        )
        return _under_way(ctx, driver, lease, new.models)
    except BaseException:
        await ctx.leave()
        raise


async def run(
    workflow: str | Workflow,
    request: Any,
    *,
    model: ModelChoice | None = None,
    model_for: Mapping[str, str] | None = None,
    store: Store | str | Path | None = None,
    budget: Budget | None = None,
    concurrency: int | None = None,
    cache: bool | None = None,
    approve: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    reply_timeout: float | None = None,
    reply_tokens: int | None = None,
    settings: Settings | None = None,
) -> RunResult:
    """Start a run and wait for its result. If the caller is cancelled meanwhile, the run is paused."""
    handle = await start(
        workflow,
        request,
        model=model,
        model_for=model_for,
        store=store,
        budget=budget,
        concurrency=concurrency,
        cache=cache,
        approve=approve,
        options=options,
        reply_timeout=reply_timeout,
        reply_tokens=reply_tokens,
        settings=settings,
    )
    try:
        return await handle.result()
    except asyncio.CancelledError:  # leave the run in a state that can be resumed
        await handle.abandon()
        raise


async def resume(
    run_id: str,
    *,
    workflow: Workflow | None = None,
    store: Store | str | Path | None = None,
    budget: Budget | None = None,
    model: ModelChoice | None = None,
    model_for: Mapping[str, str] | None = None,
    reply_timeout: float | None = None,
    reply_tokens: int | None = None,
    take_over: bool = False,
    settings: Settings | None = None,
    marks: Mapping[str, Any] | None = None,
    nap_s: float | None = None,
) -> RunHandle:
    """Continue a run where its log ends. Budgets are new totals; finished steps are not run again. `marks`
    are stored in the config of its log. A run that sleeps for longer than `nap_s` seconds is paused until it
    wakes."""
    kept = {**(marks or {}), **reply_config(reply_timeout, reply_tokens)}
    ctx = await open_context(store, settings)
    try:
        row = await ctx.store.get(run_id)
        check_resumable(row.run_id, row.status)
        lease, taken = await _acquired(ctx.store, row.run_id, take_over)
        try:
            driver, models = await _resumed(ctx, row.run_id, workflow, budget, model, model_for, kept)
            driver.taken_over, driver.nap_s = taken, nap_s
        except BaseException:
            await ctx.store.release(lease)
            raise
        return _under_way(ctx, driver, lease, models)
    except BaseException:
        await ctx.leave()
        raise


async def fork(
    run_id: str,
    at: str,
    *,
    reply: Any = msgspec.UNSET,
    prompt: str | None = None,
    model: ModelChoice | None = None,
    workflow: Workflow | None = None,
    budget: Budget | None = None,
    store: Store | str | Path | None = None,
    settings: Settings | None = None,
) -> RunHandle:
    """Copy a run up to the step `at`, optionally with another reply, prompt or model there,
    and continue it."""
    ctx = await open_context(store, settings)
    try:
        new = await accept_fork(ctx, run_id, at, reply, prompt, model, workflow, budget)
        lease = await ctx.store.create_driven(*first_of(ctx, new))
        driver = Driver(
            ctx.store, lease.run_id, new.workflow, make_run=ctx.make_run(new.models), redact=ctx.redact,
            concurrency=new.created.config.get("concurrency", 0), pause_grace_s=ctx.settings.pause_grace,
        )  # fmt: skip
        return _under_way(ctx, driver, lease, new.models)
    except BaseException:
        await ctx.leave()
        raise


async def _acquired(store: Store, run_id: str, take_over: bool) -> tuple[Lease, bool]:
    """Acquire the lease of a run. Returns it and whether it was taken over from a live holder."""
    try:
        return await store.acquire(run_id), False
    except RunLockedError:
        if not take_over:
            raise
        return await store.acquire(run_id, take_over=True), True


def _under_way(ctx: Context, driver: Driver, lease: Lease, models: Models) -> RunHandle:
    """Start driving the run, with tracing if it is configured."""
    handle = RunHandle(ctx.store, driver, lease, shared=ctx.shared, close=models.close)
    if ctx.traces is not None:
        from podium.tracing.follow import follow  # noqa: PLC0415 - nothing of it is loaded when it is off

        handle.accompany(follow(handle.events(), ctx.store, handle.run_id, lease.last_seq, ctx.traces))
    return handle


async def _resumed(
    ctx: Context,
    run_id: str,
    workflow: Workflow | None,
    budget: Budget | None,
    model: ModelChoice | None,
    model_for: Mapping[str, str] | None,
    marks: Mapping[str, Any],
) -> tuple[Driver, Models]:
    created, config, old_budget = history_of(await ctx.store.read(run_id, types=HISTORY))
    found = workflow or find_workflow(created.workflow)
    changes: dict[str, Any] = {}
    opened = choose_model(ctx, changes, model)
    told = {key: value for key, value in marks.items() if config.get(key) != value}
    prompts = ctx.read_prompts(found)
    if prompts != config.get("prompts", {}):
        told["prompts"] = prompts
    if model_for:
        changes["model_for"] = {**config.get("model_for", {}), **named(ctx, model_for)}
    now = {**config, **changes}
    models = await ctx.prepare(now, old_budget.merged(budget or Budget()), opened)
    if changes:
        changes |= {"models": now["models"], "rehearsal": now["rehearsal"]}
    driver = Driver(
        ctx.store, run_id, found, make_run=ctx.make_run(models), redact=ctx.redact, budget=budget,
        config={**changes, **told}, concurrency=config.get("concurrency", 0),
        pause_grace_s=ctx.settings.pause_grace,
    )  # fmt: skip
    return driver, models


def _as_logged(ctx: Context, created: RunCreated) -> RunCreated:
    """Return the event as it will be read back from the log (redacted), so that the first drive sees the same
    as later ones."""
    return msgspec.json.decode(ctx.redact(encode(created)), type=RunCreated)
