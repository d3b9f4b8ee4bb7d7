"""Temporal workflows: they keep whether a run has to be driven, from when on, and whether a worker drives it.

These workflows know nothing of models or logs. Temporal replays them from its own history, so they must stay
as they are: make a change here with Temporal's `workflow.patched`.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from temporalio import workflow
from temporalio.common import Priority, RetryPolicy, SearchAttributeKey
from temporalio.exceptions import ActivityError, TimeoutType
from temporalio.exceptions import TimeoutError as TimedOut

DRIVE = "podium-drive"
FIRE = "podium-fire"
QUEUE = "podium"
"""The only task queue, so that a worker's slots are counted in one place."""
_FOREVER = timedelta(days=3650)
"""Maximum duration of one drive. Heartbeats show whether it is alive."""
_FIRE_S = timedelta(seconds=60)
_AGAIN = RetryPolicy(
    initial_interval=timedelta(seconds=0.2),
    backoff_coefficient=2.0,
    maximum_interval=timedelta(seconds=5),
    non_retryable_error_types=["TemporalTimeout:Heartbeat"],
)
"""Retry delays of a run that a worker could not take and another gets. A heartbeat timeout is not retried
here, because the activity would go to the end of the queue: the workflow handles it."""
FIRST = Priority(priority_key=1)
"""Priority of a run that lost its worker: before all runs that have not begun."""
HEED = "heed a cancel that was lost with a worker"
"""Patch id. Workflows that began before this change continue as they began."""
_MOMENT = SearchAttributeKey.for_datetime("TemporalScheduledStartTime")


@dataclass
class Carried:
    """A run to be driven."""

    run_id: str
    workflow: str
    lease_s: float
    """Seconds without a heartbeat after which a worker is considered dead."""
    at: float = 0.0
    """Earliest start, in seconds since 1970. 0: immediately."""


@dataclass
class Fired:
    """A schedule and the moment for which it fires."""

    schedule: dict[str, Any]
    moment: int = 0


@workflow.defn(name=DRIVE)
class DriveRun:
    """Drives one run until it does not have to be driven any more."""

    @workflow.init
    def __init__(self, run: Carried) -> None:
        self._run = run
        self._due = run.at
        self._driven = False
        self._again: float | None = None
        """Earliest start requested by a submission while the run was driven; None: none."""

    @workflow.signal
    def submit(self, at: float) -> None:
        """Handle a submission: a queued run keeps its place or is due earlier; a driven one
        is driven again."""
        if self._driven:
            self._again = at if self._again is None else min(self._again, at)
        else:
            self._due = min(self._due, at)

    @workflow.signal
    def began(self) -> None:
        """Record that a worker is about to read the log, which covers all earlier submissions."""
        self._driven = True
        self._again = None

    @workflow.run
    async def run(self, run: Carried) -> None:
        while True:
            await self._wait_until_due()
            again = await self._stretch(run)
            wanted = [at for at in (again, self._again) if at is not None]
            if not wanted:
                return
            self._due, self._driven, self._again = min(wanted), False, None
            if workflow.info().is_continue_as_new_suggested():
                workflow.continue_as_new(Carried(run.run_id, run.workflow, run.lease_s, self._due))

    async def _stretch(self, run: Carried) -> float | None:
        """Have the run driven, by as many workers as it takes. Returns when it has to be driven again, or
        None."""
        priority = Priority.default
        while True:
            try:
                return await workflow.execute_activity(
                    DRIVE,
                    run,
                    start_to_close_timeout=_FOREVER,
                    retry_policy=_AGAIN,
                    priority=priority,
                    heartbeat_timeout=timedelta(seconds=run.lease_s),
                    cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
                )
            except ActivityError as error:
                if not _worker_was_lost(error):
                    raise
                if workflow.cancellation_reason() is not None and workflow.patched(HEED):
                    raise asyncio.CancelledError from error  # the cancel request was lost with the worker
                priority = FIRST

    async def _wait_until_due(self) -> None:
        while (wait := self._due - workflow.time()) > 0:
            due = self._due
            try:
                await workflow.wait_condition(lambda: self._due < due, timeout=wait)  # noqa: B023 - at once
            except TimeoutError:
                return


def _worker_was_lost(error: ActivityError) -> bool:
    return isinstance(error.cause, TimedOut) and error.cause.type == TimeoutType.HEARTBEAT


@workflow.defn(name=FIRE)
class FireSchedule:
    """Fires one moment of a schedule."""

    @workflow.run
    async def run(self, fired: Fired) -> None:
        moment = workflow.info().typed_search_attributes.get(_MOMENT) or workflow.now()
        await workflow.execute_activity(
            FIRE,
            Fired(fired.schedule, int(moment.timestamp())),
            start_to_close_timeout=_FIRE_S,
            retry_policy=_AGAIN,
        )
