"""What is Temporal's own: its workflows, its schedules, and what is said when it is not there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from temporalio.client import Client

from podium.cluster.opening import open_engine
from podium.cluster.port import Crew, Engine, Schedule, Ticket
from podium.errors import StoreError, UsageError
from tests.cluster import temporal

STORE = "postgresql://nobody@localhost/none?lease_s=2"
PATIENCE_S = 60.0


@pytest.fixture
def address(temporal_server: str) -> str:
    return temporal.new_namespace(temporal_server)


@pytest.fixture
async def engine(address: str) -> AsyncGenerator[Engine]:  # pyright: ignore[reportIncompatibleMethodOverride]
    opened = await open_engine(address, STORE)
    yield opened
    await opened.close()


class Hands:
    """A worker without a store: it notes what it is given, and lasts as long as it is told."""

    def __init__(self, engine: Engine) -> None:
        self.given: asyncio.Queue[str] = asyncio.Queue()
        self.fired: asyncio.Queue[tuple[Schedule, int]] = asyncio.Queue()
        self.answers: list[float | None] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.cancelled = asyncio.Event()
        self._stop = asyncio.Event()
        self._ready = asyncio.Event()
        self._engine = engine

    async def drive(self, run_id: str) -> float | None:
        self.given.put_nowait(run_id)
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return self.answers.pop(0) if self.answers else None

    async def fire(self, schedule: Schedule, moment: int) -> None:
        self.fired.put_nowait((schedule, moment))

    async def __aenter__(self) -> Hands:
        crew = Crew(drive=self.drive, fire=self.fire, concurrency=5, stop=self._stop, ready=self._ready.set)
        self._work = asyncio.create_task(self._engine.work(crew))
        await self._ready.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.go_on.set()
        self._stop.set()
        async with asyncio.timeout(PATIENCE_S):
            await self._work

    async def next(self) -> str:
        async with asyncio.timeout(PATIENCE_S):
            return await self.given.get()


async def gone(engine: Engine, run_id: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await engine.carried([run_id]):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)


async def test_a_run_that_is_submitted_while_it_is_driven_is_driven_once_more(engine: Engine) -> None:
    async with Hands(engine) as hands:
        hands.go_on.clear()
        await engine.submit([Ticket("one", "three")])
        assert await hands.next() == "one"
        await engine.submit([Ticket("one", "three")])
        await engine.submit([Ticket("one", "three")])
        hands.go_on.set()
        assert await hands.next() == "one"
        await gone(engine, "one")
        assert hands.given.empty()


async def test_a_run_that_wants_to_go_on_later_does_and_can_be_hastened(engine: Engine) -> None:
    async with Hands(engine) as hands:
        soon = time.time() + 0.5
        hands.answers = [soon, time.time() + 3600, None]
        await engine.submit([Ticket("one", "three")])
        assert await hands.next() == "one"
        assert await hands.next() == "one"
        assert time.time() >= soon
        await engine.submit([Ticket("one", "three")])
        assert await hands.next() == "one"
        await gone(engine, "one")


async def test_a_run_that_is_due_later_waits_and_can_be_forgotten(engine: Engine) -> None:
    async with Hands(engine) as hands:
        await engine.submit([Ticket("later", "three")], at=time.time() + 3600)
        await engine.submit([Ticket("now", "three")])
        assert await hands.next() == "now"
        assert await engine.carried(["later", "never"]) == {"later"}
        await engine.forget("later")
        await engine.forget("never")
        await gone(engine, "later")
        assert hands.given.empty()


async def test_who_cancels_the_workflow_in_temporal_stops_the_driving_through_the_heartbeat(
    address: str, engine: Engine
) -> None:
    host, _, namespace = address.removeprefix("temporal://").partition("/")
    client = await Client.connect(host, namespace=namespace)
    async with Hands(engine) as hands:
        hands.go_on.clear()
        await engine.submit([Ticket("one", "three")])
        await hands.next()
        await client.get_workflow_handle("podium/one").cancel()
        async with asyncio.timeout(PATIENCE_S):
            await hands.cancelled.wait()
        await gone(engine, "one")


async def test_a_schedule_is_temporals_own_and_its_moments_come_once(address: str, engine: Engine) -> None:
    host, _, namespace = address.removeprefix("temporal://").partition("/")
    client = await Client.connect(host, namespace=namespace)
    start = {"workflow": "tree", "request": "x"}
    made = Schedule(name="news", cron="0 8 * * *", workflow="tree", start=start, created_at=1.0)
    await engine.add_schedule(made)
    with pytest.raises(UsageError, match="already"):
        await engine.add_schedule(made)
    assert await engine.schedules() == [made]
    async with Hands(engine) as hands:
        await client.get_schedule_handle("podium/news").trigger()
        async with asyncio.timeout(PATIENCE_S):
            schedule, moment = await hands.fired.get()
    assert schedule == made
    assert abs(moment - time.time()) < PATIENCE_S
    assert await engine.remove_schedule("news")
    assert await engine.schedules() == []
    assert not await engine.remove_schedule("news")


async def test_a_moment_that_never_comes_is_refused(engine: Engine) -> None:
    wrong = Schedule(name="wrong", cron="99 * * * *", workflow="tree", start={}, created_at=1.0)
    with pytest.raises(UsageError, match="no moment"):
        await engine.add_schedule(wrong)


async def test_a_server_that_is_not_there_is_told_in_one_sentence() -> None:
    with pytest.raises(StoreError, match=r"Temporal server at 127\.0\.0\.1:1 cannot be reached"):
        await open_engine("temporal://127.0.0.1:1/default", STORE)


@pytest.mark.parametrize(
    "name", ["temporal://", "temporal:///x", "temporal://me:secret@host/x", "temporal://h:x/y", "kafka://x"]
)
async def test_an_address_that_is_none_is_refused_without_showing_it(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        await open_engine(name, STORE)
    assert "secret" not in str(refused.value)


async def test_temporal_carries_runs_of_a_shared_store_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="store that all of them reach"):
        await open_engine("temporal://localhost:7233/default", f"sqlite:///{tmp_path}/x.sqlite")
