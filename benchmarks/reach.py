"""How soon a word given on one machine reaches a run that another one drives: `python -m benchmarks.reach`.

A raised budget, an answer and a cancel are given in this process; real `podium worker` processes drive, on a
real PostgreSQL with every fsync on, under both engines. Before each word come a few bare round trips between
two processes through the same database, so that what the machine does meanwhile is in both figures.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.cluster import temporal
from tests.cluster.fleet import Lab, lab
from tests.cluster.hands import gone
from tests.stores.postgres import Server, server

import podium
from benchmarks.echo import echo
from podium.api import raise_budget
from podium.engine.log import Row, RunRow

GOAL_S = 1.0
ROUNDS, QUICK_ROUNDS = 20, 3
WORKERS = 2
TRIPS = 5
LOOKED_S = 0.25
"""Workers look into inboxes so often, should they not have heard: words are given all over that time."""
NEVER = "never"
"""A file that nobody makes: a call lasts until it is there."""
ENDED = "run.cancelled"


async def more(fleet: Lab, row: RunRow) -> None:
    await raise_budget(row.run_id, podium.Budget(calls=3), store=fleet.store)


async def answered(fleet: Lab, row: RunRow) -> None:
    await podium.answer(row.run_id, "this", store=fleet.store)


async def brought_back(fleet: Lab, row: RunRow) -> None:
    """As the server and `podium answer` do it for a run that no worker has."""
    await answered(fleet, row)
    await fleet.fleet.go_on(row)


async def ended(fleet: Lab, row: RunRow) -> None:
    await podium.cancel(row.run_id, store=fleet.store)


class Word(NamedTuple):
    """What is given to a run, and how it is known that the run has it."""

    title: str
    workflow: str
    request: str
    ready: str
    """The row after which it is given."""
    give: Callable[[Lab, RunRow], Awaitable[None]]
    told: str
    """The row that says that the run has it."""
    driven: bool = True
    """Whether a worker has the run."""


WORDS = (
    Word("more budget", "steered", NEVER, "run.waiting", more, "budget.raised"),
    Word("an answer to a run that is driven", "steered", NEVER, "run.waiting", answered, "run.answered"),
    Word(
        "an answer to a run that only waits",
        "asks",
        "Which?",
        "run.waiting",
        brought_back,
        "run.answered",
        driven=False,
    ),
    Word("a cancel, no call in flight", "sleeps", "4", "step.completed", ended, ENDED),
    Word("a cancel, a call in flight", "steered", NEVER, "run.waiting", ended, ENDED),
)


@dataclass
class Taken:
    """Milliseconds, one figure a round."""

    engine: str
    title: str
    there: list[float] = field(default_factory=list[float])
    """Until the run had it, by the driver's clock, which is that of this machine."""
    back: list[float] = field(default_factory=list[float])
    """Until whoever gave it has read that."""
    trips: list[float] = field(default_factory=list[float])
    """Bare round trips just before, their median."""

    @property
    def times(self) -> float:
        """Round trips that it takes until it is known here."""
        return statistics.median(own / bare for own, bare in zip(self.back, self.trips, strict=True))

    @property
    def met(self) -> bool:
        return max(self.back) < GOAL_S * 1000


async def give(fleet: Lab, word: Word, pause_s: float, trip: Callable[[], Awaitable[float]]) -> list[float]:
    """One run, brought to its place and given one word: until it was there, back, and a round trip."""
    row = await fleet.start(word.workflow, word.request, budget=podium.Budget(calls=2))
    await fleet.event(row.run_id, word.ready)
    if not word.driven:
        await gone(fleet.engine, row.run_id)
    telling = asyncio.create_task(_told(fleet, row.run_id, word.told))
    await asyncio.sleep(pause_s)
    bare = statistics.median([await trip() for _ in range(TRIPS)])
    wall_us, began = time.time_ns() // 1000, time.perf_counter()
    await word.give(fleet, row)
    told, seen = await telling
    if word.request == NEVER and word.told != ENDED:
        await ended(fleet, row)
    return [(told.time_us - wall_us) / 1e3, (seen - began) * 1e3, bare * 1e3]


async def _told(fleet: Lab, run_id: str, kind: str) -> tuple[Row, float]:
    return await fleet.event(run_id, kind), time.perf_counter()


async def measure(url: str, name: str, rounds: int) -> list[Taken]:
    """All words in each round, so that they see the same machine."""
    found = [Taken(name.partition(":")[0] or "procrastinate", word.title) for word in WORDS]
    with tempfile.TemporaryDirectory() as folder:
        async with lab(url, Path(folder), name) as fleet, echo(url) as trip:
            for _ in range(WORKERS):
                await fleet.machine()
            for number in range(-1, rounds):  # the first one warms up
                for taken, word in zip(found, WORDS, strict=True):
                    there, back, bare = await give(fleet, word, LOOKED_S * (number + 1) / rounds, trip)
                    if number >= 0:
                        taken.there.append(there)
                        taken.back.append(back)
                        taken.trips.append(bare)
    return found


def render(found: list[Taken]) -> str:
    lines = [
        f"| engine | what is given | there ms | longest | back ms | longest | × round trip | {GOAL_S:g} s |",
        "|---" * 8 + "|",
    ]
    lines += [
        f"| {one.engine} | {one.title} | {statistics.median(one.there):.0f} | {max(one.there):.0f} "
        f"| {statistics.median(one.back):.0f} | {max(one.back):.0f} | {one.times:.0f} "
        f"| {'met' if one.met else 'missed'} |"
        for one in found
    ]
    trips = [trip for one in found for trip in one.trips]
    told = f"A bare round trip: {statistics.median(trips):.2f} ms in the median, {max(trips):.2f} at most."
    return "\n".join([*lines, "", told])


@contextmanager
def engines() -> Generator[list[str]]:
    """The names of all engines that can be had here."""
    if not temporal.program():
        print("Temporal is left out: its server is not installed; `make bench-postgres` does that.\n")
        yield [""]
        return
    with temporal.server() as address:
        yield ["", temporal.new_namespace(address)]


async def all_of(running: Server, names: list[str], rounds: int) -> list[Taken]:
    return [taken for name in names for taken in await measure(running.new_database(), name, rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reach")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    given = parser.parse_args()
    rounds = QUICK_ROUNDS if given.quick else given.rounds
    with server(fsync=True) as running, engines() as names:
        print(render(asyncio.run(all_of(running, names, rounds))))
    told = f"{rounds} of each, {WORKERS} workers, {len(os.sched_getaffinity(0))} processors for everything, "
    print(f"\n{told}load {os.getloadavg()[0]:.1f}.")


if __name__ == "__main__":
    main()
