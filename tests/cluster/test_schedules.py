"""Schedules: which moments there are, and that each starts one run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator

import msgspec
import psycopg
import pytest

from podium.cluster.fleet import MAX_DELAY_S, check_cron, fire
from podium.cluster.port import TEMPORAL, Engine, Schedule, open_engine
from podium.engine.log import RunRow
from podium.errors import StoreAwayError, UsageError
from tests.cluster import temporal
from tests.cluster.fleet import FLOWS, Lab, every_second
from tests.cluster.hands import PATIENCE_S, Hands
from tests.stores.postgres import Server


@pytest.mark.parametrize(
    "cron",
    [
        "0 8 * * *",
        "*/7 9-17 1,15 * *",
        "0 8 * * mon-FRI",
        "0 8 1 jan 7",
        "0 0 29 2 *",
        "@daily",
        " 0  8 * * * ",
    ],
)
def test_what_cron_reads_is_a_schedule(cron: str) -> None:
    check_cron(cron)


@pytest.mark.parametrize(
    "cron",
    [
        "",
        "every day",
        "61 * * * *",
        "0 24 * * *",
        "*/0 * * * *",
        "@reboot",
        "CRON_TZ=Europe/Berlin 0 8 * * *",
        "0 0 31 2 *",
        "0 0 30 2 *",  # never comes
        "0 8 * * * 30",
        "0 8 * * * * *",  # a second for one engine, a year for another
        "R R * * *",
        "H H * * *",
        "0 8 L * *",
        "0 8 * * 5#3",
        "0 8 ? * 1",  # only one engine reads them so
    ],
)
def test_what_never_comes_or_is_read_in_two_ways_is_refused(cron: str) -> None:
    with pytest.raises(UsageError, match="not a cron expression that ever fires"):
        check_cron(cron)


def schedule(cron: str = "0 8 * * *", name: str = "news", created_at: float = 0.0) -> Schedule:
    start = {"workflow": f"{FLOWS}:three", "request": "x", "model": "rehearsal"}
    return Schedule(name=name, cron=cron, workflow="three", start=start, created_at=created_at)


async def fired(fleet: Lab, schedule: Schedule, moment: float) -> list[RunRow]:
    """All runs there are after a moment has come."""
    await fire(fleet.store, fleet.settings, fleet.engine, schedule, int(moment))
    return await fleet.store.list_runs()


async def test_a_moment_starts_one_run_however_often_it_is_reported(fleet: Lab) -> None:
    hourly, now = schedule(), time.time()
    first = await fired(fleet, hourly, now)
    assert await fired(fleet, hourly, now) == first
    assert await fleet.engine.carried([first[0].run_id]) == {first[0].run_id}
    assert len(await fired(fleet, hourly, now + 60)) == 2
    made_anew = msgspec.structs.replace(hourly, created_at=now - 1)
    assert len(await fired(fleet, made_anew, now)) == 3, "a schedule that was made anew is another one"


async def test_a_moment_that_is_long_past_or_before_the_schedule_starts_nothing(fleet: Lab) -> None:
    now = time.time()
    assert await fired(fleet, schedule(), now - MAX_DELAY_S - 5) == []
    assert await fired(fleet, schedule(created_at=now), now - 5) == []
    assert len(await fired(fleet, schedule(), now - MAX_DELAY_S + 60)) == 1


async def test_a_schedule_whose_workflow_is_gone_is_reported_and_starts_nothing(
    fleet: Lab, caplog: pytest.LogCaptureFixture
) -> None:
    gone = msgspec.structs.replace(schedule(), start={"workflow": "/nowhere.py:x", "request": "x"})
    assert await fired(fleet, gone, time.time()) == []
    assert "The schedule news could not start a run" in caplog.text


@pytest.fixture
async def queue(pg_server: Server) -> AsyncGenerator[tuple[Engine, str]]:
    url = pg_server.new_place()
    opened = await open_engine("", url)
    yield opened, url
    await opened.close()


async def test_one_schedule_that_never_comes_does_not_keep_the_others_from_theirs(
    queue: tuple[Engine, str], caplog: pytest.LogCaptureFixture
) -> None:
    engine, url = queue
    with pytest.raises(UsageError, match="not a cron expression"):
        await engine.add_schedule(schedule("0 0 31 2 *", "a"))
    with psycopg.connect(url, autocommit=True) as db:  # an older version let it in
        db.execute("INSERT INTO podium_schedule VALUES ('a', '0 0 31 2 *', 'three', '{}', 0)")
    await engine.add_schedule(schedule("* * * * * */1", "every-second"))
    async with Hands(engine) as hands, asyncio.timeout(PATIENCE_S):
        fired, _ = await hands.fired.get()
    assert fired.name == "every-second"
    assert caplog.text.count("The schedule a starts nothing: 0 0 31 2 * never fires.") == 1


class Unlucky(Hands):
    """Its store is away the first time."""

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self.missed: list[int] = []

    async def fire(self, schedule: Schedule, moment: int) -> None:
        if not self.missed:
            self.missed.append(moment)
            raise StoreAwayError("The store is away.")
        await super().fire(schedule, moment)


async def test_a_moment_at_which_the_store_was_away_is_made_up_for(fleet: Lab) -> None:
    await fleet.engine.add_schedule(schedule(every_second(fleet)))
    async with Unlucky(fleet.engine) as hands, asyncio.timeout(PATIENCE_S):
        moments: list[int] = []
        while not set(hands.missed) & set(moments):
            moments.append((await hands.fired.get())[1])
    assert moments.count(hands.missed[0]) == 1, "made up for, once"


async def test_a_day_and_a_weekday_mean_either_on_every_engine(fleet: Lab) -> None:
    """As in cron: at eight on the first of a month, and on Mondays."""
    await fleet.engine.add_schedule(schedule("0 8 1 * 1"))
    (listed,) = await fleet.engine.schedules()
    assert listed.cron == "0 8 1 * 1"
    if not fleet.name.startswith(TEMPORAL):
        return  # the queue asks croniter, which does so
    client = await temporal.connected(fleet.name)
    next_ones = (await client.get_schedule_handle("podium/news").describe()).info.next_action_times
    assert all(moment.hour == 8 and (moment.day == 1 or moment.weekday() == 0) for moment in next_ones)
    assert sum(moment.weekday() == 0 for moment in next_ones) >= len(next_ones) - 2 > 2
