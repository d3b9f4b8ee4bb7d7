"""Putting runs under way: new ones, old ones, and forks. Or into the queue, for somebody who drives many."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from podium import __version__
from podium.agents.models import Models
from podium.api.choosing import (
    budget_of,
    ceilings_in,
    choose_model,
    config_of,
    lower,
    named,
    with_ceilings,
)
from podium.api.context import Context, ModelChoice, open_context
from podium.api.handle import RunHandle
from podium.api.ids import new_run_id
from podium.engine.budget import Budget
from podium.engine.codec import decode, encode
from podium.engine.events import RunCreated
from podium.engine.fork import Fork, forked_rows
from podium.engine.history import HISTORY, check_resumable, history_of, shown_model
from podium.engine.log import Lease, Row, RunRow, Store
from podium.engine.result import RunResult
from podium.engine.runner import Driver
from podium.engine.workflow import Workflow
from podium.errors import RunLockedError, UsageError
from podium.settings import Settings
from podium.workflows import find_workflow

REQUEST_SHOWN = 500
"""Characters of a request that lists keep."""


class Checked(NamedTuple):
    """What a run is to be started with, in its right types."""

    workflow: Workflow
    request: Any
    options: dict[str, Any]
    gates: list[str]


class Accepted(NamedTuple):
    """A run that can be started: everything that may be wrong with it was looked at."""

    workflow: Workflow
    created: RunCreated
    models: Models
    rows: Sequence[Row] = ()
    """What a fork begins with."""
    blobs: Sequence[bytes] = ()
    parent: str = ""


async def start(
    workflow: str | Workflow,
    request: Any,
    *,
    model: ModelChoice | None = None,
    model_for: Mapping[str, str] | None = None,
    store: Store | str | None = None,
    budget: Budget | None = None,
    concurrency: int | None = None,
    cache: bool | None = None,
    approve: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    settings: Settings | None = None,
) -> RunHandle:
    """Start a run. When this returns, the run is in the log and survives whatever happens next."""
    found = check_start(workflow, request, budget, concurrency, approve, options)
    ctx = await open_context(store, settings)
    try:
        new = await accept(
            ctx, found, model=model, model_for=model_for, budget=budget,
            concurrency=concurrency, cache=cache,
        )  # fmt: skip
        lease = await ctx.store.create_driven(*first_of(ctx, new))
        driver = Driver(
            ctx.store,
            lease.run_id,
            new.workflow,
            make_run=ctx.make_run(new.models),
            redact=ctx.redact,
            concurrency=new.created.config["concurrency"],
            created=_as_logged(ctx, new.created),
        )
        return _under_way(ctx, driver, lease, new.models)
    except BaseException:
        await _abandon(ctx)
        raise


def check_start(
    workflow: str | Workflow,
    request: Any,
    budget: Any,
    concurrency: int | None,
    approve: Sequence[str],
    options: Mapping[str, Any] | None,
) -> Checked:
    """What a program may get wrong, told before anything is opened."""
    found = find_workflow(workflow) if isinstance(workflow, str) else workflow
    gates = found.check_gates([approve] if isinstance(approve, str) else approve)
    _check_types(found, request, budget, options)
    if concurrency is not None and concurrency < 0:
        raise UsageError("The concurrency must be 0 (no limit) or more.")
    prepared = found.prepare(request, with_ceilings(found, options or {}, budget or Budget()))
    return Checked(found, prepared.request, prepared.options, gates)


async def accept(
    ctx: Context,
    checked: Checked,
    *,
    model: ModelChoice | None,
    model_for: Mapping[str, str] | None,
    budget: Budget | None,
    concurrency: int | None,
    cache: bool | None,
    marks: Mapping[str, Any] | None = None,
) -> Accepted:
    """Choose models and ceilings; whatever is wrong with them starts nothing. `marks` are kept in the config
    of the run's log."""
    found = checked.workflow
    ceiling = found.budget.merged(budget_of(ctx.settings)).merged(budget or Budget())
    ceiling = lower(ceiling, ceilings_in(found, checked.options))
    limit = _first(concurrency, ctx.settings.given("concurrency"), found.concurrency)
    opened, config = config_of(ctx, model, model_for, cache, checked.gates, limit)
    models = await ctx.prepare(config, ceiling, opened)
    created = RunCreated(
        workflow=found.ref,
        request=checked.request,
        options=checked.options,
        config={**config, **(marks or {})},
        budget=ceiling.to_dict(),
        podium=__version__,
    )
    return Accepted(found, created, models)


async def run(
    workflow: str | Workflow,
    request: Any,
    *,
    model: ModelChoice | None = None,
    model_for: Mapping[str, str] | None = None,
    store: Store | str | None = None,
    budget: Budget | None = None,
    concurrency: int | None = None,
    cache: bool | None = None,
    approve: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
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
        settings=settings,
    )
    try:
        return await handle.result()
    except asyncio.CancelledError:  # nobody else knows of this run: leave it so that it can be resumed
        await handle.abandon()
        raise


