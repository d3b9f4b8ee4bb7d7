"""Short runs, where starting and ending weighs most: `python -m benchmarks.short FOLDER`.

A run has three steps. It names its store by a path, as most programs do, or uses one that is open. Beside it:
the same calls in plain asyncio, and as many bare fsynced commits as a run needs (creation, three steps, end).
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

import podium
from benchmarks.baseline import BareCommits, PlainAsyncio
from benchmarks.common import FULL, QUICK, Sizes
from benchmarks.podium_ import chain_of_steps, check
from podium import Settings
from podium.engine.log import Store

STEPS = 3
COMMITS = STEPS + 2

OneRun = Callable[[str], Awaitable[None]]


@dataclass
class Short:
    """Milliseconds of wall time for each run, by contender, one figure a round."""

    runs: int
    at_once_ms: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    in_turn_ms: dict[str, list[float]] = field(default_factory=dict[str, list[float]])

    async def add(self, name: str, one_run: OneRun, round_: int) -> None:
        gc.collect()
        begin = time.perf_counter()
        await asyncio.gather(*(one_run(f"{round_}-{number}") for number in range(self.runs)))
        taken = time.perf_counter() - begin
        self.at_once_ms.setdefault(name, []).append(taken / self.runs * 1000)
        begin = time.perf_counter()
        for number in range(self.runs):
            await one_run(f"{round_}-next-{number}")
        taken = time.perf_counter() - begin
        self.in_turn_ms.setdefault(name, []).append(taken / self.runs * 1000)


async def measure(sizes: Sizes, folder: Path) -> Short:
    """All contenders once in each round, so that they see the same machine."""
    found, settings = Short(sizes.fanout), Settings.load()
    plain, bare = PlainAsyncio(), BareCommits()
    path = folder / "path.sqlite"

    def stored(store: Store | Path) -> OneRun:
        async def one_run(name: str) -> None:
            check(await podium.run(chain_of_steps, {"n": STEPS}, store=store, settings=settings))

        return one_run

    async with bare.opened(folder), podium.open_store(folder / "open.sqlite") as store:
        contenders: dict[str, OneRun] = {
            "plain": lambda name: plain.chain(name, STEPS),
            "commits": lambda name: bare.chain(name, COMMITS),
            "open": stored(store),
            "path": stored(path),
        }
        for one_run in contenders.values():
            await one_run("warm-up")
        for round_ in range(sizes.repetitions):
            for name, one_run in contenders.items():
                await found.add(name, one_run, round_)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.short")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    print(json.dumps(asdict(asyncio.run(measure(QUICK if given.quick else FULL, given.folder)))))
