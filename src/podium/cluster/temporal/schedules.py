"""Schedules on Temporal's own: it knows the moments, and starts a workflow for each."""

from __future__ import annotations

import asyncio
import time
from datetime import timedelta

import msgspec
from temporalio.client import (
    Client,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
)
from temporalio.client import Schedule as TemporalSchedule
from temporalio.service import RPCError, RPCStatusCode

from podium.cluster.port import Schedule
from podium.cluster.schedules import MAX_DELAY_S, no_moments
from podium.cluster.temporal.flows import FIRE, QUEUE, Fired
from podium.errors import UsageError

_PREFIX = "podium/"
_MEMO = "podium"
_LISTED_S = 5.0


def _expressions(cron: str) -> list[str]:
    """Where cron is given a day and a weekday it means either; Temporal would mean both."""
    fields = cron.split()
    if len(fields) != 5 or "*" in (fields[2], fields[4]):
        return [cron]
    minute, hour, day, month, weekday = fields
    return [f"{minute} {hour} {day} {month} *", f"{minute} {hour} * {month} {weekday}"]


class Schedules:
    """All schedules of a namespace that are ours."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def add(self, schedule: Schedule) -> None:
        told = msgspec.to_builtins(schedule)
        action = ScheduleActionStartWorkflow(
            FIRE, Fired(told), id=f"podium-schedule/{schedule.name}", task_queue=QUEUE
        )
        policy = SchedulePolicy(
            overlap=ScheduleOverlapPolicy.ALLOW_ALL, catchup_window=timedelta(seconds=MAX_DELAY_S)
        )
        made = TemporalSchedule(
            action=action, spec=ScheduleSpec(cron_expressions=_expressions(schedule.cron)), policy=policy
        )
        try:
            await self._client.create_schedule(_PREFIX + schedule.name, made, memo={_MEMO: told})
            await self._until_listed(schedule.name, there=True)
        except ScheduleAlreadyRunningError as error:
            raise UsageError(
                f"There is a schedule {schedule.name} already.",
                hint="Remove it first, or choose another name.",
            ) from error
        except RPCError as error:
            if error.status != RPCStatusCode.INVALID_ARGUMENT:
                raise
            raise no_moments(schedule.cron) from error

    async def all(self) -> list[Schedule]:
        found: list[Schedule] = []
        async for one in await self._client.list_schedules():
            if one.id.startswith(_PREFIX):
                memo = await one.memo()
                found.append(msgspec.convert(memo[_MEMO], Schedule))
        return sorted(found, key=lambda schedule: schedule.name)

    async def remove(self, name: str) -> bool:
        try:
            await self._client.get_schedule_handle(_PREFIX + name).delete()
            await self._until_listed(name, there=False)
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return False
            raise
        return True

    async def _until_listed(self, name: str, *, there: bool) -> None:
        """Temporal's list is told of a change a moment later; whoever made it should see it."""
        until = time.monotonic() + _LISTED_S
        while time.monotonic() < until and await self._lists(name) != there:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.05)

    async def _lists(self, name: str) -> bool:
        return any(one.name == name for one in await self.all())
