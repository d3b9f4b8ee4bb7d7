"""Replaying: walk the workflow again over a finished log, without doing anything."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from podium.engine.branch import CURRENT
from podium.engine.core import Core
from podium.engine.ending import ending_of
from podium.engine.history import history_of, shown_model
from podium.engine.journal import Journal, Redact
from podium.engine.log import Store
from podium.engine.memo import Memo
from podium.engine.result import RunResult
from podium.engine.runner import MakeRun
from podium.engine.workflow import Workflow
from podium.errors import ReplayDivergedError, StoreError


class _NoLease:
    """Nobody holds a log that is only read."""

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
    """The result of a finished run, from its log alone. Raises `ReplayDivergedError` where the
    workflow asks for something that the log does not hold."""
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
    await asyncio.gather(task, return_exceptions=True)  # whatever it raises is looked at below
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
