"""One subject, one workload, in a process of its own: repetitions interleaved with plain asyncio
(and, for the chain, with bare commits), so that all see the same machine. Prints one JSON line."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import resource
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path

from benchmarks.baseline import commit, plain
from benchmarks.common import FULL, MODEL, QUICK, Sizes, Subject, perform

SUBJECTS = {
    "steps": "podium_", "asks": "podium_", "langgraph": "langgraph_", "podium_postgres": "podium_postgres_",
    "langgraph_postgres": "langgraph_postgres_", "dbos": "dbos_",
}  # fmt: skip
"""Where each subject is declared; imported by name, because each has its own dependencies."""


@dataclass
class Measured:
    """What a worker reports: seconds of wall time per repetition, by subject."""

    subject: str
    workload: str
    latency: float
    calls: int
    ideal: float
    version: str = ""
    walls: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    peak_mb: float = 0.0


def load(name: str) -> Subject:
    subject: Subject = getattr(import_module(f"benchmarks.{SUBJECTS[name]}"), name)
    return subject


async def timed(subject: Subject, workload: str, run: str, sizes: Sizes) -> float:
    """Seconds of one repetition, after checking that no call was left out or made twice."""
    MODEL.calls, MODEL.slots = 0, None
    gc.collect()
    start = time.perf_counter()
    await perform(subject, workload, run, sizes)
    wall = time.perf_counter() - start
    if MODEL.calls != sizes.calls(workload):
        raise AssertionError(f"{workload}: {MODEL.calls} calls instead of {sizes.calls(workload)}")
    return wall


async def measure(
    name: str, workload: str, latency: float, sizes: Sizes, folder: Path, seconds: float
) -> Measured:
    """Repeat until the wanted number or `seconds` are reached; at least one whole round."""
    subject = load(name)
    contenders: dict[str, Subject] = {"plain": plain, name: subject}
    if workload == "chain" and latency == 0:
        contenders["commit"] = commit
    found = Measured(name, workload, latency, sizes.calls(workload), sizes.ideal(workload, latency))
    found.version = subject.version
    found.walls = {contender: [] for contender in contenders}
    async with AsyncExitStack() as stack:
        for contender in contenders.values():
            await stack.enter_async_context(contender.opened(folder))
            await contender.chain("warm-up", 3)
        MODEL.latency = latency
        deadline = time.perf_counter() + seconds
        for repetition in range(repetitions(workload, latency, sizes)):
            if repetition and time.perf_counter() > deadline:
                break
            for contender, it in contenders.items():
                found.walls[contender].append(await timed(it, workload, f"r{repetition}", sizes))
    found.peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def repetitions(workload: str, latency: float, sizes: Sizes) -> int:
    """The chain is short and hangs on the disk's mood, so it is repeated more often; with a slow model
    the waiting is the measurement, and once is enough."""
    if latency > 0:
        return 1
    return sizes.repetitions * (3 if workload == "chain" else 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=sorted(SUBJECTS))
    parser.add_argument("workload")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--latency", type=float, default=0.0)
    parser.add_argument("--seconds", type=float, default=40.0)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    sizes = QUICK if given.quick else FULL
    work = measure(given.subject, given.workload, given.latency, sizes, given.folder, given.seconds)
    print(json.dumps(asdict(asyncio.run(work))), flush=True)
    os._exit(0)  # a peer's left-over threads must not hold up the next measurement


if __name__ == "__main__":
    main()