async def resume(
    run_id: str,
    *,
    workflow: Workflow | None = None,
    store: Store | str | None = None,
    budget: Budget | None = None,
    model: ModelChoice | None = None,
    model_for: Mapping[str, str] | None = None,
    take_over: bool = False,
    settings: Settings | None = None,
    marks: Mapping[str, Any] | None = None,
    nap_s: float | None = None,
) -> RunHandle:
    """Take a run up where its log ends. Budgets are new totals; finished steps are not run again. `marks` are
    kept in the config of its log. A run that sleeps for longer than `nap_s` is paused until it wakes."""
    ctx = await open_context(store, settings)
    try:
        row = await ctx.store.get(run_id)
        check_resumable(row.run_id, row.status)
        lease, taken = await _acquired(ctx.store, row.run_id, take_over)
        try:
            driver, models = await _resumed(ctx, row.run_id, workflow, budget, model, model_for, marks or {})
            driver.taken_over, driver.nap_s = taken, nap_s
        except BaseException:
            await ctx.store.release(lease)
            raise
        return _under_way(ctx, driver, lease, models)
    except BaseException:
        await _abandon(ctx)
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
    store: Store | str | None = None,
    settings: Settings | None = None,
) -> RunHandle:
    """Copy a run up to the step `at`, optionally with another reply, prompt or model there, and run on."""
    ctx = await open_context(store, settings)
    try:
        new = await accept_fork(ctx, run_id, at, reply, prompt, model, workflow, budget)
        lease = await ctx.store.create_driven(*first_of(ctx, new))
        driver = Driver(
            ctx.store, lease.run_id, new.workflow, make_run=ctx.make_run(new.models), redact=ctx.redact,
            concurrency=new.created.config.get("concurrency", 0),
        )  # fmt: skip
        return _under_way(ctx, driver, lease, new.models)
    except BaseException:
        await _abandon(ctx)
        raise


async def accept_fork(
    ctx: Context,
    run_id: str,
    at: str,
    reply: Any,
    prompt: str | None,
    model: ModelChoice | None,
    workflow: Workflow | None,
    budget: Budget | None,
    marks: Mapping[str, Any] | None = None,
) -> Accepted:
    row = await ctx.store.get(run_id)
    rows = await ctx.store.read(row.run_id)
    created, config, old_budget = history_of(rows)
    config |= marks or {}
    found = workflow or find_workflow(created.workflow)
    opened = choose_model(ctx, config, model)
    if prompt is not None:
        config["overrides"] = {**config.get("overrides", {}), at: {"prompt": prompt}}
    ceiling = old_budget.merged(budget or Budget())
    models = await ctx.prepare(config, ceiling, opened)
    edits = {
        "reply": reply is not msgspec.UNSET,
        "prompt": prompt is not None,
        "model": model is not None,
    }
    edit = ", ".join(name for name, changed in edits.items() if changed)
    new = RunCreated(
        workflow=found.ref, request=created.request, options=created.options, config=config,
        budget=ceiling.to_dict(), podium=__version__,
    )  # fmt: skip
    clean = reply if reply is msgspec.UNSET else decode(ctx.redact(encode(reply)))
    plan = Fork(source=row.run_id, at=at, reply=clean, edit=edit)
    first, blobs = forked_rows(rows, ctx.redact(encode(new)), plan)
    return Accepted(found, new, models, first, blobs, row.run_id)


async def _acquired(store: Store, run_id: str, take_over: bool) -> tuple[Lease, bool]:
    """The right to drive a run, and whether it was taken from somebody who still holds it."""
    try:
        return await store.acquire(run_id), False
    except RunLockedError:
        if not take_over:
            raise
        return await store.acquire(run_id, take_over=True), True


def _under_way(ctx: Context, driver: Driver, lease: Lease, models: Models) -> RunHandle:
    """From here on the run is driven, and traced if that is wanted."""
    handle = RunHandle(ctx.store, driver, lease, owns_store=ctx.owns_store, close=models.close)
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
    if model_for:
        changes["model_for"] = {**config.get("model_for", {}), **named(ctx, model_for)}
    now = {**config, **changes}
    models = await ctx.prepare(now, old_budget.merged(budget or Budget()), opened)
    if changes:
        changes |= {"models": now["models"], "rehearsal": now["rehearsal"]}
    driver = Driver(
        ctx.store, run_id, found, make_run=ctx.make_run(models), redact=ctx.redact, budget=budget,
        config={**changes, **told}, concurrency=config.get("concurrency", 0),
    )  # fmt: skip
    return driver, models


def _check_types(workflow: Workflow, request: Any, budget: Any, options: Any) -> None:
    empty = request is None or (isinstance(request, str) and not request.strip())
    if empty and (workflow.needs_request or not options):
        raise UsageError("The request is empty.", hint="Say what the run should do.")
    if not isinstance(budget, Budget | None):
        raise UsageError("The budget is not a podium.Budget.", hint="Write it as podium.Budget(calls=20).")
    if not isinstance(options, Mapping | None):
        raise UsageError("The options are not a mapping of names to values.")


def _first(*limits: int | None) -> int | None:
    return next((limit for limit in limits if limit is not None), None)


def first_of(ctx: Context, new: Accepted, run_id: str = "") -> tuple[RunRow, Sequence[Row], Sequence[bytes]]:
    """The summary of a new run, the first rows of its log, and the blobs that these name."""
    created, now = new.created, time.time_ns() // 1000
    text = created.request if isinstance(created.request, str) else encode(created.request).decode()
    row = RunRow(
        run_id=run_id or new_run_id(),
        workflow=new.workflow.name,
        request=_redacted(ctx, text)[:REQUEST_SHOWN],
        status="queued",
        created_us=now,
        updated_us=now,
        model=shown_model(created.config),
        rehearsal=bool(created.config.get("rehearsal")),
        parent=new.parent,
        owner=str(created.config.get("owner", "")),
        budget=msgspec.convert(created.budget, Budget),
    )
    return row, new.rows or [Row(1, now, "", created.type, ctx.redact(encode(created)))], new.blobs


def _as_logged(ctx: Context, created: RunCreated) -> RunCreated:
    """What a later life of the run will read, so that the first one sees the same."""
    return msgspec.json.decode(ctx.redact(encode(created)), type=RunCreated)


def _redacted(ctx: Context, text: str) -> str:
    return str(decode(ctx.redact(encode(text))))


async def _abandon(ctx: Context) -> None:
    if ctx.owns_store:
        await ctx.store.close()
