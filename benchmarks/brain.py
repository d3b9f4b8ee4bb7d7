"""What the brain costs a department: a search, the names, the contradictions of ten new facts.

`python -m benchmarks.brain [FACTS …]`; the goal is 50 ms for all three with 1,000 facts.
"""

from __future__ import annotations

import asyncio
import random
import statistics
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import podium
from podium.brain import Brain, Fact
from podium.brain.review import import_facts
from podium.settings import BrainOptions, Settings

GOAL_MS = 50.0
ROUNDS = 20
REQUEST = (
    "Write the scene in which Elena Marsh climbs the lighthouse at night, finds the letter that her father "
    "hid in the lamp room, and tells Tomas Reed on the radio what it says while the storm closes in."
)
_FIRST = ("Elena", "Tomas", "Marcus", "Ida", "Jonas", "Vera", "Oskar", "Nadia", "Felix", "Clara")
_LAST = ("Marsh", "Reed", "Stone", "Hale", "Winter", "Brook", "Fenn", "Gray", "Lowe", "Pike")
_TOLD = (
    ("eye colour", ("green", "blue", "brown", "grey")), ("age", ("34", "51", "19 years old", "about 60")),
    ("occupation", ("lighthouse keeper", "radio operator", "captain of the ferry", "teacher")),
    ("fears", ("deep water", "the dark stairs", "being forgotten")),
    ("personality", ("patient and dry", "quick to anger, quicker to forgive", "careful with words")),
    ("says", ("The lamp has to burn all night.", "Nobody crosses the strait in November.")),
)  # fmt: skip


class Costs(NamedTuple):
    """Milliseconds: the first time, when canon is read, and the median afterwards."""

    facts: int
    first: float
    search: float
    names: float
    contradictions: float

    @property
    def whole(self) -> float:
        return self.search + self.names + self.contradictions


def made_up(count: int) -> list[Fact]:
    """Facts about a hundred characters and some places, the same every time."""
    chance = random.Random(7)
    facts: list[Fact] = []
    for number in range(count):
        predicate, values = chance.choice(_TOLD)
        subject = f"{chance.choice(_FIRST)} {chance.choice(_LAST)}"
        facts.append(
            Fact(
                id=f"{number:012x}",
                subject=subject,
                predicate=predicate,
                value=chance.choice(values),
                kind="character",
                status="accepted",
                source_run="run-1",
                quote=f"{subject} stood at the window, and the light of the lamp passed over the harbour.",
            )
        )
    return facts


def new_facts() -> list[Fact]:
    return [
        Fact(subject=f"{first} {last}", predicate=predicate, value=value, kind="character")
        for first, last in zip(_FIRST, _LAST, strict=True)
        for predicate, value in (("eyes", "violet"),)
    ]


async def measure(count: int, folder: Path, embedding: str = "") -> Costs:
    """A store with so many facts; then what a department asks of it, again and again."""
    settings = Settings(brain=BrainOptions(embedding=embedding))
    async with podium.open_store(f"sqlite:///{folder}/brain-{count}.sqlite") as store:
        await import_facts(store, made_up(count), settings=settings, project="p")
        await (await Brain.open(store, "p", settings=settings)).embed()
        brain = await Brain.open(store, "p", settings=settings)
        asked: tuple[Callable[[], Awaitable[Any]], ...] = (
            lambda: brain.search(REQUEST),
            brain.names,
            lambda: brain.contradictions(new_facts()),
        )
        first = sum([await _timed(one) for one in asked])
        medians = [statistics.median([await _timed(one) for _ in range(ROUNDS)]) for one in asked]
    return Costs(count, first, *medians)


async def _timed(call: Callable[[], Awaitable[Any]]) -> float:
    begin = time.perf_counter()
    await call()
    return (time.perf_counter() - begin) * 1000


async def main(counts: list[int], embedding: str) -> None:
    print(f"{'facts':>8} {'first':>9} {'search':>9} {'names':>9} {'clashes':>9} {'together':>9}  (ms)")
    with TemporaryDirectory(prefix="podium-brain-") as folder:
        for count in counts:
            cost = await measure(count, Path(folder), embedding)
            figures = (cost.first, cost.search, cost.names, cost.contradictions, cost.whole)
            goal = ("met" if cost.first < GOAL_MS else "missed") if count == 1000 else ""
            print(f"{count:>8} {' '.join(f'{figure:>9.2f}' for figure in figures)}  {goal}")


if __name__ == "__main__":
    words = sys.argv[1:]
    model = next((word.partition("=")[2] for word in words if word.startswith("--embedding=")), "")
    sizes = [int(word) for word in words if word.isdecimal()]
    asyncio.run(main(sizes or [100, 1000, 10_000], model))
