"""Procrastinate worker whose jobs drive runs, and its periodic maintenance.

Procrastinate dispatches jobs, sends heartbeats and knows which workers are gone. Once a second this module
also gives back to the queue the jobs of workers that are gone, and the jobs that the database has assigned to
this worker without its knowledge, because the connection was lost with the reply. It also fires schedules.
"""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from typing import Any

from procrastinate import App, BaseRetryStrategy, JobContext, RetryDecision
from procrastinate.jobs import Job
from procrastinate.worker import Worker

from podium.cluster.port import WorkerConfig
from podium.cluster.procrastinate.jobs import DRIVE, FIRE, Jobs, Schedules
from podium.errors import StoreError

LOG = logging.getLogger("podium.cluster")

POLL_S = 0.5
"""Seconds between polls of an idle worker for a job that it was not notified of."""
ROUND_S = 1.0
_STORE_S = 5.0
BEATS = 5
"""Heartbeats per lease."""


class _AgainError(Exception):
    """Raised by a job whose run has to be driven again."""

    def __init__(self, at: float) -> None:
        self.at = datetime.fromtimestamp(at, UTC)


class _GiveBack(BaseRetryStrategy):
    """Retries the job of a run that has to be driven again, instead of marking it as failed."""

    def get_retry_decision(self, *, exception: BaseException, job: Job) -> RetryDecision | None:
        return RetryDecision(retry_at=exception.at) if isinstance(exception, _AgainError) else None


class WorkerSession:
    """One worker, from its first job to its last."""

    def __init__(
        self,
        app: App,
        jobs: Jobs,
        schedules: Schedules,
        config: WorkerConfig,
        lease_s: float,
        queues: list[str] | None,
    ) -> None:
        self._jobs = jobs
        self._schedules = schedules
        self._config = config
        self._lease_s = lease_s
        self._doing: set[int] = set()
        self._unknown: set[int] = set()
        """Jobs that the database assigned to this worker, but that it did not know of in
        the previous round."""
        self._worker = Worker(
            app,
            queues=queues,
            name="podium",
            concurrency=config.concurrency,
            fetch_job_polling_interval=POLL_S,
            abort_job_polling_interval=3600.0,  # a run is stopped through its inbox
            delete_jobs="always",
            install_signal_handlers=False,
            update_heartbeat_interval=lease_s / BEATS,
            stalled_worker_timeout=10 * lease_s + 60,
        )
        app.task(name=DRIVE, retry=_GiveBack(), pass_context=True)(self._drive)
        app.task(name=FIRE, retry=_GiveBack(), pass_context=True)(self._fire)

    async def work(self) -> None:
        rounds = asyncio.create_task(self._make_rounds(), name="podium-rounds")
        stopping = asyncio.create_task(self._stop_in_time(), name="podium-stop")
        try:
            await self._worker.run()
        finally:
            for task in (rounds, stopping):
                task.cancel()
            await asyncio.gather(rounds, stopping, return_exceptions=True)

    async def _stop_in_time(self) -> None:
        await self._config.stop.wait()
        self._worker.stop()

    async def _drive(self, context: JobContext, run_id: str) -> None:
        job_id = context.job.id or 0
        self._doing.add(job_id)
        try:
            again = await self._config.drive(run_id)
        finally:
            self._doing.discard(job_id)
        if again is not None:
            raise _AgainError(again)

    async def _fire(self, context: JobContext, schedule: str, timestamp: int) -> None:
        job_id = context.job.id or 0
        self._doing.add(job_id)
        try:
            current = await self._schedules.find(schedule)
            if current is not None:
                await self._config.fire(current, timestamp)
        except StoreError as error:
            LOG.warning("The schedule %s has to wait: %s", schedule, error)
            raise _AgainError(time.time() + _STORE_S) from error
        finally:
            self._doing.discard(job_id)

    # ── once a second ──

    async def _make_rounds(self) -> None:
        worker_id = await self._jobs.registered
        self._config.ready()
        while True:
            await asyncio.sleep(ROUND_S)
            try:
                await self._jobs.update_heartbeat(worker_id)  # Procrastinate sends none while it drains
                await self._requeue_unknown(worker_id)
                await self._requeue_stalled()
                if not self._config.stop.is_set():
                    await self._schedules.defer_due()
            except Exception:
                LOG.exception("A round of this worker failed; the next one follows.")

    async def _requeue_stalled(self) -> None:
        """Give back jobs of workers without a heartbeat for a lease. Skipped when the database has just
        started, so that all workers get time to send one."""
        stalled = list(await self._jobs.get_stalled_jobs(seconds_since_heartbeat=self._lease_s))
        if stalled and not await self._jobs.is_young(self._lease_s):
            for job in stalled:
                LOG.info("Taking %s from a worker that is gone.", _name_of(job))
                await self._jobs.retry_job(job)

    async def _requeue_unknown(self, worker_id: int) -> None:
        orphans = await self._jobs.held_by(worker_id) - self._doing
        for job_id in orphans & self._unknown:
            await self._jobs.retry_job(
                Job(id=job_id, queue="", lock=None, queueing_lock=None, task_name=DRIVE, worker_id=worker_id)
            )
        self._unknown = orphans


def _name_of(job: Job) -> Any:
    return job.task_kwargs.get("run_id") or job.call_string
