"""Schedules on Procrastinate's own periodic jobs: each moment of each is deferred once, whoever is first.

Procrastinate knows the periodic tasks that a program declares. Here they are declared anew from a table,
once a second, so that schedules come and go while workers run.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import msgspec
from procrastinate import App
from procrastinate.periodic import PeriodicDeferrer, PeriodicRegistry

from podium.cluster.port import Schedule
from podium.cluster.procrastinate.jobs import FIRE, queue_of
from podium.cluster.schedules import MAX_DELAY_S, comes, no_moments
from podium.errors import UsageError

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
    """The table, and what a worker makes of it."""

    def __init__(self, app: App) -> None:
        self._app: Any = app
        self._db = app.connector
        self._known: dict[str, bool] = {}
        """Whether there is a moment of such a kind."""
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
        """One that never comes must not keep the others from theirs; older versions let such in."""
        if schedule.cron not in self._known:
            self._known[schedule.cron] = comes(schedule.cron)
            if not self._known[schedule.cron]:
                LOG.warning("The schedule %s starts nothing: %s never comes.", schedule.name, schedule.cron)
        return self._known[schedule.cron]

    def _declare(self, schedules: list[Schedule]) -> None:
        registry = self._registry
        wanted = {(FIRE, f"{one.name}@{one.created_at}"): one for one in schedules if self._comes(one)}
        for gone in set(registry.periodic_tasks) - set(wanted):
            del registry.periodic_tasks[gone]
        for key, schedule in wanted.items():
            if key not in registry.periodic_tasks:
                options: Any = {
                    "task_kwargs": {"schedule": schedule.name},
                    "queue": queue_of(schedule.workflow),
                }
                registry.register_task(
                    task=self._app.tasks[FIRE], cron=schedule.cron, periodic_id=key[1],
                    configure_kwargs=options,
                )  # fmt: skip
