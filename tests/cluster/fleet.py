"""A fleet for tests: real `podium worker` processes on a real PostgreSQL, and what is asked of them."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from temporalio.api.enums.v1 import EventType

import podium
from podium.api import enqueue
from podium.api.control import MARKS
from podium.cluster.fleet import Fleet
from podium.cluster.port import TEMPORAL, Engine, open_engine
from podium.engine.events import TERMINAL
from podium.engine.log import Row, RunRow, Store
from podium.settings import Settings
from podium.stores import open_store
from tests import warm
from tests.cluster import temporal

FLOWS = Path(__file__).parent / "programs" / "flows.py"
PATIENCE_S = 60.0
"""What does not come within so long does not come."""


class Machine:
    """A `podium worker` in a process of its own."""

    def __init__(self, process: warm.Process) -> None:
        self.process = process
        self.lines: list[str] = []
        self._heard = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        return self.process.pid

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            async with self._heard:
                self.lines.append(line.decode().rstrip())
                self._heard.notify_all()
        async with self._heard:
            self._heard.notify_all()

    async def said(self, text: str) -> str:
        """The first line with `text` in it, as soon as there is one."""
        async with asyncio.timeout(PATIENCE_S), self._heard:
            while True:
                for line in self.lines:
                    if text in line:
                        return line
                assert self.process.returncode is None, f"it ended without {text!r}: {self.lines}"
                await self._heard.wait()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def kill(self) -> None:
        """`kill -9`; returns when it is dead."""
        if self.process.returncode is None:
            self.process.kill()
        await self.end()

    async def end(self) -> int:
        try:
            async with asyncio.timeout(PATIENCE_S):
                code = await self.process.wait()
                await self._reading
        except TimeoutError as error:
            error.add_note(f"It said: {self.lines}")
            raise
        return code


class Lab:
    """A store, its engine, and machines that come and go."""

    def __init__(self, url: str, folder: Path, store: Store, engine: Engine, name: str = "") -> None:
        self.url = url
        self.name = name
        """Of the engine."""
        self.words = ("--engine", name) if name else ()
        self.store = store
        self.engine = engine
        self.settings = Settings.load(store=url)
        self.fleet = Fleet(store, self.settings, engine)
        self.notes = folder / "notes"
        self.folder = folder
        self.machines: list[Machine] = []

    async def machine(self, *words: str, **env: str) -> Machine:
        """A new worker, which is ready."""
        source = str(Path(podium.__file__).parents[1])
        process = await warm.spawn(
            sys.executable,
            "-m",
            "podium",
            "worker",
            "--store",
            self.url,
            *self.words,
            *words,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": source, "FLEET_NOTES": str(self.notes), **env},
        )
        made = Machine(process)
        self.machines.append(made)
        await made.said("Worker started")
        return made

    async def start(self, workflow: str, request: Any = "go", **options: Any) -> RunRow:
        """Accept a run, as a server does."""
        row = await enqueue(
            f"{FLOWS}:{workflow}",
            request,
            store=self.store,
            settings=self.settings,
            model="rehearsal",
            marks={**MARKS, **options.pop("marks", {})},
            **options,
        )
        await self.fleet.accept(row)
        return row

    async def carries(self, waiting: int, driven: int) -> None:
        """Wait until the engine says that it does: some engines count a moment later."""
        async with asyncio.timeout(PATIENCE_S):
            while await self.engine.load() != (waiting, driven):  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.05)

    async def losses(self, run_id: str) -> int:
        """How often the engine took a run from a worker that was lost, and wants it driven by another."""
        if self.name.startswith("temporal://"):
            scheduled = EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED
            return await temporal.happened(self.name, f"podium/{run_id}", scheduled) - 1
        sentence = f"Taking {run_id} from"
        return sum(sentence in line for machine in self.machines for line in machine.lines)

    async def event(self, run_id: str, wanted: Callable[[Row], bool] | str) -> Row:
        """The first row of a log that is wanted, as soon as it is there."""
        matches: Callable[[Row], bool] = (
            (lambda row: row.type == wanted) if isinstance(wanted, str) else wanted
        )
        async with asyncio.timeout(PATIENCE_S):
            async for row in self.store.tail(run_id):
                if matches(row):
                    return row
        raise AssertionError("the store was closed")

    async def over(self, run_id: str, status: str = "completed") -> list[Row]:
        """The whole log of a run that has ended as `status`."""
        last = await self.event(run_id, lambda row: row.type in TERMINAL)
        assert last.type == f"run.{status}", last
        return await self.store.read(run_id)

    def paid(self) -> dict[tuple[str, str], list[str]]:
        """Tokens of the calls that each step made, in their order."""
        calls: dict[tuple[str, str], list[str]] = defaultdict(list)
        for line in self.noted("paid"):
            run_id, step, token, _ = line
            calls[run_id, step].append(token)
        return calls

    def noted(self, kind: str) -> list[list[str]]:
        """What steps told in the file, by the first word."""
        lines = self.notes.read_text(encoding="utf-8").splitlines() if self.notes.exists() else []
        return [line.split()[1:] for line in lines if line.split()[0] == kind]


def every_second(fleet: Lab) -> str:
    """Both engines know seconds beside the five fields of everybody, each at a place of its own."""
    return "* * * * * * *" if fleet.name.startswith(TEMPORAL) else "* * * * * */1"


@asynccontextmanager
async def lab(url: str, folder: Path, name: str = "") -> AsyncGenerator[Lab]:
    """Nothing of it outlives the block."""
    async with open_store(url) as store:
        engine = await open_engine(name, url)
        made = Lab(url, folder, store, engine, name)
        try:
            yield made
        finally:
            for machine in made.machines:
                await machine.kill()
            await engine.close()
