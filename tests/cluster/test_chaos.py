"""Workers are killed and the database restarts, all the time: every run comes to its end, once.

The small sizes are part of every test run; `make test-chaos` takes the full ones.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from podium.engine.codec import decode
from podium.engine.log import Row, RunRow
from tests.cluster.fleet import Lab, Machine, lab
from tests.stores import postgres

FULL = bool(os.environ.get("FLEET_CHAOS"))
RUNS = 1000 if FULL else 60
WORKERS = 4 if FULL else 2
STEP_S = "1.0" if FULL else "0.1"
LEASE_S = 10 if FULL else 2
KILL_S = (2.0, 5.0) if FULL else (0.5, 1.5)
RESTART_S = (5.0, 20.0) if FULL else (1.0, 2.0)
RESTARTING_S = 180.0 if FULL else 6.0
DOWN_S = (0.0, 2.0) if FULL else (0.0, 0.5)
CONCURRENCY = "20" if FULL else "8"
TAKEN_S = LEASE_S + 5 + float(STEP_S)


async def start_all(fleet: Lab, rows: list[RunRow], seconds: float) -> None:
    """Start all runs over a while, and wait until none is under way any more."""
    for number in range(RUNS):
        rows.append(await fleet.start("three", f"number {number}"))
        await asyncio.sleep(seconds / RUNS)
    while True:
        totals = await fleet.store.run_totals()
        if all(total.status in ("completed", "failed", "partial", "cancelled") for total in totals):
            assert sum(total.runs for total in totals) == len(rows)
            return
        await asyncio.sleep(0.2)


async def check_all(fleet: Lab, rows: list[RunRow]) -> dict[str, list[Row]]:
    """Every run is complete and right, and no step was paid for again once its result was in the log."""
    paid = fleet.paid()
    logs: dict[str, list[Row]] = {}
    for row in rows:
        log = logs[row.run_id] = await fleet.store.read(row.run_id)
        assert log[-1].type == "run.completed", log[-1]
        assert [event.seq for event in log] == list(range(1, len(log) + 1))
        request, *tokens = decode(log[-1].data)["output"]
        assert request == row.request
        for step, token in enumerate(tokens):
            assert paid[row.run_id, str(step)][-1] == token, f"{row.run_id}: step {step} was paid again"
        ended = [event.path for event in log if event.type == "step.completed"]
        assert sorted(ended) == sorted(set(ended)), f"{row.run_id}: a step has ended twice"
    assert {run_id for run_id, _ in paid} == {row.run_id for row in rows}
    return logs


def take_overs(logs: dict[str, list[Row]]) -> list[float]:
    """Seconds between the last word of a driver that died and the first of the next."""
    return [
        (log[place].time_us - log[place - 1].time_us) / 1e6
        for log in logs.values()
        for place in range(1, len(log))
        if log[place].type == "run.resumed"
    ]


async def check_take_overs(fleet: Lab, logs: dict[str, list[Row]]) -> None:
    """Within the time-out and five seconds, each time that a run was taken from a dead worker; the step that
    it was in counts, too, because the log is silent meanwhile. A worker may die before it writes a word: so
    the engine is asked how often it gave a run to somebody else."""
    late: dict[str, tuple[int, list[float]]] = {}
    for run_id, log in logs.items():
        gaps = take_overs({run_id: log})
        if sum(gaps) > len(gaps) * TAKEN_S and sum(gaps) > (lost := await fleet.losses(run_id)) * TAKEN_S:
            late[run_id] = lost, gaps
    assert late == {}


def report(fleet: Lab, logs: dict[str, list[Row]], began: float, what: str) -> None:
    gaps = sorted(take_overs(logs))
    calls = sum(len(tokens) for tokens in fleet.paid().values())
    print(
        f"\n{len(logs)} runs, {what}: {time.monotonic() - began:.1f} s, {calls} calls for {3 * len(logs)} "
        f"steps, {len(gaps)} take-overs, the longest after {gaps[-1] if gaps else 0:.1f} s, "
        f"the median after {gaps[len(gaps) // 2] if gaps else 0:.1f} s"
    )


async def until(work: asyncio.Task[None], chaos: Callable[[], Awaitable[None]]) -> None:
    """Make chaos until the work is done."""
    while not work.done():
        await chaos()
    await work


@pytest.fixture
async def chaotic(pg_server: postgres.Server, engine: str, tmp_path: Path):
    async with lab(f"{pg_server.new_database()}?lease_s={LEASE_S}", tmp_path, engine) as made:
        yield made


@pytest.mark.slow
@pytest.mark.timeout(1800)
async def test_runs_survive_workers_that_are_killed_and_replaced(chaotic: Lab) -> None:
    fleet, luck, killed = chaotic, random.Random(1), 0
    machines: list[Machine] = [
        await fleet.machine("--concurrency", CONCURRENCY, FLEET_STEP_S=STEP_S) for _ in range(WORKERS)
    ]
    began = time.monotonic()
    rows: list[RunRow] = []
    starting = asyncio.create_task(start_all(fleet, rows, 0.0))

    async def chaos() -> None:
        nonlocal killed
        await asyncio.wait([starting], timeout=luck.uniform(*KILL_S))
        place = luck.randrange(WORKERS)
        await machines[place].kill()
        killed += 1
        machines[place] = await fleet.machine("--concurrency", CONCURRENCY, FLEET_STEP_S=STEP_S)

    await until(starting, chaos)
    logs = await check_all(fleet, rows)
    report(fleet, logs, began, f"{killed} workers killed")
    assert killed > 0
    if FULL:  # it says something only where the machine has time for it
        await check_take_overs(fleet, logs)


@pytest.mark.timeout(1800)
async def test_runs_survive_a_database_that_restarts(tmp_path: Path) -> None:
    if why := postgres.missing():
        pytest.skip(f"PostgreSQL: {why}")
    luck, restarts = random.Random(2), 0
    with postgres.server(fsync=FULL) as server:
        async with lab(f"{server.new_database()}?lease_s={LEASE_S}", tmp_path) as fleet:
            for _ in range(WORKERS):
                await fleet.machine("--concurrency", CONCURRENCY, FLEET_STEP_S=STEP_S)
            began = time.monotonic()
            rows: list[RunRow] = []
            starting = asyncio.create_task(start_all(fleet, rows, RESTARTING_S))
            while time.monotonic() - began < RESTARTING_S or restarts == 0:
                await asyncio.sleep(luck.uniform(*RESTART_S))
                await asyncio.to_thread(server.stop)
                await asyncio.sleep(luck.uniform(*DOWN_S))
                await asyncio.to_thread(server.start)
                restarts += 1
            await starting
            logs = await check_all(fleet, rows)
            report(fleet, logs, began, f"{restarts} restarts of the database")
            assert all(machine.process.returncode is None for machine in fleet.machines)
