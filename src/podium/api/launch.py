"""Start, resume and fork of runs, and the handle of a run that this process drives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from podium.agents.models import Models
from podium.api.admission import accept, accept_fork, check_start, first_driven, first_of
from podium.api.context import Context, ModelChoice, choose_model, named, open_context, reply_config
from podium.engine.budget import Budget
from podium.engine.codec import encode
from podium.engine.core import Delta
from podium.engine.events import Event, RunCreated
from podium.engine.history import HISTORY, check_resumable, history_of
from podium.engine.log import Lease, Store
from podium.engine.result import RunResult
from podium.engine.runner import Driver
from podium.engine.workflow import Workflow
from podium.errors import RunLockedError
from podium.settings import Settings
from podium.stores.shared import SharedStore, borrow
from podium.workflows import find_workflow

DELTA_BUFFER = 1000
"""Reply deltas that a slow viewer may lag behind before the oldest are dropped."""

COMPANION_S = 5.0
"""Seconds that `result` waits for companion tasks, which normally need milliseconds."""


class RunHandle:
    """Handle that `start`, `resume` and `fork` return. The run is already durable and under way."""

    def __init__(
        self,
        store: Store,
        driver: Driver,
        lease: Lease,
        *,
        shared: SharedStore | None,
        close: Callable[[], Awaitable[None]],
    ) -> None:
        self.run_id = driver.run_id
        self._driver = driver
        self._store = store
        self._shared = shared
        """Handle that releases the shared store. None: the store belongs to the caller."""
        self._close = close
        """Closes what only this drive needs: connections to models."""
        self._users = 1
        self._companions: list[asyncio.Task[None]] = []
        self._task = asyncio.get_running_loop().create_task(self._drive(lease))

    async def _drive(self, lease: Lease) -> RunResult:
        try:
            return await self._driver.drive(lease)
        finally:
            try:
                await self._close()
            finally:
                await self._let_go()

    async def _let_go(self) -> None:
        self._users -= 1
        if self._users == 0 and self._shared is not None:
            await self._shared.leave()

    def accompany(self, companion: Coroutine[Any, Any, None]) -> None:
        """Run a task that watches this drive to its end. It does local work only; `result` waits for it, so
        that it completes even if the event loop ends with the run."""
        self._companions.append(asyncio.get_running_loop().create_task(companion))

    @property
    def done(self) -> bool:
        """Return whether this drive has ended."""
        return self._task.done()

    async def result(self) -> RunResult:
        """Wait until the run has ended, waits for a person, or was stopped."""
        result = await asyncio.shield(self._task)
        if self._companions:
            await asyncio.wait(self._companions, timeout=COMPANION_S)
        return result

    async def abandon(self, reason: str = "paused") -> None:
        """Stop immediately and leave a run that can be resumed. The result or exception is discarded."""
        self._driver.pause(reason, at_once=True)
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()

    async def events(self, after: int = 0) -> AsyncGenerator[Event]:
        """Yield typed events after `after` as they become durable. Ends when this drive ends."""
        if self._users == 0 and self._shared is not None:  # it is over, and its store was released
            async with borrow(self._store.url) as store:
                for row in await store.read(self.run_id, after=after):
                    yield row.to_event(self.run_id)
            return
        self._users += 1
        try:
            async with aclosing(self._tail(after)) as events:
                async for event in events:
                    yield event
        finally:
            await self._let_go()

    async def _tail(self, after: int) -> AsyncGenerator[Event]:
        rows = self._store.tail(self.run_id, after=after)
        following = asyncio.ensure_future(anext(rows, None))
        try:
            while True:
                await asyncio.wait({following, self._task}, return_when=asyncio.FIRST_COMPLETED)
                if not following.done():
                    break
                row = following.result()
                if row is None:
                    return  # the owner closed the store
                after = row.seq
                yield row.to_event(self.run_id)
                following = asyncio.ensure_future(anext(rows, None))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await rows.aclose()
        for row in await self._store.read(self.run_id, after=after):
            yield row.to_event(self.run_id)

    def watch_deltas(self, viewer: Callable[[Delta], None]) -> Callable[[], None]:
        """Call `viewer` synchronously with each reply delta. Returns a function that stops it."""
        return self._driver.watch_deltas(viewer)

    async def deltas(self) -> AsyncGenerator[Delta]:
        """Yield reply deltas while replies are generated: path, attempt, offset, text. They are not in the
        log, and the oldest are dropped for a slow viewer."""
        queue: asyncio.Queue[Delta | None] = asyncio.Queue()

        def put(delta: Delta) -> None:
            if queue.qsize() >= DELTA_BUFFER:
                queue.get_nowait()
            queue.put_nowait(delta)

        stop = self.watch_deltas(put)
        self._task.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (delta := await queue.get()) is not None:
                yield delta
        finally:
            stop()

    async def cancel(self, reason: str = "") -> RunResult:
        """End the run for good; returns within two seconds."""
        self._driver.cancel(reason)
        return await self.result()

    async def pause(self, *, at_once: bool = False) -> RunResult:
        """Stop the run so that it can be resumed. Calls in flight get the time of the setting `pause_grace`
        to be recorded, unless `at_once`."""
        self._driver.pause(at_once=at_once)
        return await self.result()

    def request_pause(self, reason: str = "paused", *, grace_s: float | None = None) -> None:
        """Request a pause without waiting, for signal handlers. Calls in flight get `grace_s` seconds to be
        recorded (None: the setting `pause_grace`); a second request is immediate."""
        self._driver.pause(reason, grace_s=grace_s)


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
    checked = check_start(workflow, request, budget, concurrency, approve, options)
    limits = reply_config(reply_timeout, reply_tokens)
    ctx = await open_context(store, settings)
    try:
        prompts = ctx.read_prompts(checked.workflow)
        marks = {**limits, "prompts": prompts} if prompts else limits
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
        lease = await ctx.store.create_driven(*first_driven(ctx, new))
        # Redacted, as it will be read back from the log: the first drive sees the same as later ones.
        created = msgspec.json.decode(ctx.redact(encode(new.created)), type=RunCreated)
        driver = _driver(ctx, lease.run_id, new.workflow, new.models, created.config, created=created)
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
    changes = {**(marks or {}), **reply_config(reply_timeout, reply_tokens)}
    ctx = await open_context(store, settings)
    try:
        row = await ctx.store.get(run_id)
        check_resumable(row.run_id, row.status)
        lease, taken_over = await _acquired(ctx.store, row.run_id, take_over)
        try:
            driver, models = await _resumed(ctx, row.run_id, workflow, budget, model, model_for, changes)
            driver.taken_over, driver.nap_s = taken_over, nap_s
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
        driver = _driver(ctx, lease.run_id, new.workflow, new.models, new.created.config)
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
        from podium.tracing.export import follow  # noqa: PLC0415 - nothing of it is loaded when it is off

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
    flow = workflow or find_workflow(created.workflow)
    changes: dict[str, Any] = {}
    opened = choose_model(ctx, changes, model)
    changed = {key: value for key, value in marks.items() if config.get(key) != value}
    prompts = ctx.read_prompts(flow)
    if prompts != config.get("prompts", {}):
        changed["prompts"] = prompts
    if model_for:
        changes["model_for"] = {**config.get("model_for", {}), **named(ctx, model_for)}
    now = {**config, **changes}
    models = await ctx.prepare(now, old_budget.merged(budget or Budget()), opened)
    if changes:
        changes |= {"models": now["models"], "rehearsal": now["rehearsal"]}
    changes |= changed
    return _driver(ctx, run_id, flow, models, config, budget=budget, changes=changes), models


def _driver(
    ctx: Context,
    run_id: str,
    workflow: Workflow,
    models: Models,
    config: Mapping[str, Any],
    *,
    budget: Budget | None = None,
    changes: Mapping[str, Any] | None = None,
    created: RunCreated | None = None,
) -> Driver:
    return Driver(
        ctx.store,
        run_id,
        workflow,
        make_run=ctx.make_run(models),
        redact=ctx.redact,
        budget=budget,
        config=changes,
        concurrency=config.get("concurrency", 0),
        pause_grace_s=ctx.settings.pause_grace,
        created=created,
    )
