"""What every measured subject shares: sizes, the fake model, the interface. Standard library only,
because a peer imports it in a virtual environment of its own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

ROOT = Path(__file__).parents[1]
OUT = ROOT / ".bench"
"""Results, temporary stores and the peers' virtual environments; ignored by git."""

JOURNAL = "BENCH_JOURNAL"
"""Environment variable that names the journal of a process that is killed or resumed."""

POSTGRES = "BENCH_POSTGRES"
"""Environment variable that names the database of a subject that needs one."""

WORKLOADS = ("chain", "fanout", "tree", "many")
REPLY = json.dumps(
    {"verdict": "fine", "text": "an answer of ordinary size", "score": 0.9, "notes": "n" * 120}
)


@dataclass(frozen=True)
class Sizes:
    """How large the workloads are."""

    chain: int = 200
    fanout: int = 200
    depth: int = 4
    branching: int = 6
    cap: int = 64
    """Calls at once in the tree."""
    runs: int = 500
    steps: int = 10
    """Per run, when many run at once."""
    long: int = 10_000
    """Steps of the long run that is killed and resumed."""
    readers: int = 20
    idle: int = 500
    questions: int = 50
    """Asked over HTTP one after the other."""
    repetitions: int = 7

    def calls(self, workload: str) -> int:
        """How often the model must have been called, exactly."""
        leaves = self.branching**self.depth
        inner = sum(self.branching**level for level in range(self.depth))
        return {
            "chain": self.chain,
            "fanout": self.fanout + 2,
            "tree": 2 * inner + leaves,
            "many": self.runs * self.steps,
        }[workload]

    def ideal(self, workload: str, latency: float) -> float:
        """The shortest time that the model's latency alone allows."""
        waves = {"chain": self.chain, "fanout": 3, "tree": 2 * self.depth + 1, "many": self.steps}[workload]
        capped = self.calls("tree") / self.cap if workload == "tree" else 0
        return latency * max(waves, capped)


FULL = Sizes()
QUICK = Sizes(
    chain=40,
    fanout=40,
    depth=2,
    branching=4,
    runs=20,
    long=400,
    readers=4,
    idle=40,
    questions=10,
    repetitions=2,
)


class FakeModel:
    """Answers every call with the same text after `latency`, counts, and can kill its own process."""

    def __init__(self) -> None:
        self.latency = 0.0
        self.calls = 0
        self.slots: asyncio.Semaphore | None = None
        self.journal = os.environ.get(JOURNAL, "")
        """A file that gets the tag and the moment of every finished call: what was really paid for."""
        self.outside: Callable[[str], Awaitable[str]] | None = None
        """Another harness's fake model, which then answers instead."""
        self.kill_at = ""
        """Tag of the call at whose beginning the process dies, as by `kill -9`."""

    async def answer(self, tag: str) -> str:
        if self.outside is not None:
            return await self.outside(tag)
        if self.slots is None:
            return await self._answer(tag)
        async with self.slots:
            return await self._answer(tag)

    async def _answer(self, tag: str) -> str:
        if tag == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        began = time.time() if self.journal else 0.0
        await asyncio.sleep(self.latency)
        self.calls += 1
        if self.journal:
            self._record(tag, began)
        return REPLY

    def _record(self, tag: str, began: float) -> None:
        with open(self.journal, "a", encoding="utf-8") as journal:
            journal.write(f"{tag} {began!r}\n")


MODEL = FakeModel()


class Subject(Protocol):
    """Something that can do the workloads. A call is one `MODEL.answer`."""

    version: str

    def opened(self, folder: Path) -> AbstractAsyncContextManager[None]:
        """Set it up on a store in `folder`."""
        ...

    async def chain(self, run: str, n: int) -> None: ...
    async def fanout(self, run: str, n: int) -> None: ...
    async def tree(self, run: str, depth: int, branching: int) -> None: ...
    async def many(self, run: str, runs: int, steps: int) -> None: ...
    async def resume(self, run: str, n: int) -> None:
        """Go on with a chain whose process was killed."""
        ...


async def perform(subject: Subject, workload: str, run: str, sizes: Sizes) -> None:
    """One repetition of a workload."""
    match workload:
        case "chain":
            await subject.chain(run, sizes.chain)
        case "fanout":
            await subject.fanout(run, sizes.fanout)
        case "tree":
            MODEL.slots = asyncio.Semaphore(sizes.cap)
            await subject.tree(run, sizes.depth, sizes.branching)
        case "many":
            await subject.many(run, sizes.runs, sizes.steps)
        case _:
            raise ValueError(workload)
