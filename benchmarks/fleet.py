"""Runs that a fleet accepts and completes each second: `python -m benchmarks.fleet`.

Real `podium worker` processes on a real PostgreSQL with every fsync on. A run has three steps. Without
latency the processors are the limit; with a step of a second, how many runs a worker holds at once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from tests.cluster.fleet import Lab, lab
from tests.stores.postgres import Server, server

from benchmarks.postgres_peers import Database

AT_ONCE = 16
"""Requests under way while runs are accepted."""
STEPS = 3
OVER = ("completed", "partial", "failed", "cancelled")


@dataclass
class Taken:
    """One fleet at work."""

    workers: int
    step_s: float
    runs: int
    accepted: float = 0.0
    """Runs a second, durable and handed to the engine."""
    completed: float = 0.0
    """Runs a second, from the first acceptance to the last end."""
    commits: float = 0.0
    """Transactions for each run."""
    rows: float = 0.0
    """Rows written for each run."""


async def accept(fleet: Lab, runs: int) -> float:
    """Runs accepted a second."""
    places = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        async with places:
            await fleet.start("three", f"number {number}")

    began = time.perf_counter()
    await asyncio.gather(*(one(number) for number in range(runs)))
    return runs / (time.perf_counter() - began)


async def ended(fleet: Lab, runs: int) -> None:
    while True:
        totals = await fleet.store.run_totals()
        if sum(total.runs for total in totals if total.status in OVER) >= runs:
            assert {total.status for total in totals} == {"completed"}
            return
        await asyncio.sleep(0.1)


async def measure(running: Server, workers: int, step_s: float, runs: int, concurrency: int) -> Taken:
    taken = Taken(workers, step_s, runs)
    database = Database(running)
    with tempfile.TemporaryDirectory() as folder:
        async with lab(database.url, Path(folder)) as fleet:
            for _ in range(workers):
                await fleet.machine("--concurrency", str(concurrency), FLEET_STEP_S=str(step_s))
            began = time.perf_counter()
            taken.accepted = await accept(fleet, runs)
            await ended(fleet, runs)
            taken.completed = runs / (time.perf_counter() - began)
    commits, rows = database.counted()
    taken.commits, taken.rows = commits / runs, rows / runs
    return taken


def render(found: list[Taken]) -> str:
    lines = [
        "| workers | a step takes | runs | accepted/s | completed/s | steps/s | commits a run | rows a run |",
        "|---" * 8 + "|",
    ]
    lines += [
        f"| {one.workers} | {one.step_s * 1000:.0f} ms | {one.runs} | {one.accepted:.0f} "
        f"| {one.completed:.0f} | {one.completed * STEPS:.0f} | {one.commits:.1f} | {one.rows:.1f} |"
        for one in found
    ]
    return "\n".join(lines)


async def all_of(running: Server, quick: bool) -> list[Taken]:
    runs = 40 if quick else 1000
    found: list[Taken] = []
    for workers in (1, 2) if quick else (1, 2, 4):
        found.append(await measure(running, workers, 0.0, runs, 20))
    for workers in (1,) if quick else (1, 4):
        found.append(await measure(running, workers, 0.1 if quick else 1.0, runs, 250))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fleet")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    with server(fsync=True) as running:
        print(render(asyncio.run(all_of(running, given.quick))))
    print(f"\n{len(os.sched_getaffinity(0))} processors for everything, the database included.")


if __name__ == "__main__":
    main()
