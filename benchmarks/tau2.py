"""τ² (airline, retail) through the agent loop, undisturbed and with `kill -9`.

`python -m benchmarks.tau2 [SEED]` downloads `inspect-evals` once. A scripted model makes the golden calls of
each of the 164 tasks; afterwards the database must be the same as after a direct replay. Then with the
database in a file, as the outside world: each task that changes it is killed at a random event of its log,
while the event is queued or as soon as it is durable, and resumed.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from tests.engine.programs.kill_lab import KillingStore, drive

import podium
from benchmarks.proof import Bars
from benchmarks.tau2_data import OUTSIDE, Domain, FileDatabase, Memory, Task, load
from podium.models.messages import ToolCall
from podium.models.model import Call
from podium.settings import Settings

SETTINGS = Settings.load(cwd="/", env={})
CREATED = 2
"""Events that are written with the run itself, before it is driven."""
ENDED = ("completed", "failed", "partial")


class Play:
    """A task as a workflow with a scripted model."""

    def __init__(self, domain: Domain, task: Task, database: Memory | FileDatabase) -> None:
        self._actions = task.actions
        most = len(task.actions) + 2
        agent = podium.Agent("clerk", tools=domain.tools(database), max_turns=most, max_tool_calls=most)

        async def serve(run: podium.Run, request: str) -> str:
            return await run.ask(agent, "serve", prompt=request)

        self.workflow = podium.workflow(name="serve")(serve)

    async def model(self, call: Call) -> Any:
        done = sum(message.role == "assistant" for message in call.messages)
        if done == len(self._actions):
            return "done"
        name, arguments = self._actions[done]
        return [ToolCall(name, arguments)]


class Played(NamedTuple):
    """The end of a run."""

    status: str
    events: int
    failed: int
    """Tool calls that failed."""
    done: list[str]
    """Paths of the finished steps."""


async def seen(store: Any) -> Played:
    """Read the only run of a store."""
    rows = await store.list_runs()
    if not rows:
        return Played("none", 0, 0, [])
    events = await store.read(rows[0].run_id)
    done = [event for event in events if event.type == "step.completed"]
    failed = sum(b'"failed":true' in event.data for event in done)
    return Played(rows[0].status, len(events), failed, [event.path for event in done])


def undisturbed(domain: Domain, task: Task, store_path: str) -> tuple[str, Played]:
    """Play a task on a database in memory; return its hash."""
    database = Memory(domain)
    play = Play(domain, task, database)

    async def work() -> Played:
        async with podium.open_store(f"sqlite:///{store_path}") as store:
            await podium.run(play.workflow, task.id, model=play.model, store=store, settings=SETTINGS)
            return await seen(store)

    played = asyncio.run(work())
    return database.hash(), played


class Survived(NamedTuple):
    """A task that was killed and resumed."""

    status: str
    killed: bool
    hash: str
    applied: int
    repeated: int
    """Finished calls that were executed again."""
    in_flight: int
    """Calls in flight at the kill that were executed again, with the same id."""


def killed(domain: Domain, task: Task, stem: Path, at: int, durable: bool) -> Survived:
    """Play a task on a database in a file, kill it at an event, and resume it."""
    database, store_path = FileDatabase(domain, stem.with_suffix(".db")), f"{stem}.sqlite"
    play = Play(domain, task, database)
    was_killed = repeated = 0
    played = Played("none", 0, 0, [])
    while played.status not in ENDED:

        async def work(ready: Any, first: bool = not was_killed, begun: bool = bool(played.events)) -> None:
            ready()
            store = await KillingStore.open(store_path)
            assert isinstance(store, KillingStore)
            store.countdown, store.durable = at if first else 0, durable
            if begun:
                [row] = await store.list_runs()
                handle = await podium.resume(
                    row.run_id, workflow=play.workflow, model=play.model, store=store, settings=SETTINGS
                )
            else:
                handle = await podium.start(
                    play.workflow, task.id, model=play.model, store=store, settings=SETTINGS
                )
            await handle.result()
            await store.close()

        before = len(database.journal.read_text().splitlines())
        was_killed |= drive(work)
        executed = [line.split()[0] for line in database.journal.read_text().splitlines()[before:]]
        repeated += len(set(executed) & set(played.done))
        played = asyncio.run(_look(store_path))
    calls = database.journal.read_text().splitlines()
    return Survived(
        played.status,
        bool(was_killed),
        database.hash(),
        database.applied(),
        repeated,
        len(calls) - len(set(calls)),
    )


async def _look(store_path: str) -> Played:
    async with podium.open_store(f"sqlite:///{store_path}") as store:
        return await seen(store)


def prove(seed: int, folder: Path, bars: Bars) -> None:
    domains = load()
    rng = random.Random(seed)
    counts: Counter[str] = Counter()
    began = time.monotonic()
    for domain in domains.values():
        untouched = domain.opened(domain.initial).db.get_hash()
        for number, task in enumerate(domain.tasks):
            wanted = domain.replayed(task)
            found, played = undisturbed(domain, task, str(folder / f"{domain.name}{number}.sqlite"))
            counts["tasks"] += 1
            counts["calls"] += len(task.actions)
            counts["failed calls"] += played.failed
            counts["equal"] += found == wanted and played.status == "completed"
            if wanted == untouched:
                continue
            at, durable = rng.randint(1, played.events - CREATED), rng.random() < 0.5
            survived = killed(domain, task, folder / f"{domain.name}{number}k", at, durable)
            counts["changing"] += 1
            counts["killed"] += survived.killed
            counts["equal after kill"] += survived.hash == wanted and survived.status == "completed"
            counts["applied once"] += survived.applied == sum(name not in OUTSIDE for name, _ in task.actions)
            counts["repeated"] += survived.repeated
            counts["in flight"] += survived.in_flight
            if survived.hash != wanted:
                print(f"{task.id}: killed at event {at}, durable {durable}: another state", flush=True)
    print(f"{counts['calls']} golden calls, {counts['failed calls']} of them fail by design, seed {seed}")
    bars.check("tasks with the state of a direct replay", counts["equal"], 164)
    bars.check("tasks that change the state, killed at a random event", counts["killed"], 133)
    bars.check("of them with the same state after a resume", counts["equal after kill"], 133)
    bars.check("of them with each call applied once", counts["applied once"], 133)
    bars.check("finished calls that were executed again", counts["repeated"], 0)
    print(f"calls in flight at the kill, executed again with the same id: {counts['in flight']}")
    print(f"{time.monotonic() - began:.0f} s")


def main() -> None:
    bars = Bars()
    with TemporaryDirectory() as folder:
        prove(int(sys.argv[1]) if len(sys.argv) > 1 else 1, Path(folder), bars)
    sys.exit(bars.missed)


if __name__ == "__main__":
    main()
