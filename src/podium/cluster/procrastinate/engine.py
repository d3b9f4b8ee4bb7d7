"""The engine that keeps its jobs in the same PostgreSQL as the log."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from procrastinate import App
from procrastinate.jobs import Job
from psycopg_pool import AsyncConnectionPool

from podium.cluster.port import Crew, Load, Schedule, Ticket
from podium.cluster.procrastinate.connector import PatientConnector
from podium.cluster.procrastinate.gate import Gate
from podium.cluster.procrastinate.jobs import DRIVE, Jobs, queue_of
from podium.cluster.procrastinate.schedules import Schedules
from podium.cluster.procrastinate.schema import ensure_schema
from podium.cluster.procrastinate.working import Station
from podium.stores.address import shown, take_lease
from podium.stores.postgres.database import Db, options

CONNECTIONS = 4
PATIENCE_S = 30.0
"""How long somebody who submits a run waits for a database that is away."""
_TURN_S = 2.0


class ProcrastinateEngine:
    """A queue a workflow; a job for each run that is to be driven, with the run's id as its lock."""

    def __init__(self, lease_s: float, pool: AsyncConnectionPool[Db], app: App) -> None:
        self._lease_s = lease_s
        self._pool = pool
        self._app = app
        self._jobs = Jobs(app.connector)
        app.job_manager = self._jobs
        self._schedules = Schedules(app)
        self._gate = Gate(self._jobs)

    @classmethod
    async def open(cls, url: str, *, patience_s: float = PATIENCE_S) -> ProcrastinateEngine:
        """The engine of the store at `url`; its tables are made if there are none."""
        address, lease_s = take_lease(url)
        await ensure_schema(address)
        kept = {name: value for name, value in options().items() if name != "autocommit"}
        pool: AsyncConnectionPool[Db] = AsyncConnectionPool(
            address, min_size=1, max_size=CONNECTIONS, open=False, timeout=_TURN_S,
            reconnect_timeout=_TURN_S / 2, configure=_configure, kwargs=kept,
        )  # fmt: skip
        await pool.open()
        app = App(connector=PatientConnector(where=shown(address), patience_s=patience_s))
        await app.connector.open_async(pool)
        return cls(lease_s, pool, app)

    async def close(self) -> None:
        await self._pool.close()

    # ── runs ──

    async def submit(self, tickets: Sequence[Ticket], *, at: float | None = None) -> None:
        if tickets:
            await self._gate.pass_through([_job(ticket, at) for ticket in tickets])

    async def forget(self, run_id: str) -> None:
        await self._jobs.forget(run_id)

    async def carried(self, run_ids: Collection[str]) -> set[str]:
        return await self._jobs.carried(run_ids)

    async def load(self, workflows: Sequence[str] = ()) -> Load:
        queues = [queue_of(workflow) for workflow in workflows] or None
        found = await self._jobs.counts(DRIVE, queues)
        return Load(found["waiting"], found["driven"])

    async def work(self, crew: Crew) -> None:
        queues = [queue_of(workflow) for workflow in crew.workflows] or None
        await Station(self._app, self._jobs, self._schedules, crew, self._lease_s, queues).work()

    # ── schedules ──

    async def add_schedule(self, schedule: Schedule) -> None:
        await self._schedules.add(schedule)

    async def schedules(self) -> list[Schedule]:
        return await self._schedules.all()

    async def remove_schedule(self, name: str) -> bool:
        return await self._schedules.remove(name)


def _job(ticket: Ticket, at: float | None) -> Job:
    return Job(
        queue=queue_of(ticket.workflow), lock=ticket.run_id, queueing_lock=ticket.run_id, task_name=DRIVE,
        task_kwargs={"run_id": ticket.run_id},
        scheduled_at=None if at is None else datetime.fromtimestamp(at, UTC),
    )  # fmt: skip


async def _configure(db: Db) -> None:
    """Each statement is a transaction of its own: no further round trips. None waits for the disk: should the
    database crash, what it forgets of the queue is found again, because the log forgets nothing."""
    await db.set_autocommit(True)
    await db.execute("SET synchronous_commit = off")
