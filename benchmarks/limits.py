"""Whether the limits of a fleet hold, and what they cost: `python -m benchmarks.limits`.

Real worker processes on a PostgreSQL of its own, with every fsync on. First a provider's limit of so many
calls a second, which all workers want to use as much as they may; then a user's limit of money, with runs
that want three times as much.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from pathlib import Path

from tests.stores.postgres import server

from podium.stores import open_store

ROOT = Path(__file__).parents[1]
CENTS = 300
RUNS, CALLS = 13, 20


async def program(name: str, *words: object) -> Process:
    """A process that is ready to begin."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", name, *map(str, words), stdin=PIPE, stdout=PIPE, cwd=ROOT
    )
    assert process.stdout is not None
    await process.stdout.readline()
    return process


async def keep_pace(url: str, workers: int, per_second: int, seconds: float) -> None:
    """Print how many calls were made in each second."""
    words = (url, 60 * per_second, seconds, 50)
    running = [await program("tests.models.programs.keep_pace", *words) for _ in range(workers)]
    told = await asyncio.gather(*(one.communicate(b"go\n") for one in running))
    parts = [[float(word) for word in out.split()] for out, _ in told]
    times = sorted(moment for part in parts for moment in part)
    took = times[-1] - times[0]
    rate = (len(times) - 1) / took
    whole = Counter(int(moment - times[0]) for moment in times)
    seconds_told = [whole[second] for second in range(int(took))]
    print(
        f"{per_second} calls a second, {workers} workers: {len(times)} calls in {took:.1f} s, "
        f"{rate:.1f} a second ({100 * rate / per_second - 100:+.1f} %), "
        f"{min(seconds_told)} to {max(seconds_told)} in each; "
        f"of each worker {', '.join(str(len(part)) for part in parts)}"
    )


async def keep_money(url: str, workers: int, place: Path) -> None:
    """Print how many calls of a cent were made."""
    async with open_store(url) as store:
        assert store.limits is not None
        await store.limits.set_account("alice", CENTS / 100)
        began = time.monotonic()
        words = (url, "alice", RUNS, CALLS, place)
        running = [await program("tests.engine.programs.spend", *words) for _ in range(workers)]
        await asyncio.gather(*(one.communicate() for one in running))
        taken = (await store.limits.set_account("alice", CENTS / 100)).taken_usd
    runs, made = workers * RUNS, len(place.read_bytes())  # noqa: ASYNC240 - all is over
    print(
        f"${CENTS / 100:g} for {runs} runs on {workers} workers, {runs * CALLS} calls of a cent wanted: "
        f"{made} made, ${taken:g} taken, {time.monotonic() - began:.1f} s with the start"
    )


async def measure(workers: int, per_second: int, seconds: float) -> None:
    with server(fsync=True) as running, tempfile.TemporaryDirectory() as folder:
        await keep_pace(running.new_database(), workers, per_second, seconds)
        await keep_money(running.new_database(), workers, Path(folder) / "calls")


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--workers", type=int, default=4)
    asked.add_argument("--per-second", type=int, default=100)
    asked.add_argument("--seconds", type=float, default=10.0)
    given = asked.parse_args()
    asyncio.run(measure(given.workers, given.per_second, given.seconds))
