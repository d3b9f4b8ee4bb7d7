"""How runs get a place: the limits, the queue, and who may take a run up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from podium.api import enqueue, resume, start
from podium.api.control import MARKS, Change
from podium.engine.budget import Budget
from podium.engine.log import RunRow, Store
from podium.errors import RunLockedError
from podium.server.schedulers import STOPPED, LocalScheduler
from podium.settings import Settings
from podium.stores import open_store
from tests.server.serving import flow


class House:
    """A store, and schedulers for it one after the other."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.settings = Settings.load(cwd=folder, env={}, model="rehearsal", pause_grace="500ms")

    def scheduler(self, max_runs: int = 10) -> LocalScheduler:
        return LocalScheduler(self.store, self.settings, max_runs=max_runs)

    async def accept(self, name: str, request: str, owner: str = "") -> RunRow:
        marks = {**MARKS, "owner": owner}
        return await enqueue(flow(name), request, store=self.store, settings=self.settings, marks=marks)

    async def status(self, run_id: str) -> str:
        return (await self.store.get(run_id)).status

    async def until(self, true: Callable[[], object]) -> None:
        async with asyncio.timeout(60):
            while not true():  # noqa: ASYNC110 - what is waited for happens in other tasks
                await asyncio.sleep(0.01)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncGenerator[House]:
    async with open_store(str(tmp_path / "podium.sqlite")) as store:
        yield House(store, tmp_path)


async def test_no_more_runs_go_than_there_are_places_and_the_oldest_is_next(house: House) -> None:
    scheduler = house.scheduler(max_runs=2)
    rows = [await house.accept("waits", str(house.folder / str(n))) for n in range(4)]
    for row in rows:
        scheduler.enqueue(row)
    await house.until(lambda: all((house.folder / f"{n}.began").exists() for n in (0, 1)))
    assert (scheduler.running, scheduler.queued) == (2, 2)
    assert [await house.status(row.run_id) for row in rows] == ["running", "running", "queued", "queued"]
    (house.folder / "1").touch()
    await house.until((house.folder / "2.began").exists)
    assert not (house.folder / "3.began").exists()
    for n in (0, 2, 3):
        (house.folder / str(n)).touch()
    await house.until(lambda: scheduler.finished["completed"] == 4)


async def test_one_user_cannot_take_every_place(house: House) -> None:
    scheduler = house.scheduler(max_runs=3)
    scheduler.limit_of = {"alice": 1, "bob": 2}.__getitem__
    for n, owner in enumerate(("alice", "alice", "bob", "bob")):
        scheduler.enqueue(await house.accept("waits", str(house.folder / str(n)), owner))
    await house.until(lambda: all((house.folder / f"{n}.began").exists() for n in (0, 2, 3)))
    assert (await scheduler.count_of("alice"), await scheduler.count_of("bob")) == ((1, 1), (2, 0))
    (house.folder / "2").touch()
    await house.until(lambda: scheduler.finished["completed"] == 1)
    assert not (house.folder / "1.began").exists(), "there is a place, but not for her"
    for n in (0, 1, 3):
        (house.folder / str(n)).touch()
    await house.until(lambda: scheduler.finished["completed"] == 4)


async def test_what_a_server_leaves_is_paused_and_taken_up_by_the_next_in_its_order(house: House) -> None:
    first = house.scheduler(max_runs=1)
    rows = [await house.accept("waits", str(house.folder / str(n))) for n in range(3)]
    for row in rows:
        first.enqueue(row)
    await house.until((house.folder / "0.began").exists)
    await first.stop()
    left = [await house.store.get(row.run_id) for row in rows]
    assert [(row.status, row.holder) for row in left] == [("paused", ""), ("queued", ""), ("queued", "")]
    assert left[0].stop_reason == STOPPED
    for n in range(3):
        (house.folder / str(n)).touch()
    second = house.scheduler(max_runs=1)
    assert await second.take_up() == 3
    await house.until(lambda: second.finished["completed"] == 3)
    order = [(await house.store.read(row.run_id))[-1].time_us for row in rows]
    assert order == sorted(order)
    assert (house.folder / "0.began").read_text() == "began\n", "a finished step is not run again"


