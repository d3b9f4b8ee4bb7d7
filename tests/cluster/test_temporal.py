"""What is Temporal's own: its workflows, its schedules, and what is said when it is not there."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from temporalio import activity
from temporalio.client import Client, WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner, Worker

from podium.cluster.port import Engine, Schedule, Ticket, open_engine
from podium.cluster.temporal.flows import DRIVE, QUEUE, Carried, DriveRun
from podium.errors import StoreError, UsageError
from tests.cluster import temporal
from tests.cluster.hands import PATIENCE_S, Hands, gone

STORE = "postgresql://nobody@localhost/none?lease_s=2"
HISTORIES = sorted((Path(__file__).parent / "histories").glob("*.json"))
"""Of workflows that earlier versions have begun."""


@pytest.fixture
def address(temporal_server: str) -> str:
    return temporal.new_namespace(temporal_server)


@pytest.fixture
async def engine(address: str) -> AsyncGenerator[Engine]:  # pyright: ignore[reportIncompatibleMethodOverride]
    opened = await open_engine(address, STORE)
    yield opened
    await opened.close()


async def test_who_cancels_the_workflow_in_temporal_stops_the_driving_through_the_heartbeat(
    address: str, engine: Engine
) -> None:
    client = await temporal.connected(address)
    async with Hands(engine) as hands:
        hands.go_on.clear()
        await engine.submit([Ticket("one", "three")])
        await hands.next()
        await client.get_workflow_handle("podium/one").cancel()
        async with asyncio.timeout(PATIENCE_S):
            assert await hands.cancelled.wait()
        await gone(engine, "one")


class Silent:
    """A worker that takes runs and is never heard of again, as one whose machine has lost its power."""

    def __init__(self, address: str) -> None:
        self._host, _, self._namespace = address.removeprefix("temporal://").partition("/")
        self.taken = asyncio.Event()

    @activity.defn(name=DRIVE)
    async def _drive(self, run: Carried) -> None:
        self.taken.set()
        await asyncio.Event().wait()

    @asynccontextmanager
    async def at_work(self) -> AsyncGenerator[Client]:
        client = await Client.connect(self._host, namespace=self._namespace)
        worker = Worker(
            client,
            task_queue=QUEUE,
            workflows=[DriveRun],
            activities=[self._drive],
            workflow_runner=UnsandboxedWorkflowRunner(),
            max_concurrent_activities=1,
            max_cached_workflows=0,
        )
        async with worker:
            yield client


async def test_a_run_that_lost_its_worker_is_driven_by_another(address: str, engine: Engine) -> None:
    silent = Silent(address)
    async with silent.at_work():
        await engine.submit([Ticket("one", "three")])
        async with asyncio.timeout(PATIENCE_S):
            await silent.taken.wait()
        async with Hands(engine) as hands:
            assert await hands.next() == "one"
            await gone(engine, "one")


async def test_who_cancels_the_workflow_of_a_run_that_lost_its_worker_stops_it(
    address: str, engine: Engine
) -> None:
    """The order reaches nobody; that the worker is gone must not make it forgotten."""
    silent = Silent(address)
    async with silent.at_work() as client:
        await engine.submit([Ticket("one", "three")])
        async with asyncio.timeout(PATIENCE_S):
            await silent.taken.wait()
        await client.get_workflow_handle("podium/one").cancel()
        async with Hands(engine) as hands:
            await gone(engine, "one")
            assert hands.given.empty()


async def test_a_workflow_that_grew_long_begins_anew_and_forgets_nothing() -> None:
    """Neither that the run is carried, nor from when on it wants to be driven again."""
    if not temporal.program():
        pytest.skip("Temporal: its server is not installed; `make test` does that")
    settings: dict[str, object] = {"limit.historyCount.suggestContinueAsNew": 10}
    with temporal.server(**settings) as server:
        address = temporal.new_namespace(server)
        engine = await open_engine(address, STORE)
        async with Hands(engine) as hands:
            later = time.time() + 3600
            hands.answers = [0.0, 0.0, 0.0, later]
            await engine.submit([Ticket("one", "three")])
            for _ in range(4):
                assert await hands.next() == "one"
            await engine.submit([Ticket("two", "three")])
            assert await hands.next() == "two", "the first one waits"
            assert await engine.carried(["one"]) == {"one"}
            assert await temporal.continued(address, "podium/one")
            await engine.submit([Ticket("one", "three")])
            assert await hands.next() == "one"
            await gone(engine, "one")


async def test_workflows_that_were_begun_before_go_on_in_this_version(address: str, engine: Engine) -> None:
    """Temporal replays a workflow in the code that there is now: what it finds must be what was done."""
    client = await temporal.connected(address)
    async with Hands(engine) as hands:
        hands.answers = [time.time() + 0.1, time.time() + 3600]
        await engine.submit([Ticket("one", "three")])
        for _ in range(2):
            await hands.next()
        await engine.submit([Ticket("one", "three")])
        await hands.next()
        await gone(engine, "one")
    made = await client.get_workflow_handle("podium/one").fetch_history()
    histories = [made, *(WorkflowHistory.from_json("podium/one", file.read_text()) for file in HISTORIES)]
    replayer = Replayer(workflows=[DriveRun], workflow_runner=UnsandboxedWorkflowRunner())
    for history in histories:
        assert (await replayer.replay_workflow(history)).replay_failure is None


async def test_a_schedule_is_temporals_own_and_its_moments_come_once(address: str, engine: Engine) -> None:
    client = await temporal.connected(address)
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
    with pytest.raises(UsageError, match="not a cron expression"):
        await engine.add_schedule(wrong)


async def test_a_server_that_is_not_there_is_reported_in_one_sentence() -> None:
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
