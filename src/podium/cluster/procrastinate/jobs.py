"""Jobs and schedules in Procrastinate's tables.

Procrastinate's own statements finish or retry a job by its id alone. So a worker that was considered dead and
returns would finish the job of the worker that has taken over, and a statement whose reply was lost with the
connection could not be repeated. Here only the worker that holds a job finishes it or gives it back, and
doing so twice changes nothing.

Procrastinate knows only periodic tasks that a program declares. Here they are declared from a table, once a
second, so that schedules can be added and removed while workers run.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection
from datetime import datetime
from hashlib import blake2b
from typing import Any

import msgspec
from procrastinate import App
from procrastinate.connector import BaseConnector
from procrastinate.exceptions import AlreadyEnqueued, UniqueViolation
from procrastinate.jobs import Job, Status
from procrastinate.manager import JobManager
from procrastinate.periodic import PeriodicDeferrer, PeriodicRegistry

from podium.cluster.fleet import MAX_DELAY_S, comes, no_moments
from podium.cluster.port import Schedule
from podium.errors import UsageError

DRIVE = "podium:drive"
FIRE = "podium:fire"
_QUEUE_LENGTH = 40
"""Maximum length of a queue name in bytes: with Procrastinate's prefix it is the name of a PostgreSQL
channel."""

_MINE = (
    "WITH mine AS (SELECT id, queue_name, lock FROM procrastinate_jobs WHERE id = %(job_id)s "
    "AND status = 'doing' AND worker_id IS NOT DISTINCT FROM %(worker_id)s::bigint FOR UPDATE) "
)
_FINISH = _MINE + (
    "SELECT procrastinate_finish_job_v1(id, %(status)s::procrastinate_job_status, %(delete_job)s), "
    "(SELECT count(pg_notify('procrastinate_any_queue_v1', notice)) + "
    "count(pg_notify('procrastinate_queue_v1#' || queue_name, notice)) FROM (SELECT queue_name, "
    "json_build_object('type', 'job_inserted', 'job_id', id)::text AS notice FROM procrastinate_jobs AS next "
    "WHERE next.lock = mine.lock AND next.status = 'todo' LIMIT 1) AS t) FROM mine"
)
_RETRY = _MINE + (
    "SELECT procrastinate_retry_job_v2(id, %(retry_at)s::timestamptz, %(priority)s::integer, "
    "%(queue)s::varchar, %(lock)s::varchar), "
    "pg_notify('procrastinate_any_queue_v1', notice), "
    "pg_notify('procrastinate_queue_v1#' || queue_name, notice) "
    "FROM mine, LATERAL (SELECT json_build_object('type', 'job_inserted', 'job_id', id)::text AS notice) AS t"
)
"""`_RETRY` notifies idle workers, because a job that is given back is like a new one. `_FINISH` notifies them
of a job of the same run that had to wait for this one."""
_HASTEN = (
    "UPDATE procrastinate_jobs SET scheduled_at = %(at)s::timestamptz WHERE queueing_lock = %(run_id)s "
    "AND status = 'todo' AND scheduled_at > coalesce(%(at)s::timestamptz, now()) RETURNING queue_name, "
    "pg_notify('procrastinate_any_queue_v1', json_build_object('type', 'job_inserted', 'job_id', id)::text)"
)
_CARRIED = (
    "SELECT lock FROM procrastinate_jobs "
    "WHERE lock = ANY(%(run_ids)s::text[]) AND status IN ('todo', 'doing') GROUP BY lock"
)
_FORGET = "DELETE FROM procrastinate_jobs WHERE queueing_lock = %(run_id)s AND status = 'todo'"
_HELD = "SELECT id FROM procrastinate_jobs WHERE worker_id = %(worker_id)s AND status = 'doing'"
_LOAD = (
    "SELECT count(*) FILTER (WHERE status = 'todo' AND (scheduled_at IS NULL OR scheduled_at <= now())) "
    "AS waiting, count(*) FILTER (WHERE status = 'doing') AS driven FROM procrastinate_jobs "
    "WHERE task_name = %(task)s AND status IN ('todo', 'doing') "
    "AND (%(queues)s::varchar[] IS NULL OR queue_name = ANY(%(queues)s::varchar[]))"
)
_DEFER_PERIODIC = (
    "SELECT set_config('synchronous_commit', 'on', true), procrastinate_defer_periodic_job_v2(%(queue)s, "
    "%(lock)s, %(queueing_lock)s, %(task_name)s, %(priority)s, %(periodic_id)s, %(defer_timestamp)s, "
    "%(args)s) AS id"
)
"""Commits synchronously: a lost periodic job could not be restored from the log."""
_YOUNG = "SELECT pg_postmaster_start_time() > now() - make_interval(secs => %(seconds)s) AS young"


def queue_of(workflow: str) -> str:
    """Return the queue of a workflow. Each workflow has its own, so that workers can be
    restricted to some."""
    name = workflow.encode()
    if len(name) <= _QUEUE_LENGTH:
        return workflow
    mark = blake2b(name, digest_size=6).hexdigest()
    return f"{name[: _QUEUE_LENGTH - len(mark) - 1].decode(errors='ignore')}~{mark}"


class Jobs(JobManager):
    """Job manager for all jobs of the database."""

    def __init__(self, connector: BaseConnector) -> None:
        super().__init__(connector)
        self.registered: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        """The id of this process as a worker, once it is registered."""

    async def register_worker(self) -> int:
        worker_id = await super().register_worker()
        self.registered.set_result(worker_id)
        return worker_id

    async def finish_job(self, job: Job, status: Status, delete_job: bool) -> None:
        await self.connector.execute_query_async(
            query=_FINISH, job_id=job.id, worker_id=job.worker_id, status=status.value, delete_job=delete_job
        )

    async def retry_job(
        self,
        job: Job,
        retry_at: datetime | None = None,
        priority: int | None = None,
        queue: str | None = None,
        lock: str | None = None,
    ) -> None:
        try:
            await self.connector.execute_query_async(
                query=_RETRY,
                job_id=job.id,
                worker_id=job.worker_id,
                retry_at=retry_at,
                priority=priority,
                queue=queue,
                lock=lock,
            )
        except UniqueViolation:  # the run has been submitted meanwhile: that job replaces this one
            await self.finish_job(job, Status.ABORTED, delete_job=True)
            if job.queueing_lock:
                await self.hasten(job.queueing_lock, retry_at)

    async def defer_periodic_job(self, job: Job, periodic_id: str, defer_timestamp: int) -> int | None:
        row = await self.connector.execute_query_one_async(
            query=_DEFER_PERIODIC,
            task_name=job.task_name,
            defer_timestamp=defer_timestamp,
            periodic_id=periodic_id,
            queue=job.queue,
            priority=job.priority,
            lock=job.lock,
            queueing_lock=job.queueing_lock,
            args=job.task_kwargs,
        )
        return row["id"]

    async def submit(self, jobs: list[Job]) -> None:
        """Queue jobs in one transaction. If a job for the same run is queued already, that one is kept, and
        is due no later than the new one would be."""
        try:
            await self.batch_defer_jobs_async(jobs)
        except AlreadyEnqueued:
            if len(jobs) == 1:
                await self.hasten(str(jobs[0].queueing_lock), jobs[0].scheduled_at)
            else:
                for job in jobs:
                    await self.submit([job])

    async def hasten(self, run_id: str, at: datetime | None) -> None:
        """Make a postponed job due at `at` at the latest. None: now."""
        await self.connector.execute_query_all_async(query=_HASTEN, run_id=run_id, at=at)

    async def forget(self, run_id: str) -> None:
        await self.connector.execute_query_async(query=_FORGET, run_id=run_id)

    async def carried(self, run_ids: Collection[str]) -> set[str]:
        rows = await self.connector.execute_query_all_async(query=_CARRIED, run_ids=list(run_ids))
        return {row["lock"] for row in rows}

    async def held_by(self, worker_id: int) -> set[int]:
        """Return the jobs that a worker holds, according to the database."""
        rows = await self.connector.execute_query_all_async(query=_HELD, worker_id=worker_id)
        return {row["id"] for row in rows}

    async def counts(self, task: str, queues: list[str] | None) -> dict[str, Any]:
        return await self.connector.execute_query_one_async(query=_LOAD, task=task, queues=queues)

    async def is_young(self, seconds: float) -> bool:
        """Return whether the database started within the last `seconds`, so that heartbeats
        may be missing."""
        row = await self.connector.execute_query_one_async(query=_YOUNG, seconds=seconds)
        return bool(row["young"])


LOG = logging.getLogger("podium.cluster")

_ADD = (
    "WITH durable AS MATERIALIZED (SELECT set_config('synchronous_commit', 'on', true) AS it) "
    "INSERT INTO podium_schedule (name, cron, workflow, start, created_at) "
    "SELECT %(name)s, %(cron)s, %(workflow)s, %(start)s, %(created_at)s FROM durable "
    "ON CONFLICT DO NOTHING RETURNING name"
)
_LIST = "SELECT name, cron, workflow, start, created_at FROM podium_schedule ORDER BY name"
_REMOVE = "DELETE FROM podium_schedule WHERE name = %(name)s RETURNING name"


class Schedules:
    """The table of schedules, and the deferral of their due jobs."""

    def __init__(self, app: App) -> None:
        self._app: Any = app
        self._db = app.connector
        self._known: dict[str, bool] = {}
        """Cached results of `comes` by cron expression."""
        self._registry: Any = PeriodicRegistry()
        self._deferrer: Any = PeriodicDeferrer(self._registry, MAX_DELAY_S)

    async def add(self, schedule: Schedule) -> None:
        if not comes(schedule.cron):
            raise no_moments(schedule.cron)
        start = msgspec.json.encode(schedule.start).decode()
        added = await self._db.execute_query_all_async(
            query=_ADD,
            name=schedule.name,
            cron=schedule.cron,
            workflow=schedule.workflow,
            start=start,
            created_at=schedule.created_at,
        )
        if not added:
            raise UsageError(
                f"There is a schedule {schedule.name} already.",
                hint="Remove it first, or choose another name.",
            )

    async def all(self) -> list[Schedule]:
        rows = await self._db.execute_query_all_async(query=_LIST)
        return [Schedule(**{**row, "start": msgspec.json.decode(row["start"])}) for row in rows]

    async def remove(self, name: str) -> bool:
        return bool(await self._db.execute_query_all_async(query=_REMOVE, name=name))

    async def find(self, name: str) -> Schedule | None:
        return next((schedule for schedule in await self.all() if schedule.name == name), None)

    async def defer_due(self) -> None:
        """Defer a job for each moment that has come."""
        self._declare(await self.all())
        await self._deferrer.defer_jobs(self._deferrer.get_previous_tasks(at=time.time()))

    def _comes(self, schedule: Schedule) -> bool:
        """Return whether a schedule ever fires. One that never does (older versions accepted such) must not
        block the others."""
        if schedule.cron not in self._known:
            self._known[schedule.cron] = comes(schedule.cron)
            if not self._known[schedule.cron]:
                LOG.warning("The schedule %s starts nothing: %s never fires.", schedule.name, schedule.cron)
        return self._known[schedule.cron]

    def _declare(self, schedules: list[Schedule]) -> None:
        registry = self._registry
        wanted = {
            (FIRE, f"{schedule.name}@{schedule.created_at}"): schedule
            for schedule in schedules
            if self._comes(schedule)
        }
        for gone in set(registry.periodic_tasks) - set(wanted):
            del registry.periodic_tasks[gone]
        for key, schedule in wanted.items():
            if key not in registry.periodic_tasks:
                options: Any = {
                    "task_kwargs": {"schedule": schedule.name},
                    "queue": queue_of(schedule.workflow),
                }
                registry.register_task(
                    task=self._app.tasks[FIRE],
                    cron=schedule.cron,
                    periodic_id=key[1],
                    configure_kwargs=options,
                )
