"""Temporal engine and schedules, and the worker whose activities drive runs."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Collection, Coroutine, Generator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import msgspec
from temporalio import activity
from temporalio.api.enums.v1 import PendingActivityState, TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest, DescribeTaskQueueRequest
from temporalio.client import (
    Client,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleSpec,
    WorkflowExecutionStatus,
)
from temporalio.client import Schedule as TemporalSchedule
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import UnsandboxedWorkflowRunner, Worker

from podium.cluster.fleet import MAX_DELAY_S, no_moments
from podium.cluster.port import LOST, Load, Schedule, Ticket, WorkerConfig
from podium.cluster.temporal.flows import DRIVE, FIRE, FIRST, QUEUE, Carried, DriveRun, Fired, FireSchedule
from podium.errors import StoreAwayError, StoreError, UsageError
from podium.stores import shown, take_lease

LOG = logging.getLogger("podium.cluster")

BEATS = 5
"""Heartbeats per lease."""
_DRAINED = timedelta(days=365)
"""Shutdown timeout beyond any real one: the worker's own drain time applies, not Temporal's."""
_ELSEWHERE_S = timedelta(seconds=1)


class WorkerSession:
    """One worker, from its first run to its last."""

    def __init__(self, client: Client, config: WorkerConfig, lease_s: float) -> None:
        self._client = client
        self._config = config
        self._beat_s = lease_s / BEATS

    async def work(self) -> None:
        beat = timedelta(seconds=self._beat_s)
        worker = Worker(
            self._client,
            task_queue=QUEUE,
            workflows=[DriveRun, FireSchedule],
            activities=[self._drive, self._fire],
            workflow_runner=UnsandboxedWorkflowRunner(),  # they use nothing that a sandbox would have to hide
            max_concurrent_activities=self._config.concurrency,
            max_cached_workflows=0,  # no workflow task waits for a worker that is gone
            max_heartbeat_throttle_interval=beat,
            default_heartbeat_throttle_interval=beat,
            graceful_shutdown_timeout=_DRAINED,
        )
        async with worker:
            self._config.ready()
            await self._config.stop.wait()

    @activity.defn(name=DRIVE)
    async def _drive(self, run: Carried) -> float | None:
        if self._config.workflows and run.workflow not in self._config.workflows:
            raise ApplicationError("This worker does not accept the workflow.", next_retry_delay=_ELSEWHERE_S)
        if activity.info().priority == FIRST:
            LOG.info("Taking %s from a worker that is gone.", run.run_id)
        beating = asyncio.create_task(self._keep_beating(), name="podium-beat")
        try:
            if not await self._signal_start():
                return None
            return await self._stretch(run.run_id)
        finally:
            beating.cancel()

    async def _stretch(self, run_id: str) -> float | None:
        """Drive until Temporal cancels it. If Temporal was only unreachable, the run is handed back."""
        driving = asyncio.ensure_future(self._config.drive(run_id))
        try:
            return await asyncio.shield(driving)
        except asyncio.CancelledError:
            details = activity.cancellation_details()
            lost = details is not None and details.timed_out
            driving.cancel(LOST if lost else None)
            await asyncio.wait([driving])
            if details is None or not (lost or details.not_found):
                raise
            why = "the connection to Temporal was lost" if lost else "it was taken over by another worker"
            LOG.warning("Run %s is not driven here any more: %s.", run_id, why)
            return time.time()

    async def _signal_start(self) -> bool:
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
        await self._config.fire(msgspec.convert(fired.schedule, Schedule), fired.moment)


@contextmanager
def explained() -> Generator[None]:
    """Translate errors of the Temporal server into `StoreError`, or `StoreAwayError` if it
    cannot be reached."""
    try:
        yield
    except RPCError as error:
        reason = (error.message.splitlines() or [error.status.name])[0].rstrip(".")
        away = error.status in (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED)
        raise (StoreAwayError if away else StoreError)(
            f"The Temporal server refused the request: {reason}.",
            hint="Check its address, and that it is running.",
        ) from error


_PREFIX = "podium/"
_MEMO = "podium"
_LISTED_S = 5.0


def _expressions(cron: str) -> list[str]:
    """Return the cron expressions for Temporal. In cron, a day and a weekday together mean either; Temporal
    requires both, so there are two expressions."""
    fields = cron.split()
    if len(fields) != 5 or "*" in (fields[2], fields[4]):
        return [cron]
    minute, hour, day, month, weekday = fields
    return [f"{minute} {hour} {day} {month} *", f"{minute} {hour} * {month} {weekday}"]


class Schedules:
    """All Podium schedules of a namespace."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def add(self, schedule: Schedule) -> None:
        data = msgspec.to_builtins(schedule)
        action = ScheduleActionStartWorkflow(
            FIRE, Fired(data), id=f"podium-schedule/{schedule.name}", task_queue=QUEUE
        )
        policy = SchedulePolicy(
            overlap=ScheduleOverlapPolicy.ALLOW_ALL, catchup_window=timedelta(seconds=MAX_DELAY_S)
        )
        made = TemporalSchedule(
            action=action, spec=ScheduleSpec(cron_expressions=_expressions(schedule.cron)), policy=policy
        )
        try:
            await self._client.create_schedule(_PREFIX + schedule.name, made, memo={_MEMO: data})
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
        schedules: list[Schedule] = []
        async for entry in await self._client.list_schedules():
            if entry.id.startswith(_PREFIX):
                memo = await entry.memo()
                schedules.append(msgspec.convert(memo[_MEMO], Schedule))
        return sorted(schedules, key=lambda schedule: schedule.name)

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
        """Wait until Temporal's list of schedules reflects a change, which it does with a delay, so that the
        caller sees it."""
        until = time.monotonic() + _LISTED_S
        while time.monotonic() < until and await self._lists(name) != there:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.05)

    async def _lists(self, name: str) -> bool:
        return any(schedule.name == name for schedule in await self.all())


