"""Accepting runs without driving them: for a server, which drives as many at once as it may."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from podium.api.accepting import Accepted, accept, accept_fork, check_start, first_of
from podium.api.context import Context
from podium.engine.budget import Budget
from podium.engine.log import RunRow, Store
from podium.engine.workflow import Workflow
from podium.settings import Settings


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
    """Accept a run without driving it: it is durable and `queued` when this returns, and `resume` starts it.
    `marks` are kept in the config of its log; of these, `owner` says whose it is. `run_id`: one that is
    to be the run's; `StoreError` if there is one of that id. `start_key`: the same for a name that the owner
    gives to it."""
    found = check_start(workflow, request, budget, concurrency, approve, options)
    ctx = Context(settings, store)
    ctx.read_prompts(found.workflow)  # to find mistakes; the process that drives the run logs its own
    new = await accept(
        ctx, found, model=model, model_for=model_for, budget=budget, concurrency=concurrency, cache=cache,
        marks=marks,
    )  # fmt: skip
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
