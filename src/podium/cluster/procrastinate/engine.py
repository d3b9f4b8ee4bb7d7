"""Procrastinate engine: connector, batched submission and schema."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, LiteralString, TypeVar

import psycopg
from procrastinate import App, PsycopgConnector
from procrastinate.connector import Notify
from procrastinate.exceptions import ConnectorException
from procrastinate.jobs import Job
from procrastinate.schema import SchemaManager
from psycopg_pool import AsyncConnectionPool

from podium.cluster.port import Load, Schedule, Ticket, WorkerConfig
from podium.cluster.procrastinate.jobs import DRIVE, Jobs, Schedules, queue_of
from podium.cluster.procrastinate.worker import WorkerSession
from podium.errors import StoreError
from podium.stores import shown, take_lease
from podium.stores.postgres.connection import Db, check_address, connect, explain, is_lost, options

LOG = logging.getLogger("podium.cluster")
Answer = TypeVar("Answer")

_AGAIN_S = 0.1
_LONGEST_S = 1.0
_LOG_AFTER_S = 2.0
"""Seconds after which an unreachable database is logged. A restart is not."""


class PatientConnector(PsycopgConnector):
    """A connector that retries until the database answers. All statements can safely be repeated; see
    `jobs.py`."""

    def __init__(self, *, where: str, patience_s: float, **options: Any) -> None:
        super().__init__(**options)  # pyright: ignore[reportUnknownMemberType] - a bare Callable in it
        self._where = where
        """Name of the database for messages, without secrets."""
        self._patience_s = patience_s
        """Seconds to wait for a database that is away; infinite for a worker."""
        self.away_since: float | None = None
        """Monotonic time since which the database does not answer. None: it does."""

    async def execute_query_async(self, query: LiteralString, **arguments: Any) -> None:
        execute = super().execute_query_async
        await self._retrying(lambda: execute(query, **arguments))

    async def execute_query_one_async(self, query: LiteralString, **arguments: Any) -> dict[str, Any]:
        execute = super().execute_query_one_async
        return await self._retrying(lambda: execute(query, **arguments))

    async def execute_query_all_async(self, query: LiteralString, **arguments: Any) -> list[dict[str, Any]]:
        execute = super().execute_query_all_async
        return await self._retrying(lambda: execute(query, **arguments))

    async def listen_notify(self, on_notification: Notify, channels: Iterable[str]) -> None:
        listen, names = super().listen_notify, list(channels)
        await self._retrying(lambda: listen(on_notification, names))

    async def _retrying(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        wait, since = _AGAIN_S, time.monotonic()
        while True:
            try:
                answer = await ask()
            except (ConnectorException, psycopg.Error, OSError) as error:
                cause = error.__cause__ if isinstance(error, ConnectorException) else error
                if not is_lost(cause or error):
                    raise
                if time.monotonic() - since > self._patience_s:
                    raise explain(cause or error, self._where) from error
                self._note(cause or error)
            else:
                self._answered()
                return answer
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_S)

    def _note(self, error: BaseException) -> None:
        now = time.monotonic()
        if self.away_since is None:
            self.away_since = now
        elif now - self.away_since > _LOG_AFTER_S and not self._logged:
            self._logged = True
            LOG.warning("The database is away, waiting for it: %s", _first_line(error))

    def _answered(self) -> None:
        if self._logged:
            LOG.info("The database is back.")
        self.away_since, self._logged = None, False

    _logged = False


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


class SubmitBatches:
    """Submits jobs in batches, one batch at a time."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._waiting: list[tuple[list[Job], asyncio.Future[None]]] = []
        self._submitting: asyncio.Task[None] | None = None

    async def submit(self, jobs: list[Job]) -> None:
        """Submit jobs. Durable when this returns."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((jobs, done))
        if self._submitting is None or self._submitting.done():
            self._submitting = asyncio.create_task(self._submit_all(), name="podium-submit")
        await done

    async def _submit_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await self._jobs.submit([job for jobs, _ in batch for job in jobs])
            except BaseException as error:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(error)
                if not isinstance(error, Exception):
                    raise
            else:
                for _, done in batch:
                    if not done.done():
                        done.set_result(None)


MIGRATING = 0x506F6463
"""Advisory lock that one process holds while it creates or migrates the tables."""

_OURS = """
CREATE TABLE podium_engine (migration TEXT NOT NULL);
CREATE TABLE podium_schedule (
    name        TEXT COLLATE "C" PRIMARY KEY,
    cron        TEXT NOT NULL,
    workflow    TEXT NOT NULL,
    start       TEXT NOT NULL, -- JSON
    created_at  DOUBLE PRECISION NOT NULL
);
-- Which job carries a run; also asked for each job that is fetched, among all that wait.
CREATE INDEX podium_jobs_by_lock ON procrastinate_jobs (lock) WHERE status IN ('todo', 'doing');
"""


async def ensure_schema(url: str) -> None:
    """Create the tables, or migrate them to the installed version of Procrastinate."""
    check_address(url)
    scripts = sorted(Path(SchemaManager.get_migrations_path()).glob("*.sql"))  # noqa: ASYNC240 - once
    newest = scripts[-1].name
    try:
        async with await connect(url) as db:
            if await _version(db) == newest:
                return
            async with db.transaction():
                await db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
                await _migrate(db, await _version(db), scripts, shown(url))
    except psycopg.Error as error:
        raise explain(error, shown(url)) from error


async def _migrate(db: Db, version: str, scripts: list[Path], where: str) -> None:
    newest = scripts[-1].name
    if version > newest:
        raise StoreError(
            f"The queue in {where} was made by a newer Procrastinate (its schema: {version}).",
            hint="Upgrade with: pip install --upgrade 'podium[cluster]'.",
        )
    if not version:
        await db.execute(SchemaManager.get_schema().encode())
        await db.execute(_OURS.encode())
        await db.execute("INSERT INTO podium_engine VALUES (%s)", (newest,))
    for script in scripts:
        if version and script.name > version:
            await db.execute(script.read_bytes())
    await db.execute("UPDATE podium_engine SET migration = %s", (newest,))


async def _version(db: Db) -> str:
    """Return the name of the last migration that was applied; empty if there are no tables. Reads the
    catalogue, because for a table name PostgreSQL would use what it cached before it waited for the lock."""
    sql = "SELECT 1 FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'podium_engine'"
    if not await (await db.execute(sql)).fetchall():
        return ""
    row = await (await db.execute("SELECT migration FROM podium_engine")).fetchone()
    return str(row[0]) if row else ""


CONNECTIONS = 4
PATIENCE_S = 30.0
"""Seconds that a submission waits for a database that is away."""
_TURN_S = 2.0


class ProcrastinateEngine:
    """An engine with one queue per workflow, and one job per run to be driven, with the run's id
    as its lock."""

    def __init__(self, lease_s: float, pool: AsyncConnectionPool[Db], app: App) -> None:
        self._lease_s = lease_s
        self._pool = pool
        self._app = app
        self._jobs = Jobs(app.connector)
        app.job_manager = self._jobs
        self._schedules = Schedules(app)
        self._batches = SubmitBatches(self._jobs)

    @classmethod
    async def open(cls, url: str, *, patience_s: float = PATIENCE_S) -> ProcrastinateEngine:
        """Open the engine of the store at `url`. Creates its tables if there are none."""
        address, lease_s = take_lease(url)
        await ensure_schema(address)
        connection_options = {name: value for name, value in options().items() if name != "autocommit"}
        pool: AsyncConnectionPool[Db] = AsyncConnectionPool(
            address,
            min_size=1,
            max_size=CONNECTIONS,
            open=False,
            timeout=_TURN_S,
            reconnect_timeout=_TURN_S / 2,
            configure=_configure,
            kwargs=connection_options,
        )
        await pool.open()
        app = App(connector=PatientConnector(where=shown(address), patience_s=patience_s))
        await app.connector.open_async(pool)
        return cls(lease_s, pool, app)

    async def close(self) -> None:
        await self._pool.close()

    # ── runs ──

    async def submit(self, tickets: Sequence[Ticket], *, at: float | None = None) -> None:
        if tickets:
            await self._batches.submit([_job(ticket, at) for ticket in tickets])

    async def forget(self, run_id: str) -> None:
        await self._jobs.forget(run_id)

    async def carried(self, run_ids: Collection[str]) -> set[str]:
        return await self._jobs.carried(run_ids)

    async def load(self, workflows: Sequence[str] = ()) -> Load:
        queues = [queue_of(workflow) for workflow in workflows] or None
        counts = await self._jobs.counts(DRIVE, queues)
        return Load(counts["waiting"], counts["driven"])

    async def work(self, config: WorkerConfig) -> None:
        queues = [queue_of(workflow) for workflow in config.workflows] or None
        await WorkerSession(self._app, self._jobs, self._schedules, config, self._lease_s, queues).work()

    # ── schedules ──

    async def add_schedule(self, schedule: Schedule) -> None:
        await self._schedules.add(schedule)

    async def schedules(self) -> list[Schedule]:
        return await self._schedules.all()

    async def remove_schedule(self, name: str) -> bool:
        return await self._schedules.remove(name)


def _job(ticket: Ticket, at: float | None) -> Job:
    return Job(
        queue=queue_of(ticket.workflow),
        lock=ticket.run_id,
        queueing_lock=ticket.run_id,
        task_name=DRIVE,
        task_kwargs={"run_id": ticket.run_id},
        scheduled_at=None if at is None else datetime.fromtimestamp(at, UTC),
    )


async def _configure(db: Db) -> None:
    """Configure a connection. Autocommit saves round trips: each statement is its own transaction. Commits do
    not wait for the disk: what the database loses of the queue in a crash is restored from the log."""
    await db.set_autocommit(True)
    await db.execute("SET synchronous_commit = off")
