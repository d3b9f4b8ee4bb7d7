"""What a question over HTTP costs, way by way, in rounds in which each has its turn. Prints one JSON line."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import time
from contextlib import AsyncExitStack
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path

from benchmarks.bare import Asker
from benchmarks.common import FULL, QUICK, Sizes
from benchmarks.provider import calls_at

ASKERS = {
    "http": "bare",
    "adapter": "askers",
    "ask": "askers",
    "pydantic_ai": "askers",
    "langchain": "langchain_",
}
"""Where each is declared; imported by name, because one has its own dependencies."""


@dataclass
class Asked:
    """Seconds of wall time per round, by asker."""

    one: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Of a single question, among `Sizes.questions` that follow each other."""
    many: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    """Of `Sizes.fanout` questions at once."""
    versions: dict[str, str] = field(default_factory=dict[str, str])


def load(name: str) -> Asker:
    asker: Asker = getattr(import_module(f"benchmarks.{ASKERS[name]}"), name)
    return asker


async def timed(asker: Asker, workload: str, n: int, address: str) -> float:
    """Seconds, after checking that each question was exactly one request."""
    before = calls_at(address)
    gc.collect()
    start = time.perf_counter()
    await (asker.chain(n) if workload == "chain" else asker.fanout(n))
    wall = time.perf_counter() - start
    if calls_at(address) - before != n:
        raise AssertionError(f"{calls_at(address) - before} requests instead of {n}")
    return wall


async def measure(names: list[str], address: str, folder: Path, sizes: Sizes) -> Asked:
    askers = {name: load(name) for name in names}
    found = Asked({name: [] for name in names}, {name: [] for name in names})
    async with AsyncExitStack() as stack:
        for name, asker in askers.items():
            found.versions[name] = asker.version
            await stack.enter_async_context(asker.opened(address, folder))
            await asker.chain(3)
        for _ in range(sizes.repetitions):  # before the others: a client with many connections is slower
            for name, asker in askers.items():
                chain = await timed(asker, "chain", sizes.questions, address)
                found.one[name].append(chain / sizes.questions)
        for _ in range(sizes.repetitions):
            for name, asker in askers.items():
                found.many[name].append(await timed(asker, "fanout", sizes.fanout, address))
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("askers", help="names, with commas")
    parser.add_argument("address")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    sizes = QUICK if given.quick else FULL
    work = measure(given.askers.split(","), given.address, given.folder, sizes)
    print(json.dumps(asdict(asyncio.run(work))), flush=True)


if __name__ == "__main__":
    main()
