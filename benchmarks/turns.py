"""The cost of an agent's turn with one tool call, beside Pydantic AI and LangChain.

`python -m benchmarks.turns [--rounds N] [--against REF]`. Every subject has a process of its own; in each
round each has its turn, and ratios are taken within a round. The model is scripted and answers at once, the
tool returns 2 kB. CPU time is measured with stores in memory, so that waiting for a disk does not disturb it;
wall time on disk, with every fsync on, beside LangGraph with its SQLite saver, which is as durable.
`--against` compares asks without tools with another commit of this repository.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import podium
from benchmarks.common import OUT, ROOT
from benchmarks.environments import LANGCHAIN, environment, python_of
from benchmarks.proof import Bars
from benchmarks.turns_subjects import pages
from benchmarks.turns_subjects import turns as subject

TURNS = 100
US = 1e6
ASKS = 5
"""How often asks are measured in a round: they are compared more closely."""
MEMORY = Path("/dev/shm")
IN_MEMORY = {
    "turns": "Podium, one agent", "at_once": "Podium, ten agents at once", "two_commits": "two bare commits",
    "pydantic_ai": "Pydantic AI Agent, keeps nothing", "langchain": "LangChain create_agent, keeps nothing",
    "langchain_durable": "LangChain create_agent, SQLite saver", "asks": "Podium, plain asks",
    "asks_before": "Podium, plain asks, other commit",
}  # fmt: skip
ON_DISK = ("turns", "two_commits", "langchain_durable")


class Worker:
    """A subject in its own process."""

    def __init__(
        self, name: str, folder: Path, *, python: Path | None = None, source: Path | None = None
    ) -> None:
        (folder / name).mkdir()
        paths = [str(ROOT)] if source is None else [str(source / "src"), str(ROOT)]
        command = [
            str(python or sys.executable),
            "-m",
            "benchmarks.turns_worker",
            name.removesuffix("_before"),
        ]
        self._process = subprocess.Popen(
            [*command, str(folder / name)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        )
        self.name = name
        self.cpu: list[float] = []
        """Seconds per turn, by round."""
        self.wall: list[float] = []
        self.version = self._answer()["version"]

    def measure(self, turns: int) -> None:
        assert self._process.stdin is not None
        print(turns, file=self._process.stdin, flush=True)
        answer = self._answer()
        self.cpu.append(answer["cpu"])
        self.wall.append(answer["wall"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} ended with {self._process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


class Measured(NamedTuple):
    """All subjects with a store in memory, and some on disk."""

    memory: dict[str, Worker]
    disk: dict[str, Worker]


def measure(rounds: int, memory: Path, disk: Path, before: Path | None) -> Measured:
    """Measure all subjects, in another order each round."""
    peers = python_of(environment("venv-agents", *LANGCHAIN))

    def worker(name: str, folder: Path) -> Worker:
        other = before if name == "asks_before" else None
        return Worker(name, folder, python=peers if "langchain" in name else None, source=other)

    names = [name for name in IN_MEMORY if name != "asks_before" or before is not None]
    found = Measured(
        {name: worker(name, memory) for name in names}, {name: worker(name, disk) for name in ON_DISK}
    )
    workers = [*found.memory.values(), *found.disk.values()]
    order = workers + [each for name, each in found.memory.items() if "asks" in name] * (ASKS - 1)
    for number in range(rounds):
        for each in random.Random(number).sample(order, len(order)):
            each.measure(TURNS)
    for each in workers:
        each.close()
    return found


def ratio(above: list[float], below: list[float]) -> float:
    return median(a / b for a, b in zip(above, below, strict=True))


async def growth(folder: Path, bars: Bars) -> None:
    """Check that log and time grow with the turns, and how fast 100 turns are replayed."""
    sizes, seconds = dict[int, int](), defaultdict[int, list[float]](list)
    async with subject.opened(folder):
        run = ""
        for _ in range(5):
            for n in (50, 100, 200, 400):
                began = time.process_time()
                run = await subject.turns(n)
                seconds[n].append(time.process_time() - began)
                sizes[n] = sum(len(row.data) for row in await subject.store.read(run))
        run = await subject.turns(TURNS)
        took: list[float] = []
        for _ in range(5):
            began = time.perf_counter()
            replayed = await podium.replay(run, workflow=pages, store=subject.store)
            took.append(time.perf_counter() - began)
            assert replayed.status == "completed"
    for n in sizes:
        print(f"{n:4} turns: log {sizes[n] / 1000:7.1f} kB, {sizes[n] / n:6.0f} bytes and ", end="")
        print(f"{min(seconds[n]) / n * US:5.0f} µs CPU per turn")
    bars.at_most("log of 400 turns beside 4 × that of 100", sizes[400] / (4 * sizes[100]), 1.02, " ×")
    bars.at_most(
        "CPU of 400 turns beside 8 × that of 50", min(seconds[400]) / (8 * min(seconds[50])), 1.3, " ×"
    )
    bars.at_most("replay of 100 turns", min(took), 0.1, " s")


def report(found: Measured, bars: Bars) -> None:
    memory, disk = found
    print(f"\n{'CPU per turn with one call':40}{'version':>10}{'least':>10}{'median':>10}{'× Podium':>10}")
    for name, worker in memory.items():
        line = f"{IN_MEMORY[name]:40}{worker.version:>10}{min(worker.cpu) * US:>7.0f} µs"
        beside = median(worker.cpu) / median(memory["turns"].cpu)
        print(f"{line}{median(worker.cpu) * US:>7.0f} µs{beside:>10.2f}")
    print(f"\n{'wall time on disk':40}{'':20}{'median':>10}{'× Podium':>10}")
    for name, worker in disk.items():
        line = f"{IN_MEMORY[name]:60}{median(worker.wall) * US:>7.0f} µs"
        print(f"{line}{ratio(worker.wall, disk['turns'].wall):>10.2f}")
    own = min(memory["turns"].cpu) - min(memory["two_commits"].cpu)  # other programs only add
    bars.at_most("CPU of a turn beyond two bare commits", own * US, 250, " µs")
    bars.at_most("CPU of a turn, ten agents at once", min(memory["at_once"].cpu) * US, 300, " µs")
    for peer in ("pydantic_ai", "langchain", "langchain_durable"):
        bars.at_most(f"CPU beside {IN_MEMORY[peer]}", ratio(memory["turns"].cpu, memory[peer].cpu), 0.5, " ×")
    durable = ratio(disk["turns"].wall, disk["langchain_durable"].wall)
    bars.at_most("wall time beside LangGraph's SQLite saver", durable, 0.5, " ×")
    if "asks_before" in memory:
        slower = min(memory["asks"].cpu) / min(memory["asks_before"].cpu)
        bars.at_most("CPU of a plain ask beside the other commit", slower, 1.05, " ×")


def checkout(ref: str) -> Path:
    """Return a folder with another commit of this repository."""
    folder = OUT / "before" / subprocess.check_output(["git", "rev-parse", ref], cwd=ROOT, text=True).strip()
    if not folder.exists():
        folder.mkdir(parents=True)
        archive = subprocess.run(["git", "archive", ref, "src"], cwd=ROOT, check=True, capture_output=True)
        subprocess.run(["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--against", default="")
    given = parser.parse_args()
    bars = Bars()
    fast = MEMORY if MEMORY.is_dir() else None
    with TemporaryDirectory() as disk, TemporaryDirectory(dir=fast) as memory:
        asyncio.run(growth(Path(memory), bars))
        before = checkout(given.against) if given.against else None
        report(measure(given.rounds, Path(memory), Path(disk), before), bars)
    sys.exit(bars.missed)


if __name__ == "__main__":
    main()
