"""Temporal worker whose activities drive runs."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import timedelta

import msgspec
from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from podium.cluster.port import LOST, Schedule, WorkerConfig
from podium.cluster.temporal.flows import DRIVE, FIRE, FIRST, QUEUE, Carried, DriveRun, Fired, FireSchedule

LOG = logging.getLogger("podium.cluster")

BEATS = 5
"""Heartbeats per lease."""
_DRAINED = timedelta(days=365)
"""Shutdown timeout beyond any real one: the worker's own drain time applies, not Temporal's."""
_ELSEWHERE_S = timedelta(seconds=1)


class WorkerSession:
    """One worker, from its first run to its last."""

    def __init__(self, client: Client, crew: WorkerConfig, lease_s: float) -> None:
        self._client = client
        self._crew = crew
        self._beat_s = lease_s / BEATS

    async def work(self) -> None:
        beat = timedelta(seconds=self._beat_s)
        worker = Worker(
            self._client,
            task_queue=QUEUE,
            workflows=[DriveRun, FireSchedule],
            activities=[self._drive, self._fire],
            workflow_runner=UnsandboxedWorkflowRunner(),  # they use nothing that a sandbox would have to hide
            max_concurrent_activities=self._crew.concurrency,
            max_cached_workflows=0,  # no workflow task waits for a worker that is gone
            max_heartbeat_throttle_interval=beat,
            default_heartbeat_throttle_interval=beat,
            graceful_shutdown_timeout=_DRAINED,
        )
        async with worker:
            self._crew.ready()
            await self._crew.stop.wait()

    @activity.defn(name=DRIVE)
    async def _drive(self, run: Carried) -> float | None:
        if self._crew.workflows and run.workflow not in self._crew.workflows:
            raise ApplicationError("It is for other workers.", next_retry_delay=_ELSEWHERE_S)
        if activity.info().priority == FIRST:
            LOG.info("Taking %s from a worker that is gone.", run.run_id)
        beating = asyncio.create_task(self._keep_beating(), name="podium-beat")
        try:
            if not await self._tell_it_began():
                return None
            return await self._stretch(run.run_id)
        finally:
            beating.cancel()

    async def _stretch(self, run_id: str) -> float | None:
        """Drive until Temporal cancels it. If Temporal was only unreachable, the run is handed back."""
        driving = asyncio.ensure_future(self._crew.drive(run_id))
        try:
            return await asyncio.shield(driving)
        except asyncio.CancelledError:
            told = activity.cancellation_details()
            lost = told is not None and told.timed_out
            driving.cancel(LOST if lost else None)
            await asyncio.wait([driving])
            if told is None or not (lost or told.not_found):
                raise
            why = "Temporal was not heard of" if lost else "it was taken over by another worker"
            LOG.warning("Run %s is not driven here any more: %s.", run_id, why)
            return time.time()

    async def _tell_it_began(self) -> bool:
        """Signal the start before the log is read, so that later submissions are not lost. Returns False if
        the run was withdrawn meanwhile."""
        info = activity.info()
        handle = self._client.get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
        try:
            await handle.signal("began")
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True

    async def _keep_beating(self) -> None:
        while True:
            activity.heartbeat()
            await asyncio.sleep(self._beat_s)

    @activity.defn(name=FIRE)
    async def _fire(self, fired: Fired) -> None:
        await self._crew.fire(msgspec.convert(fired.schedule, Schedule), fired.moment)
