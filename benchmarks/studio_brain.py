"""What a brain costs inside a real run of a studio: every question that the run asks it, each run in a
process of its own, as `podium run` is.

`python -m benchmarks.studio_brain [FACTS …]`; the goal is 50 ms per department with 1,000 facts, with and
without vectors of 1,536 numbers. Three departments work, and every text contradicts canon ten times, so both
rounds of validation are needed. The best of five runs is shown, and how much of it the processor worked: on
a machine that does other work the rest is waiting for a turn.
"""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import podium
from benchmarks.brain import GOAL_MS, REQUEST, made_up, new_facts
from podium.agents.ask import Run
from podium.brain import Brain
from podium.brain.review import import_facts
from podium.engine.events import Charge
from podium.settings import BrainOptions, Settings
from podium.workflows.studio.context import CanonPort, Denial, NewFact, Recalled
from podium.workflows.studio.flow import studio_with
from podium.workflows.studio.memory import open_brain

T = TypeVar("T")

ROUNDS = 5
DEPARTMENTS = "story,character,audio"
PROJECT = "lighthouse"
NUMBERS = 1536
ASKED = ("names", "recall", "contradictions", "propose", "cpu")
CPU = "cpu"
"""What of it the processor worked."""
EMBEDDING = f"python:{__file__}:embed"


def embed(texts: list[str]) -> list[list[float]]:
    """Vectors that mean nothing, as long as real ones."""
    chances = [random.Random(text) for text in texts]
    return [[chance.random() - 0.5 for _ in range(NUMBERS)] for chance in chances]


class Timed:
    """A project's memory, and how long it took to answer."""

    def __init__(self, canon: CanonPort, took: dict[str, list[float]]) -> None:
        self._canon = canon
        self._took = took

    async def _timed(self, name: str, answer: Awaitable[T]) -> T:
        begin, worked = time.perf_counter(), time.thread_time()
        found = await answer
        self._took.setdefault(name, []).append((time.perf_counter() - begin) * 1000)
        self._took.setdefault(CPU, []).append((time.thread_time() - worked) * 1000)
        return found

    async def names(self) -> list[str]:
        return await self._timed("names", self._canon.names())

    def recall_cost(self, text: str) -> Charge | None:
        return self._canon.recall_cost(text)

    async def recall(self, text: str, limit: int) -> Recalled:
        return await self._timed("recall", self._canon.recall(text, limit))

    async def contradictions(self, facts: Sequence[NewFact]) -> list[Denial]:
        return await self._timed("contradictions", self._canon.contradictions(facts))

    async def propose(self, run_id: str, facts: Sequence[NewFact]) -> int:
        return await self._timed("propose", self._canon.propose(run_id, facts))

    async def close(self) -> None:
        await self._canon.close()


async def _answer(call: podium.Call) -> Any:
    """Heads who write at once, and ten facts of each text, all of which contradict canon."""
    if call.task == "extract_facts":
        facts = [
            {"subject": one.subject, "predicate": one.predicate, "value": one.value, "kind": one.kind}
            for one in new_facts()
        ]
        return {"facts": facts}
    if call.task == "validate":
        return {"conflicts": []}
    return {"yields": False, "reason": "no"} if call.task == "resolve" else f"{call.task} by {call.agent}"


async def once(store_url: str, embedding: str) -> dict[str, list[float]]:
    """One run over a store that is there; milliseconds of each question, by its name."""
    took: dict[str, list[float]] = {}

    async def open_timed(run: Run, project: str) -> CanonPort:
        return Timed(await open_brain(run, project), took)

    settings = Settings(brain=BrainOptions(embedding=embedding))
    options: dict[str, Any] = {
        "project": PROJECT,
        "departments": DEPARTMENTS,
        "specialists": "never",
        "floor": False,
        "editor": False,
    }
    async with podium.open_store(store_url) as store:
        found = await podium.run(
            studio_with(open_timed), REQUEST, model=_answer, store=store, settings=settings, options=options
        )
    if found.status != "completed":
        raise AssertionError(f"the run is {found.status}: {found.error}")
    return took


def run_of(took: dict[str, list[float]]) -> float:
    """All that a run waited for its brain, in milliseconds."""
    return sum(sum(times) for name, times in took.items() if name != CPU)


async def fill(count: int, store_url: str, embedding: str) -> None:
    settings = Settings(brain=BrainOptions(embedding=embedding))
    async with podium.open_store(store_url) as store:
        await import_facts(store, made_up(count), settings=settings, project=PROJECT)
        await (await Brain.open(store, PROJECT, settings=settings)).embed()


def report(count: int, embedding: str, folder: Path) -> None:
    url = f"sqlite:///{folder}/brain-{count}-{bool(embedding)}.sqlite"
    asyncio.run(fill(count, url, embedding))
    command = [sys.executable, "-m", "benchmarks.studio_brain", "--once", url, embedding]
    runs: list[dict[str, list[float]]] = [
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        for _ in range(ROUNDS)
    ]
    wholes = sorted(map(run_of, runs))
    parts = [min(sum(run[name]) for run in runs) for name in ASKED]
    each = wholes[0] / len(DEPARTMENTS.split(","))
    goal = ("met" if each < GOAL_MS else "missed") if count == 1000 else ""
    figures = " ".join(f"{part:>14.1f}" for part in (*parts, wholes[0], each))
    print(f"{count:>8} {'yes' if embedding else 'no':>8} {figures}  {goal}")


def main(counts: list[int]) -> None:
    names = (*ASKED, "run", "per department")
    print(f"{'facts':>8} {'vectors':>8} {' '.join(f'{name:>14}' for name in names)}  (ms)")
    with TemporaryDirectory(prefix="podium-studio-brain-") as folder:
        for count in counts:
            for embedding in ("", EMBEDDING):
                report(count, embedding, Path(folder))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--once"]:
        print(json.dumps(asyncio.run(once(sys.argv[2], sys.argv[3]))))
    else:
        main([int(word) for word in sys.argv[1:]] or [100, 1000, 10_000])
