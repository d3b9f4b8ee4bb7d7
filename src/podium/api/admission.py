"""Validation of new runs, their first log rows, queueing, and run ids."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import msgspec

from podium import __version__
from podium.agents.models import Models
from podium.api.context import (
    Context,
    ModelChoice,
    ceilings_in,
    choose_model,
    config_of,
    lower,
    with_ceilings,
)
from podium.engine.budget import Budget
from podium.engine.codec import decode, encode
from podium.engine.events import RunCreated, RunStarted
from podium.engine.history import Fork, forked_rows, history_of, shown_model
from podium.engine.log import Row, RunRow, Store, this_process
from podium.engine.workflow import Workflow
from podium.errors import UsageError
from podium.report.turns import edited_result
from podium.settings import Settings
from podium.workflows import find_workflow

_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"


def new_run_id() -> str:
    """Return a random id of twelve characters (60 bits). A unique prefix is enough to refer to a run."""
    return _named(secrets.randbits(60))


def run_id_of(text: str) -> str:
    """Return the same id for the same text, for a run that must exist only once."""
    return _named(int.from_bytes(blake2b(text.encode(), digest_size=8).digest()) >> 4)


def _named(number: int) -> str:
    return "".join([_LETTERS[(number >> shift) & 31] for shift in range(0, 60, 5)])


REQUEST_SHOWN = 500
"""Characters of a request that the run's row keeps for lists."""


class Checked(NamedTuple):
    """A validated start: workflow, request, options and gates, in their declared types."""

    workflow: Workflow
    request: Any
    options: dict[str, Any]
    gates: list[str]


class Accepted(NamedTuple):
    """A run that can be started: everything about it has been validated."""

    workflow: Workflow
    created: RunCreated
    models: Models
    rows: Sequence[Row] = ()
    """First log rows of a fork; empty otherwise."""
    blobs: Sequence[bytes] = ()
    parent: str = ""


def check_start(
    workflow: str | Workflow,
    request: Any,
    budget: Any,
    concurrency: Any,
    approve: Sequence[str],
    options: Mapping[str, Any] | None,
) -> Checked:
    """Validate the arguments of a start before anything is opened. Raises `UsageError`."""
    flow = find_workflow(workflow) if isinstance(workflow, str) else workflow
    gates = flow.check_gates([approve] if isinstance(approve, str) else approve)
    _check_types(flow, request, budget, options)
    if concurrency is not None and not (isinstance(concurrency, int) and concurrency >= 0):
        raise UsageError("The concurrency must be a whole number from 0 (no limit) on.")
    prepared = flow.prepare(request, with_ceilings(flow, options or {}, budget or Budget()))
    return Checked(flow, prepared.request, prepared.options, gates)


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
    """Choose models and budget. An invalid choice raises and starts nothing. `marks` are stored in the config
    of the run's log."""
    flow = checked.workflow
    ceiling = flow.budget.merged(Budget.from_settings(ctx.settings)).merged(budget or Budget())
    ceiling = lower(ceiling, ceilings_in(flow, checked.options))
    limit = _first(concurrency, ctx.settings.given("concurrency"), flow.concurrency)
    opened, config = config_of(ctx, model, model_for, cache, checked.gates, limit)
    models = await ctx.prepare(config, ceiling, opened)
    created = RunCreated(
        workflow=flow.ref,
        request=checked.request,
        options=checked.options,
        config={**config, **(marks or {})},
        budget=ceiling.to_dict(),
        podium=__version__,
    )
    return Accepted(flow, created, models)


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
    """Return a fork: the log of its source up to the step `at`, with the edit there."""
    row = await ctx.store.get(run_id)
    rows = await ctx.store.read(row.run_id)
    created, config, old_budget = history_of(rows)
    config |= marks or {}
    flow = workflow or find_workflow(created.workflow)
    config.pop("prompts", None)
    if prompts := ctx.read_prompts(flow):
        config["prompts"] = prompts
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
        workflow=flow.ref,
        request=created.request,
        options=created.options,
        config=config,
        budget=ceiling.to_dict(),
        podium=__version__,
    )
    clean = reply
    if reply is not msgspec.UNSET:
        clean = decode(ctx.redact(encode(edited_result(rows, at, reply))))
    plan = Fork(source=row.run_id, at=at, reply=clean, edit=edit)
    first, blobs = forked_rows(rows, ctx.redact(encode(new)), plan)
    return Accepted(flow, new, models, first, blobs, row.run_id)


def first_of(ctx: Context, new: Accepted, run_id: str = "") -> tuple[RunRow, Sequence[Row], Sequence[bytes]]:
    """Return the row of a new run, the first rows of its log, and the blobs that these reference."""
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


def first_driven(ctx: Context, new: Accepted) -> tuple[RunRow, Sequence[Row], Sequence[bytes]]:
    """Return the same for a run that this process drives immediately: its log
    already contains `run.started`."""
    row, rows, blobs = first_of(ctx, new)
    started = RunStarted(holder=this_process())
    first = Row(rows[-1].seq + 1, rows[-1].time_us, "", started.type, ctx.redact(encode(started)))
    return msgspec.structs.replace(row, status="running"), [*rows, first], blobs


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


def _redacted(ctx: Context, text: str) -> str:
    return str(decode(ctx.redact(encode(text))))


async def enqueue(
    workflow: str | Workflow,
    request: Any,
    *,
    store: Store,
    settings: Settings,
    model: str | None = None,
    model_for: Mapping[str, str] | None = None,
    budget: Budget | None = None,
    concurrency: int | None = None,
    cache: bool | None = None,
    approve: Sequence[str] = (),
    options: Mapping[str, Any] | None = None,
    marks: Mapping[str, Any] | None = None,
    run_id: str = "",
    start_key: str = "",
) -> RunRow:
    """Accept a run without driving it.

    It is durable and `queued` when this returns, and `resume` starts it. `marks` are stored in the config of
    its log; the mark `owner` names its owner. `run_id` sets the run's id and `start_key` an idempotency key
    that is unique per owner; either raises `StoreError` if it exists already.
    """
    checked = check_start(workflow, request, budget, concurrency, approve, options)
    ctx = Context(settings, store)
    ctx.read_prompts(checked.workflow)  # only to find mistakes; the process that drives the run logs its own
    new = await accept(
        ctx,
        checked,
        model=model,
        model_for=model_for,
        budget=budget,
        concurrency=concurrency,
        cache=cache,
        marks=marks,
    )
    return await _put_aside(ctx, new, run_id, start_key)


async def enqueue_fork(
    run_id: str,
    at: str,
    *,
    store: Store,
    settings: Settings,
    reply: Any = msgspec.UNSET,
    prompt: str | None = None,
    model: str | None = None,
    budget: Budget | None = None,
    marks: Mapping[str, Any] | None = None,
) -> RunRow:
    """Accept a fork without driving it, like `enqueue`."""
    ctx = Context(settings, store)
    return await _put_aside(
        ctx, await accept_fork(ctx, run_id, at, reply, prompt, model, None, budget, marks)
    )


async def _put_aside(ctx: Context, new: Accepted, run_id: str = "", start_key: str = "") -> RunRow:
    await new.models.close()
    row, rows, blobs = first_of(ctx, new, run_id)
    row = msgspec.structs.replace(row, start_key=start_key)
    await ctx.store.create(row, rows, blobs)
    return row