async def test_runs_of_a_terminal_are_left_to_their_owners(house: House) -> None:
    """Whoever paused a run with Ctrl-C, or lets it wait for an answer, did not ask a server to go on."""
    paused = await start(flow("waits"), str(house.folder / "x"), store=house.store, settings=house.settings)
    await house.until((house.folder / "x.began").exists)
    await paused.pause(at_once=True)  # its second step would not end within the time that calls get
    asking = await start(flow("asks"), "x", store=house.store, settings=house.settings)
    await asking.result()
    held = await start(flow("waits"), str(house.folder / "y"), store=house.store, settings=house.settings)
    scheduler = house.scheduler()
    assert await scheduler.take_up() == 0
    assert scheduler.running == 0
    with pytest.raises(RunLockedError):
        await scheduler.go_on(await house.store.get(held.run_id))
    await scheduler.stop()
    await held.cancel()


async def test_a_run_that_somebody_took_meanwhile_is_left_alone(house: House) -> None:
    scheduler = house.scheduler(max_runs=1)
    first = await house.accept("waits", str(house.folder / "0"))
    second = await house.accept("waits", str(house.folder / "1"))
    scheduler.enqueue(first)
    scheduler.enqueue(second)
    await house.until((house.folder / "0.began").exists)
    other = await resume(second.run_id, store=house.store, settings=house.settings)  # at a terminal, say
    (house.folder / "0").touch()
    await house.until(lambda: scheduler.finished["not started"] == 1)
    assert (await house.store.get(second.run_id)).status == "running"
    (house.folder / "1").touch()
    assert (await other.result()).status == "completed"
    await scheduler.stop()


async def test_a_stop_that_waits_for_calls_is_hurried(house: House) -> None:
    settings = Settings.load(cwd=house.folder, env={}, model="rehearsal", pause_grace="1h")
    scheduler = LocalScheduler(house.store, settings, max_runs=1)
    row = await house.accept("waits", str(house.folder / "0"))
    scheduler.enqueue(row)
    await house.until((house.folder / "0.began").exists)
    stopping = asyncio.create_task(scheduler.stop())
    done, _ = await asyncio.wait([stopping], timeout=0.1)
    assert not done
    scheduler.stop_at_once()
    async with asyncio.timeout(60):
        await stopping
    assert await house.status(row.run_id) == "paused"


async def test_an_answer_from_anywhere_lets_a_run_go_on(house: House) -> None:
    """Also one that was given while no server was there."""
    first = house.scheduler()
    row = await house.accept("asks", "the sea")
    first.enqueue(row)
    await house.until(lambda: first.finished["waiting"] == 1)
    await first.stop()
    answer = {"question": "wait_for", "answer": "yes", "by": "cli"}
    rows = await house.store.read(row.run_id, types=("run.waiting",))
    answer |= {"question": rows[-1].path, "asked": rows[-1].seq}
    await house.store.post(row.run_id, "answer", answer)
    second = house.scheduler()
    await second.take_up()
    await house.until(lambda: second.finished["completed"] == 1)
    await second.stop()
    assert await house.status(row.run_id) == "completed"


async def test_what_was_asked_of_a_run_that_waits_its_turn_outlives_the_server(house: House) -> None:
    first = house.scheduler(max_runs=1)
    blocking = await house.accept("waits", str(house.folder / "0"))
    first.enqueue(blocking)
    await house.until((house.folder / "0.began").exists)
    stopped = await house.accept("quick", "the sea")
    await first.go_on(stopped, Change(budget=Budget(calls=7)))
    assert await house.status(stopped.run_id) == "queued"
    await first.stop()
    (house.folder / "0").touch()
    second = house.scheduler()
    assert await second.take_up() == 2
    await house.until(lambda: second.finished["completed"] == 2)
    await second.stop()


async def test_a_run_that_cannot_be_taken_up_has_failed_and_says_why(house: House, tmp_path: Path) -> None:
    program = tmp_path / "gone.py"
    program.write_text(
        "import podium\n\n@podium.workflow\nasync def gone(run: podium.Run, request: str) -> str:\n"
        "    return request\n"
    )
    row = await enqueue(str(program), "x", store=house.store, settings=house.settings, marks=MARKS)
    program.unlink()
    scheduler = house.scheduler()
    scheduler.enqueue(row)
    await house.until(lambda: scheduler.finished["not started"] == 1)
    assert await house.status(row.run_id) == "failed"
    (last,) = (await house.store.read(row.run_id))[-1:]
    assert b"There is no file" in last.data
