"""Many processes of `podium events RUN --follow` beside one busy run: how late they are, and whether
anything is lost."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import podium
from benchmarks.common import MODEL, ROOT, Sizes
from podium import Run, workflow

ROUNDS, WIDTH, PACE_S = 60, 10, 0.02


@workflow
async def busy(run: Run, request: Any) -> None:
    """Waits until everybody is watching, then works in bursts for a while."""
    await run.step("ready", wait_for_line, sys.stdin.fileno())
    MODEL.latency = PACE_S
    for _ in range(request["rounds"]):
        await run.gather({f"w{i}": run.step("call", MODEL.answer, str(i)) for i in range(WIDTH)})


async def wait_for_line(descriptor: int) -> None:
    await asyncio.to_thread(sys.stdin.readline)


@dataclass
class Followed:
    """What the readers saw."""

    readers: int
    events: int
    lost: int
    """Events that a reader missed, saw twice or saw out of order, over all readers."""
    median_ms: float
    p95_ms: float
    max_ms: float


async def drive(url: str, rounds: int) -> None:
    """The child that drives the run: prints its id, starts on a line from the parent."""
    async with podium.open_store(url) as store:
        handle = await podium.start(busy, {"rounds": rounds}, store=store)
        print(handle.run_id, flush=True)
        result = await handle.result()
    if result.status != "completed":
        raise AssertionError(f"the run ended as {result.status}: {result.error}")


async def follow(command: Sequence[str], watching: asyncio.Semaphore) -> tuple[list[int], list[float]]:
    """One reader: the sequence numbers it saw, and how long after each event it saw it, in seconds."""
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stdin=asyncio.subprocess.DEVNULL)
    assert process.stdout is not None
    numbers: list[int] = []
    delays: list[float] = []
    async for line in process.stdout:
        now = time.time()
        event: dict[str, Any] = json.loads(line)
        if not numbers:
            watching.release()
        numbers.append(event["seq"])
        if event["path"].startswith("w"):
            delays.append(now - datetime.fromisoformat(event["time"]).timestamp())
    if await process.wait() != 0:
        raise AssertionError(f"a reader ended with exit code {process.returncode}")
    return numbers, delays


async def measure(sizes: Sizes, folder: Path) -> Followed:
    url = f"sqlite:///{folder}/busy.sqlite"
    rounds = ROUNDS if sizes.readers >= 20 else 10
    driver = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.readers", url, str(rounds), cwd=ROOT, stdin=PIPE, stdout=PIPE
    )
    run_id = await _first_line(driver)
    command = [str(Path(sys.executable).with_name("podium")), "events", run_id]
    command += ["--follow", "--json", "--store", url]
    watching = asyncio.Semaphore(0)
    readers = [asyncio.create_task(follow(command, watching)) for _ in range(sizes.readers)]
    for _ in readers:
        await watching.acquire()
    assert driver.stdin is not None
    driver.stdin.write(b"go\n")
    await driver.stdin.drain()
    seen = await asyncio.gather(*readers)
    if await driver.wait() != 0:
        raise AssertionError("the driver of the busy run failed")
    return await _judge(url, run_id, seen)


async def _first_line(process: Process) -> str:
    assert process.stdout is not None
    line = await process.stdout.readline()
    if not line:
        raise AssertionError("the driver of the busy run did not start")
    return line.decode().strip()


async def _judge(url: str, run_id: str, seen: list[tuple[list[int], list[float]]]) -> Followed:
    async with podium.open_store(url) as store:
        whole = [row.seq for row in await store.read(run_id)]
    lost = sum(len(set(whole) ^ set(numbers)) + (numbers != sorted(set(numbers))) for numbers, _ in seen)
    delays = sorted(delay * 1000 for _, found in seen for delay in found)
    return Followed(
        readers=len(seen),
        events=len(whole),
        lost=lost,
        median_ms=statistics.median(delays),
        p95_ms=delays[int(len(delays) * 0.95)],
        max_ms=delays[-1],
    )


if __name__ == "__main__":
    asyncio.run(drive(sys.argv[1], int(sys.argv[2])))
