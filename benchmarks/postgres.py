"""A step on PostgreSQL, every fsync on: `python -m benchmarks.postgres`.

In each round all contenders run once, so that they see the same machine: plain asyncio, one bare INSERT with
its own commit for each call, and Podium. Others may be at work on the machine too, so beside wall time the
processor time of this process is given, and ratios.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import statistics
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import psycopg
from tests.stores.postgres import server

from benchmarks.baseline import PlainAsyncio
from benchmarks.common import FULL, MODEL, QUICK, Sizes, Subject, perform
from benchmarks.podium_postgres_ import PodiumThere

WORKLOADS = {
    "fan-out of 200": ("fanout", FULL),
    "200 runs x 10 steps": ("many", replace(FULL, runs=200)),
    "500 runs x 10 steps": ("many", FULL),
}
GOALS = {"fan-out of 200": 150.0, "500 runs x 10 steps": 200.0}
"""Microseconds of wall time for each step."""
TINY = {name: (workload, QUICK) for name, (workload, _) in WORKLOADS.items()}


class BareInserts(PlainAsyncio):
    """The least that durability costs there: one row, one transaction, one connection, no engine."""

    def __init__(self, url: str) -> None:
        self.url = url

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as self.db:
            await self.db.execute("CREATE TABLE IF NOT EXISTS done (tag TEXT, reply TEXT)")
            yield

    async def call(self, run: str, tag: str) -> str:
        reply = await MODEL.answer(tag)
        await self.db.execute("INSERT INTO done VALUES (%s, %s)", (tag, reply))
        return reply


@dataclass
class Taken:
    """Microseconds for each call, one figure a round."""

    wall_us: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    cpu_us: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    async def add(self, name: str, subject: Subject, workload: str, sizes: Sizes) -> None:
        MODEL.calls, MODEL.slots = 0, None
        gc.collect()
        wall, cpu = time.perf_counter(), time.process_time()
        await perform(subject, workload, "r", sizes)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        assert sizes.calls(workload) == MODEL.calls
        self.wall_us.setdefault(name, []).append(wall / MODEL.calls * 1e6)
        self.cpu_us.setdefault(name, []).append(cpu / MODEL.calls * 1e6)

    def wall_ratio(self, to: str) -> float:
        pairs = zip(self.wall_us["podium"], self.wall_us[to], strict=True)
        return statistics.median(own / other for own, other in pairs)


async def measure(url: str, workloads: dict[str, tuple[str, Sizes]], rounds: int) -> dict[str, Taken]:
    """All workloads, round by round."""
    subjects: dict[str, Subject] = {
        "plain": PlainAsyncio(),
        "insert": BareInserts(url),
        "podium": PodiumThere(url),
    }
    found = {name: Taken() for name in workloads}
    async with AsyncExitStack() as stack:
        for subject in subjects.values():
            await stack.enter_async_context(subject.opened(Path()))
            await subject.chain("warm-up", 3)
        for _ in range(rounds):
            for title, (workload, sizes) in workloads.items():
                for name, subject in subjects.items():
                    await found[title].add(name, subject, workload, sizes)
    return found


def render(found: dict[str, Taken]) -> str:
    head = "| workload | wall µs a step | best | CPU µs | plain µs | bare INSERT µs | × INSERT | goal |"
    lines = [head, "|---" * 8 + "|"]
    for name, taken in found.items():
        middle = {who: statistics.median(figures) for who, figures in taken.wall_us.items()}
        cpu, best = statistics.median(taken.cpu_us["podium"]), min(taken.wall_us["podium"])
        goal = f"{GOALS[name]:.0f}" if name in GOALS else ""
        lines.append(
            f"| {name} | {middle['podium']:.0f} | {best:.0f} | {cpu:.0f} | {middle['plain']:.1f} "
            f"| {middle['insert']:.0f} | {taken.wall_ratio('insert'):.2f} | {goal} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with server(fsync=True) as running:
        work = measure(running.new_database(), TINY if given.quick else WORKLOADS, given.rounds)
        found = asyncio.run(work)
    print(json.dumps({name: asdict(taken) for name, taken in found.items()}) if given.json else render(found))


if __name__ == "__main__":
    main()