T = TypeVar("T")

TASK_S = timedelta(seconds=3)
"""Timeout after which another worker gets a workflow task. It normally takes milliseconds."""
AT_ONCE = 32
"""Maximum number of concurrent requests to the server."""


class TemporalEngine:
    """An engine with one workflow per run to be driven, named after the run, so that there is
    never a second."""

    def __init__(self, client: Client, lease_s: float) -> None:
        self._client = client
        self._lease_s = lease_s
        self._schedules = Schedules(client)

    @classmethod
    async def open(cls, name: str, store: str) -> TemporalEngine:
        """Open the engine at `temporal://HOST:PORT/NAMESPACE`; `?tls=true` connects over TLS."""
        host, namespace, tls = _address(name)
        _, lease_s = take_lease(store)
        try:
            client = await Client.connect(host, namespace=namespace, tls=tls)
        except (RuntimeError, RPCError) as error:
            raise StoreAwayError(
                f"The Temporal server at {host} cannot be reached: {_reason(error)}.",
                hint="Check its address, and that it is running.",
            ) from error
        with explained():
            await _check_namespace(client, host)
        return cls(client, lease_s)

    async def close(self) -> None:
        """Do nothing: the client closes its connection itself."""

    # ── runs ──

    async def submit(self, tickets: Sequence[Ticket], *, at: float | None = None) -> None:
        await self._each([self._submit(ticket, at or 0.0) for ticket in tickets])

    async def _submit(self, ticket: Ticket, at: float) -> None:
        """Start the run's workflow, or signal the existing one, in one atomic request."""
        carried = Carried(ticket.run_id, ticket.workflow, self._lease_s, at)
        await self._client.start_workflow(
            DRIVE,
            carried,
            id=_id(ticket.run_id),
            task_queue=QUEUE,
            start_signal="submit",
            start_signal_args=[at],
            task_timeout=TASK_S,
        )

    async def forget(self, run_id: str) -> None:
        """Terminate the run's workflow unless a worker drives it. A worker that is just receiving the run
        finds its workflow gone, and leaves it alone."""
        handle = self._client.get_workflow_handle(_id(run_id))
        with explained():
            try:
                description = (await handle.describe()).raw_description
                started = PendingActivityState.PENDING_ACTIVITY_STATE_STARTED
                if not any(activity.state == started for activity in description.pending_activities):
                    await handle.terminate(reason="forgotten")
            except RPCError as error:
                if error.status != RPCStatusCode.NOT_FOUND:
                    raise

    async def carried(self, run_ids: Collection[str]) -> set[str]:
        is_carried = await self._each([self._is_carried(run_id) for run_id in run_ids])
        return {run_id for run_id, carried in zip(run_ids, is_carried, strict=True) if carried}

    async def _is_carried(self, run_id: str) -> bool:
        try:
            description = await self._client.get_workflow_handle(_id(run_id)).describe()
        except RPCError as error:
            if error.status == RPCStatusCode.NOT_FOUND:
                return False
            raise
        return description.status == WorkflowExecutionStatus.RUNNING

    async def load(self, workflows: Sequence[str] = ()) -> Load:
        """Return the load of all workflows: Temporal counts per queue, so `workflows` is ignored. The numbers
        lag slightly behind."""
        query = f"WorkflowType = '{DRIVE}' AND ExecutionStatus = 'Running'"
        with explained():
            there = (await self._client.count_workflows(query)).count
            kinds = (TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW, TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY)
            waiting = min(there, sum([await self._backlog(kind) for kind in kinds]))
        return Load(waiting, there - waiting)

    async def _backlog(self, kind: TaskQueueType.ValueType) -> int:
        request = DescribeTaskQueueRequest(
            namespace=self._client.namespace,
            task_queue=TaskQueue(name=QUEUE),
            report_stats=True,
            task_queue_type=kind,
        )
        response = await self._client.workflow_service.describe_task_queue(request)
        return response.stats.approximate_backlog_count

    async def work(self, config: WorkerConfig) -> None:
        await WorkerSession(self._client, config, self._lease_s).work()

    # ── schedules ──

    async def add_schedule(self, schedule: Schedule) -> None:
        with explained():
            await self._schedules.add(schedule)

    async def schedules(self) -> list[Schedule]:
        with explained():
            return await self._schedules.all()

    async def remove_schedule(self, name: str) -> bool:
        with explained():
            return await self._schedules.remove(name)

    async def _each(self, questions: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
        turn = asyncio.Semaphore(AT_ONCE)

        async def limited(question: Coroutine[Any, Any, T]) -> T:
            async with turn:
                return await question

        with explained():
            return await asyncio.gather(*map(limited, questions))


async def _check_namespace(client: Client, host: str) -> None:
    """Raise `UsageError` if the namespace does not exist. A worker would notice only later, with Temporal's
    message."""
    try:
        await client.workflow_service.describe_namespace(DescribeNamespaceRequest(namespace=client.namespace))
    except RPCError as error:
        if error.status != RPCStatusCode.NOT_FOUND:
            raise
        raise UsageError(
            f"The Temporal server at {host} has no namespace {client.namespace}.",
            hint=f"Make it with: temporal operator namespace create --namespace {client.namespace}.",
        ) from error


def _reason(error: Exception) -> str:
    """Return the innermost message of an error of Temporal's Rust core."""
    messages = re.findall(r'(?:message|error): "([^"]+)"', str(error))
    return messages[-1] if messages else str(error).splitlines()[0]


def _id(run_id: str) -> str:
    return f"podium/{run_id}"


def _address(name: str) -> tuple[str, str, bool]:
    try:
        parts = urlsplit(name)
        host, port = parts.hostname, parts.port or 7233
    except ValueError:
        parts, host, port = urlsplit(""), None, 0
    namespace = parts.path.strip("/") or "default"
    if not host or parts.username or "/" in namespace:
        raise UsageError(
            f"The address {shown(name)} is not that of a Temporal server.",
            hint="Write it as temporal://HOST:PORT/NAMESPACE.",
        )
    tls = parse_qs(parts.query).get("tls", ["false"])[0].lower() in ("1", "true", "yes")
    return f"{host}:{port}", namespace, tls
