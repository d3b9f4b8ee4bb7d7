"""Procrastinate's jobs: whoever does one decides over it, and nobody else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import psycopg
import pytest
from procrastinate import App
from procrastinate.jobs import Job, Status

from podium.cluster.port import Engine, Ticket, open_engine
from podium.cluster.procrastinate.engine import PatientConnector
from podium.cluster.procrastinate.jobs import Jobs
from podium.errors import StoreAwayError
from tests.cluster.hands import PATIENCE_S, Hands
from tests.stores import postgres
from tests.stores.postgres import Server


@pytest.fixture
def url(pg_server: Server) -> str:
    return pg_server.new_database()


@pytest.fixture
async def engine(url: str) -> AsyncGenerator[Engine]:  # pyright: ignore[reportIncompatibleMethodOverride]
    opened = await open_engine("", url)
    yield opened
    await opened.close()


@pytest.fixture
async def jobs(url: str, engine: Engine) -> AsyncGenerator[Jobs]:
    """Of a process that is no worker of its own: the test says who does what."""
    app = App(connector=PatientConnector(where="here", patience_s=1.0, conninfo=url))
    async with app.open_async():
        yield Jobs(app.connector)


def ask(url: str, sql: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as db:
        result = db.execute(sql.encode())
        return result.fetchall() if result.description else []


async def taken(jobs: Jobs, worker: int) -> Job:
    job = await jobs.fetch_job(None, worker)
    assert job is not None
    return job


async def workers(url: str) -> tuple[int, int]:
    rows = ask(url, "INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id")
    rows += ask(url, "INSERT INTO procrastinate_workers DEFAULT VALUES RETURNING id")
    return rows[0][0], rows[1][0]


async def test_a_worker_that_was_thought_dead_does_not_end_the_job_of_the_next(
    url: str, engine: Engine, jobs: Jobs
) -> None:
    worker, two = await workers(url)
    await engine.submit([Ticket("run", "three")])
    late = await taken(jobs, worker)
    await jobs.retry_job(late)  # somebody took it from the dead
    now = await taken(jobs, two)
    assert now.id == late.id
    await jobs.finish_job(late, Status.SUCCEEDED, delete_job=True)
    await jobs.retry_job(late)
    assert await engine.load() == (0, 1), "it is the other one's"
    await jobs.finish_job(now, Status.SUCCEEDED, delete_job=True)
    await jobs.finish_job(now, Status.SUCCEEDED, delete_job=True)  # the answer had got lost
    assert await engine.load() == (0, 0)


async def test_what_was_asked_for_meanwhile_stands_for_a_job_that_is_given_back(
    url: str, engine: Engine, jobs: Jobs
) -> None:
    worker, _ = await workers(url)
    await engine.submit([Ticket("run", "three")])
    job = await taken(jobs, worker)
    await engine.submit([Ticket("run", "three")], at=4e9)
    assert await engine.load() == (0, 1), "the second is for later"
    await jobs.retry_job(job)
    assert await engine.load() == (1, 0), "one job, and it is due"


@pytest.mark.parametrize(("lease_s", "given"), [(0.5, True), (3600, False)])
async def test_workers_get_a_lease_to_report_to_a_database_that_has_only_just_started(
    url: str, jobs: Jobs, lease_s: float, given: bool
) -> None:
    """Nobody could be heard of while it was away."""
    opened = await open_engine("", f"{url}?lease_s={lease_s}")
    try:
        worker, _ = await workers(url)
        await opened.submit([Ticket("run", "three")])
        await taken(jobs, worker)
        ask(url, "UPDATE procrastinate_workers SET last_heartbeat = last_heartbeat - interval '2 hours'")
        async with Hands(opened) as hands, asyncio.timeout(PATIENCE_S):
            if given:
                assert await hands.next() == "run"
            else:
                await rounds(url, 3)
                assert hands.given.empty()
    finally:
        await opened.close()


async def test_a_job_whose_giving_was_not_heard_of_is_taken_up_all_the_same(url: str, engine: Engine) -> None:
    """The database gave it to this worker, and the answer got lost with the connection."""
    await engine.submit([Ticket("run", "three")], at=4e9)
    async with Hands(engine) as hands:
        ask(
            url,
            "UPDATE procrastinate_jobs SET status = 'doing', scheduled_at = NULL, "
            "worker_id = (SELECT max(id) FROM procrastinate_workers)",
        )
        assert await hands.next() == "run"


async def test_a_database_that_stays_away_is_reported_to_whoever_submits() -> None:
    if why := postgres.missing():
        pytest.skip(f"PostgreSQL: {why}")
    with postgres.server() as server:
        url = server.new_database()
        opened = await open_engine("", url, patience_s=0.5)
        await asyncio.to_thread(server.stop)
        with pytest.raises(StoreAwayError, match="cannot be reached"):
            await opened.submit([Ticket("run", "three")])
        await asyncio.to_thread(server.start)
        await opened.submit([Ticket("run", "three")])
        assert await opened.load() == (1, 0)
        await opened.close()


async def rounds(url: str, count: int) -> None:
    """Until the worker has looked after its queue so many times: each begins with a heartbeat."""
    beats: set[Any] = set()
    while len(beats) <= count:
        beats.update(ask(url, "SELECT max(last_heartbeat) FROM procrastinate_workers"))
        await asyncio.sleep(0.05)
