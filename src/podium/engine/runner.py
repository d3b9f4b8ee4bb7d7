"""Drivers that run or replay a workflow.

A stretch ends when the workflow returns or fails, when every branch waits for a person, when the run sleeps
for long, or when a stop is ordered. However it ends, the log can be taken up again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

import msgspec

from podium.engine.branch import CURRENT
from podium.engine.budget import Budget
from podium.engine.core import Core, PersonAnswer
from podium.engine.ending import (
    PAUSE_GRACE_S,
    Ending,
    Orders,
    end_all,
    ending_asleep,
    ending_of,
    ending_of_broken,
    overrun_warnings,
    stop,
)
from podium.engine.events import BudgetRaised, BudgetSettled, RunCreated, RunResumed, RunStarted
from podium.engine.failure import describe, is_close
from podium.engine.history import cancelled_elsewhere, check_resumable, history_of, shown_model
from podium.engine.journal import MAX_RECOVERIES, Journal, Memo, Redact
from podium.engine.log import InboxMessage, Lease, Store, this_process
from podium.engine.pacing import tuned
from podium.engine.result import RunResult
from podium.engine.run import Run
from podium.engine.workflow import Workflow
from podium.errors import ExitError, FencedError, PodiumError, ReplayDivergedError, RunPausedError, StoreError


class MakeRun(Protocol):
    """Factory with which the layers above give workflows a richer `Run`."""

    def __call__(
        self,
        run_id: str,
        workflow: str,
        request: Any,
        options: Mapping[str, Any],
        config: Mapping[str, Any],
        core: Core,
    ) -> Run: ...


class Driver:
    """Drives one run for one stretch. Create it, then `await drive()`; the other methods may be called
    meanwhile from the same loop."""

    def __init__(
        self,
        store: Store,
        run_id: str,
        workflow: Workflow,
        *,
        make_run: MakeRun = Run,
        redact: Redact,
        budget: Budget | None = None,
        config: Mapping[str, Any] | None = None,
        concurrency: int = 0,
        pause_grace_s: float = PAUSE_GRACE_S,
        created: RunCreated | None = None,
    ) -> None:
        self.run_id = run_id
        self.workflow = workflow
        self._store = store
        self._make_run = make_run
        self._redact = redact
        self._new_budget = budget or Budget()
        self._new_config = dict(config or {})
        self._concurrency = concurrency
        self.nap_s: float | None = None
        """Longest sleep in seconds for which the run keeps its driver; `None`: no limit."""
        self._orders = Orders(pause_grace_s)
        self._viewers: set[Callable[[tuple[str, int, int, str]], None]] = set()
        self._fresh = created is not None
        """This process has just created the run as started: there is no log to read."""
        self._created = created or RunCreated(workflow="", request=None)
        self._config: dict[str, Any] = {}
        self.taken_over = False
        """The run was taken over from a driver that still held it."""
        self._left_over: list[int] = []
        """Inbox messages that arrived too late for an earlier stretch, answers excepted."""

    # ── stop orders ──

    def cancel(self, reason: str = "") -> None:
        """End the run permanently."""
        self._orders.cancel(reason)

    def pause(self, reason: str = "paused", *, at_once: bool = False, grace_s: float | None = None) -> None:
        """Stop the run so that it can be resumed. Calls in flight get `grace_s` seconds (or the default) to
        be recorded, unless `at_once`."""
        self._orders.pause(reason, at_once=at_once, grace_s=grace_s)

    def watch_deltas(self, viewer: Callable[[tuple[str, int, int, str]], None]) -> Callable[[], None]:
        """Pass pieces of replies to `viewer` as they are generated; return a function that stops it."""
        self._viewers.add(viewer)
        return lambda: self._viewers.discard(viewer)

    def _read_message(self, core: Core, message: InboxMessage) -> None:
        if message.id in core.handled:
            return
        if message.kind == "answer":
            data: dict[str, Any] = message.data
            answer = PersonAnswer(
                data.get("answer"), str(data.get("by", "")), message.id, int(data.get("asked", 0))
            )
            core.answer(str(data.get("question", "")), answer)
            return
        core.handled.append(message.id)
        if message.kind == "cancel":
            self.cancel(str(message.data or ""))
        elif message.kind == "pause":
            self.pause(str(message.data or "paused"))
        elif message.kind == "budget":
            core.raise_budget(msgspec.convert(message.data, Budget))

    # ── one stretch ──

    async def drive(self, lease: Lease | None = None) -> RunResult:
        """Drive the run until the stretch ends, under the given lease or a new one."""
        if lease is None:
            lease = await self._store.acquire(self.run_id)
        try:
            with tuned():
                return await self._drive(lease)
        except FencedError:
            row = await self._store.get(self.run_id)
            if row.status != "cancelled":
                raise
            return cancelled_elsewhere(row, self.workflow.name)
        finally:
            await self._store.release(lease)

    async def _drive(self, lease: Lease) -> RunResult:
        memo, budget = await self._remember()
        journal = Journal(self._store, lease, self._redact)
        core = Core(
            journal,
            memo,
            budget.merged(self._new_budget),
            closing=self.workflow.closing,
            concurrency=self._concurrency,
        )
        core.handled += self._left_over
        core.viewers = self._viewers
        core.stop = self._orders.given
        self._orders.core = core
        lease.on_lost = core.broke
        try:
            if not self._fresh:
                self._begin(core, memo)
                await journal.committed()  # so that a stretch that ends at once is still counted
            if self._config.get("owner") and self._store.limits is not None:
                await core.open_owner_budget(self._store.limits)
            if memo.recoveries >= MAX_RECOVERIES:
                return await self._finish(core, too_many_recoveries())
            return await self._walk(core)
        finally:
            journal.close()
            self._orders.core = None

    async def _remember(self) -> tuple[Memo, Budget]:
        """Read the log; return the memo and the budget."""
        if self._fresh:
            self._config = dict(self._created.config)
            return Memo(), msgspec.convert(self._created.budget, Budget)
        rows = await self._store.read(self.run_id)
        memo = Memo.of(rows)
        self._created, self._config, budget = history_of(rows)
        check_resumable(self.run_id, memo.left)
        memo.prepare_resume()
        memo.count_lost_calls()
        inbox = await self._store.inbox(self.run_id)
        self._left_over = [message.id for message in inbox if message.kind != "answer"]
        for message in inbox:
            if message.kind == "budget":  # it came too late for an earlier stretch, and still applies
                more = budget.merged(self._new_budget).raised_to(msgspec.convert(message.data, Budget))
                self._new_budget = self._new_budget.merged(more)
        return memo, budget

    def _begin(self, core: Core, memo: Memo) -> None:
        if memo.left == "queued":
            core.emit("", RunStarted(holder=this_process(), config=self._new_config))
            if self._new_budget != Budget():
                core.emit("", BudgetRaised(budget=self._new_budget.to_dict()))
        else:
            core.emit(
                "",
                RunResumed(
                    holder=this_process(),
                    after="take-over" if self.taken_over and memo.left == "crash" else memo.left,
                    budget=self._new_budget.to_dict(),
                    config=self._new_config,
                    forfeited=memo.forfeited_now,
                ),
            )
            for path, charge in memo.lost:
                core.emit(path, BudgetSettled(charge=charge, estimated=True, lost=True))
        self._config |= self._new_config
        core.journal.update(status="running", stop_reason="", rehearsal=core.rehearsed or None)
        if self._new_budget != Budget():
            core.journal.update(budget=self._new_budget)

    async def _walk(self, core: Core) -> RunResult:
        run = self._make_run(
            self.run_id, self.workflow.name, self._created.request, self._created.options, self._config, core
        )
        core.wake_driver = self._orders.wake.set
        core.clock.start()
        main = asyncio.get_running_loop().create_task(self._main(run, core))
        main.add_done_callback(self._main_ended)
        unsubscribe = self._store.subscribe(self.run_id, lambda message: self._read_message(core, message))
        try:
            ending = await self._supervise(core, main)
        except asyncio.CancelledError:  # the caller was cancelled: leave a resumable run
            core.stop = self._orders.given = RunPausedError("interrupted")
            ending = await stop(core, main, self._orders, 0.0)
            await asyncio.shield(self._finish(core, ending))
            raise
        finally:
            unsubscribe()
            core.clock.stop()
        return await self._finish(core, ending)

    def _main_ended(self, main: asyncio.Task[Any]) -> None:
        if not main.cancelled():
            main.exception()  # retrieved here, because a stopped run never looks at it
        self._orders.wake.set()

    async def _main(self, run: Run, core: Core) -> Any:
        task = asyncio.current_task()
        CURRENT.set(core.root_branch(task))
        try:
            if (turn := core.turns.take()) is not None:
                await turn
            options = self.workflow.typed(self._created.options)
            value = await self.workflow.fn(run, self._created.request, **options)
            run.returned()
            return value
        except SystemExit as error:
            raise ExitError(error.code) from error
        except (Exception, asyncio.CancelledError, KeyboardInterrupt):
            raise
        except BaseException as error:
            if is_close(error, task):
                raise
            raise PodiumError(f"The workflow raised {describe(error)}.") from error
        finally:
            await run.close_resources()

    async def _supervise(self, core: Core, main: asyncio.Task[Any]) -> Ending:
        """Wait until the stretch ends, and return how."""
        orders = self._orders
        while True:
            await orders.wake.wait()
            orders.wake.clear()
            if orders.given is not None:
                return await stop(core, main, orders, orders.grace_s)
            if core.broken is not None or main.done():
                await end_all(core, main)
                return ending_of_broken(core.broken) if core.broken else ending_of(main, core)
            if core.is_idle and not await self._answers_waiting(core):
                core.stop = RunPausedError("waiting")
                await end_all(core, main)
                return orders.cancelled or Ending("waiting")
            until = core.asleep_until
            if self.nap_s is not None and until is not None and until - time.time() > self.nap_s:
                core.stop = RunPausedError("asleep")
                await end_all(core, main)
                return orders.cancelled or ending_asleep(until)

    async def _answers_waiting(self, core: Core) -> bool:
        """Return whether the inbox holds messages whose callback has not run yet."""
        messages = await self._store.inbox(self.run_id)
        open_questions = set(core.questions)
        return not core.is_idle or any(
            message.kind != "answer" or message.data.get("question") in open_questions
            for message in messages
            if message.id not in core.handled
        )

    # ── the end ──

    async def _finish(self, core: Core, ending: Ending) -> RunResult:
        """Log the end of the stretch and return the result. If the store fails, the run counts as paused."""
        core.clock.stop()
        if core.broken is not None:
            ending = ending_of_broken(core.broken)
        for attempt in list(core.attempts):
            attempt.cut_off()
        for message in overrun_warnings(core):
            core.note(message)
        ending.reason = core.clean(ending.reason)
        result = RunResult(
            run_id=self.run_id,
            workflow=self.workflow.name,
            status=ending.status,
            stop_reason=ending.reason,
            warnings=[*core.warnings, *core.notes],
            usage=core.ledger.spent,
            saved=core.saved,
            duration_s=core.clock.now(),
            artifacts=list(core.artifacts.values()),
            model=shown_model(self._config),
            rehearsal=core.rehearsed or bool(self._config.get("rehearsal")),
        )
        ending.fill(result, core)
        try:
            if core.owner_budget is not None:
                await core.owner_budget.stop()
            ending.write(core, result)
            if core.owner_budget is not None:
                core.owner_budget.settle()
            await self._store.release(core.journal.lease)  # commits the end and the unlock together
        except StoreError as error:
            ending.not_written(result, error)
        with suppress(StoreError):  # a message that stays in the inbox is ignored the next time
            await self._store.discard([message for message in core.handled if message])
        return result


def too_many_recoveries() -> Ending:
    error = PodiumError(
        f"too many recoveries: the process died {MAX_RECOVERIES} times in a row before any step finished.",
        hint="Look at the step that was in flight; resume once its cause is removed.",
    )
    return Ending("failed", error=error)


class _NoLease:
    """A placeholder lease for reading a log."""

    epoch = 0
    last_seq = 0
    last_time_us = 0

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.on_lost: Callable[[StoreError], object] | None = None


class _ReadOnlyJournal(Journal):
    def append_raw(self, path: str, event_type: str, data: bytes) -> int:
        raise ReplayDivergedError(path, f"the log does not hold this {event_type}")

    def commit(
        self,
        waiter: asyncio.Future[Any] | None = None,
        outcome: Any = None,
        first: Callable[[], None] | None = None,
    ) -> asyncio.Future[Any] | None:
        return None


async def replay(
    store: Store, run_id: str, workflow: Workflow, *, make_run: MakeRun, redact: Redact
) -> RunResult:
    """Return the result of a finished run, computed from its log alone. Raises `ReplayDivergedError` where
    the workflow needs something that the log does not hold."""
    rows = await store.read(run_id)
    created, config, budget = history_of(rows)
    memo = Memo.of(rows)
    journal = _ReadOnlyJournal(store, _NoLease(run_id), redact)
    core = Core(journal, memo, budget, closing=workflow.closing, replaying=True)
    run = make_run(run_id, workflow.name, created.request, created.options, config, core)

    async def walk() -> Any:
        CURRENT.set(core.root_branch(asyncio.current_task()))
        value = await workflow.fn(run, created.request, **workflow.typed(created.options))
        run.returned()
        return value

    task = asyncio.get_running_loop().create_task(walk())
    await asyncio.gather(task, return_exceptions=True)  # exceptions are handled below
    if core.divergence is not None:
        raise core.divergence
    ending = ending_of(task, core)
    result = RunResult(
        run_id=run_id,
        workflow=workflow.name,
        status=ending.status,
        stop_reason=core.clean(ending.reason),
        warnings=[*core.warnings, *core.notes],
        usage=core.ledger.spent,
        saved=core.saved,
        duration_s=memo.driven_s,
        artifacts=list(core.artifacts.values()),
        model=shown_model(config),
        rehearsal=core.rehearsed or bool(config.get("rehearsal")),
    )
    ending.fill(result, core)
    return result
