"""Putting runs under way: new ones, old ones, and forks."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from podium import __version__
from podium.agents.models import Models
from podium.api.context import Context, ModelChoice, open_context
from podium.api.handle import RunHandle
from podium.api.ids import new_run_id
from podium.engine.budget import Budget
from podium.engine.codec import decode, encode
from podium.engine.events import RunCreated
from podium.engine.fork import Fork, forked_rows
from podium.engine.history import check_resumable, history_of, shown_model
from podium.engine.log import Lease, Row, RunRow, Store
from podium.engine.result import RunResult
from podium.engine.runner import Driver
from podium.engine.workflow import CEILINGS, Workflow
from podium.errors import RunLockedError, UsageError
from podium.models.model import Model
from podium.models.profiles import is_profile, resolved
from podium.settings import Settings
from podium.workflows import find_workflow

REQUEST_SHOWN = 500
"""Characters of a request that lists keep."""


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
    found = find_workflow(workflow) if isinstance(workflow, str) else workflow
    gates = found.check_gates([approve] if isinstance(approve, str) else approve)
    _check_start(found, request, budget, options)
    if concurrency is not None and concurrency < 0:
        raise UsageError("The concurrency must be 0 (no limit) or more.")
    known = settings or Settings.load()
    ceiling = found.budget.merged(_budget_of(known)).merged(budget or Budget())
    prepared = found.prepare(request, _with_ceilings(found, options or {}, budget or Budget()))
    ctx = await open_context(store, known)
    try:
        ceiling = _lower(ceiling, _ceilings_in(found, prepared.options))
        limit = _first(concurrency, ctx.settings.given("concurrency"), found.concurrency)
        opened, config = _config(ctx, model, model_for, cache, gates, limit)
        models = await ctx.prepare(config, ceiling, opened)
        created = RunCreated(
            workflow=found.ref,
            request=prepared.request,
            options=prepared.options,
            config=config,
            budget=ceiling.to_dict(),
            podium=__version__,
        )
        lease = await _create(ctx, found.name, created)
        driver = Driver(
            ctx.store,
            lease.run_id,
            found,
            make_run=ctx.make_run(models),
            redact=ctx.redact,
            concurrency=config["concurrency"],
            created=_as_logged(ctx, created),
        )
        return _under_way(ctx, driver, lease, models)
    except BaseException:
        await _abandon(ctx)
        raise


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
) -> RunHandle:
    """Take a run up where its log ends. Budgets are new totals; finished steps are not run again."""
    ctx = await open_context(store, settings)
    try:
        row = await ctx.store.get(run_id)
        check_resumable(row.run_id, row.status)
        lease, taken = await _acquired(ctx.store, row.run_id, take_over)
        try:
            driver, models = await _resumed(ctx, row.run_id, workflow, budget, model, model_for)
            driver.taken_over = taken
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
        row = await ctx.store.get(run_id)
        rows = await ctx.store.read(row.run_id)
        created, config, old_budget = history_of(rows)
        found = workflow or find_workflow(created.workflow)
        opened = _choose_model(ctx, config, model)
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
        first = forked_rows(rows, ctx.redact(encode(new)), plan)
        lease = await _create(ctx, found.name, new, *first, parent=row.run_id)
        driver = Driver(
            ctx.store, lease.run_id, found, make_run=ctx.make_run(models), redact=ctx.redact,
            concurrency=config.get("concurrency", 0),
        )  # fmt: skip
        return _under_way(ctx, driver, lease, models)
    except BaseException:
        await _abandon(ctx)
        raise


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
) -> tuple[Driver, Models]:
    created, config, old_budget = history_of(
        await ctx.store.read(run_id, types=("run.created", "run.resumed"))
    )
    found = workflow or find_workflow(created.workflow)
    changes: dict[str, Any] = {}
    opened = _choose_model(ctx, changes, model)
    if model_for:
        changes["model_for"] = {**config.get("model_for", {}), **_named(ctx, model_for)}
    now = {**config, **changes}
    models = await ctx.prepare(now, old_budget.merged(budget or Budget()), opened)
    if changes:
        changes |= {"models": now["models"], "rehearsal": now["rehearsal"]}
    driver = Driver(
        ctx.store, run_id, found, make_run=ctx.make_run(models), redact=ctx.redact, budget=budget,
        config=changes, concurrency=config.get("concurrency", 0),
    )  # fmt: skip
    return driver, models


def _with_ceilings(workflow: Workflow, options: Mapping[str, Any], budget: Budget) -> dict[str, Any]:
    """The options, and those of the given ceilings that the workflow wants to know and was not told."""
    declared = {option.name for option in workflow.options}
    told = {name: getattr(budget, kind) for name, kind in CEILINGS.items() if name in declared}
    return {**{name: value for name, value in told.items() if value is not None}, **options}


def _ceilings_in(workflow: Workflow, options: Mapping[str, Any]) -> dict[str, Any]:
    """The ceilings that a workflow has settled on, its own defaults among them."""
    declared = {option.name for option in workflow.options}
    return {kind: options.get(name) for name, kind in CEILINGS.items() if name in declared}


def _lower(ceiling: Budget, others: Mapping[str, Any]) -> Budget:
    """Of two ceilings the lower one holds."""
    both = {kind: (getattr(ceiling, kind), other) for kind, other in others.items() if other is not None}
    return ceiling.merged(
        Budget(**{kind: other if now is None else min(now, other) for kind, (now, other) in both.items()})
    )


def _check_start(workflow: Workflow, request: Any, budget: Any, options: Any) -> None:
    """What a program may get wrong, told before anything is opened."""
    empty = request is None or (isinstance(request, str) and not request.strip())
    if empty and (workflow.needs_request or not options):
        raise UsageError("The request is empty.", hint="Say what the run should do.")
    if not isinstance(budget, Budget | None):
        raise UsageError("The budget is not a podium.Budget.", hint="Write it as podium.Budget(calls=20).")
    if not isinstance(options, Mapping | None):
        raise UsageError("The options are not a mapping of names to values.")


def _first(*limits: int | None) -> int | None:
    return next((limit for limit in limits if limit is not None), None)


def _config(
    ctx: Context,
    model: ModelChoice | None,
    model_for: Mapping[str, str] | None,
    cache: bool | None,
    gates: list[str],
    concurrency: int | None,
) -> tuple[dict[str, Model], dict[str, Any]]:
    settings = ctx.settings
    config: dict[str, Any] = {"concurrency": settings.concurrency if concurrency is None else concurrency}
    opened = _choose_model(ctx, config, model or settings.model or None)
    if "model" not in config:
        config |= resolved(settings)
    if model_for:
        config["model_for"] = _named(ctx, model_for)
        if any(is_profile(name, settings.profiles) for name in model_for.values()):
            config.setdefault("profiles", resolved(settings)["profiles"])
    if settings.cache if cache is None else cache:
        config["cache"] = True
    if gates:
        config["approve"] = gates
    return opened, config


def _choose_model(ctx: Context, config: dict[str, Any], model: ModelChoice | None) -> dict[str, Model]:
    """Write the model's name into the run's settings; one that is handed in as an object is kept open."""
    if model is None:
        return {}
    config["model"], opened = ctx.chosen(model)
    return opened


def _named(ctx: Context, model_for: Mapping[str, str]) -> dict[str, str]:
    """Models by role, under names that hold in any folder; a profile keeps its own."""
    profiles = ctx.settings.profiles
    return {
        role: name if is_profile(name, profiles) else ctx.chosen(name)[0] for role, name in model_for.items()
    }


def _budget_of(settings: Settings) -> Budget:
    return Budget(
        usd=settings.max_usd,
        tokens=settings.max_tokens,
        calls=settings.max_calls,
        seconds=settings.time_limit,
    )


async def _create(
    ctx: Context,
    name: str,
    created: RunCreated,
    rows: Sequence[Row] = (),
    blobs: Sequence[bytes] = (),
    *,
    parent: str = "",
) -> Lease:
    """Put a new run into the store, already held by this process."""
    run_id, now = new_run_id(), time.time_ns() // 1000
    first = rows or [Row(1, now, "", created.type, ctx.redact(encode(created)))]
    text = created.request if isinstance(created.request, str) else encode(created.request).decode()
    return await ctx.store.create_driven(
        RunRow(
            run_id=run_id,
            workflow=name,
            request=_redacted(ctx, text)[:REQUEST_SHOWN],
            status="queued",
            created_us=now,
            updated_us=now,
            model=shown_model(created.config),
            rehearsal=bool(created.config.get("rehearsal")),
            parent=parent,
        ),
        first,
        blobs,
    )


def _as_logged(ctx: Context, created: RunCreated) -> RunCreated:
    """What a later life of the run will read, so that the first one sees the same."""
    return msgspec.json.decode(ctx.redact(encode(created)), type=RunCreated)


def _redacted(ctx: Context, text: str) -> str:
    return str(decode(ctx.redact(encode(text))))


async def _abandon(ctx: Context) -> None:
    if ctx.owns_store:
        await ctx.store.close()
