"""Engine port, shared-store protocol, open_engine.

An engine carries run ids. It gives each to one worker at a time, hears that the worker lives, and gives the
run to another when it does not. Everything else is in the log: taking a run up means replaying it, and a
worker that was wrongly thought dead is refused by the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol, cast

import msgspec

from podium.engine.log import RunRow, Store
from podium.errors import UsageError
from podium.stores import is_postgres


class Ticket(NamedTuple):
    """A run that is to be driven."""

    run_id: str
    workflow: str
    """Its name: a worker may be there for some workflows only."""


class Load(NamedTuple):
    """What an engine carries now; an autoscaler wants to know it."""

    waiting: int
    """Runs that could be driven at once, if there were a place."""
    driven: int


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is started again and again."""

    name: str
    cron: str
    """Five fields, in UTC."""
    workflow: str
    """The name of what it starts: its runs, too, are for workers that are there for it."""
    start: dict[str, Any]
    """What a run is started with; see `podium.cluster.schedules`."""
    created_at: float
    """Seconds since 1970: moments before it are nobody's."""


Drive = Callable[[str], Awaitable[float | None]]
"""Drives one stretch of a run. Returns the moment (seconds since 1970) at which the run wants to be driven
again, one that has passed meaning at once; `None`: not before somebody submits it. It never raises for what
a run does; when it is cancelled it leaves the run so that it can be taken up, by whoever wants to; cancelled
with the message `LOST`, so that others go on with it by themselves."""
LOST = "the engine was not heard of"
"""Why a worker stops driving when it was not told to."""

Fire = Callable[[Schedule, int], Awaitable[None]]
"""Starts the run of a schedule for one of its moments. Called again for the same moment, it does nothing."""


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How a worker works."""

    drive: Drive
    fire: Fire
    concurrency: int
    """Most runs at once."""
    workflows: Sequence[str] = ()
    """Only these; empty: all."""
    stop: asyncio.Event
    """When it is set: take nothing new, wait for what is driven, hand back what wants to be, return."""
    ready: Callable[[], None]
    """Called when the worker can be given runs."""


class Engine(Protocol):
    """Carries runs to workers."""

    async def submit(self, tickets: Sequence[Ticket], *, at: float | None = None) -> None:
        """Have runs driven, as soon as a worker has a place, or not before `at`. Durable when this returns. A
        run that waits for its turn already keeps its place; one that is driven just now is driven again
        afterwards."""
        ...

    async def forget(self, run_id: str) -> None:
        """Do not drive a run whose turn has not come. One that is driven is told by its inbox."""
        ...

    async def carried(self, run_ids: Collection[str]) -> set[str]:
        """Those among the runs that wait for their turn or are driven."""
        ...

    async def load(self, workflows: Sequence[str] = ()) -> Load:
        """How much there is to do."""
        ...

    async def work(self, crew: WorkerConfig) -> None:
        """Be a worker until `crew.stop` is set: take runs, drive them, say all the while that it lives."""
        ...

    async def add_schedule(self, schedule: Schedule) -> None:
        """Fire a schedule at its moments, once each, however many workers there are."""
        ...

    async def schedules(self) -> list[Schedule]: ...

    async def remove_schedule(self, name: str) -> bool:
        """Whether there was one."""
        ...

    async def close(self) -> None: ...


class SharedStore(Store, Protocol):
    """A store that many machines use."""

    async def list_unattended(
        self, stop_reason: str, *, limit: int, owner: str | None = None, after: str = ""
    ) -> list[RunRow]:
        """Runs that want to be driven and that nobody drives, the oldest first: `queued` ones, those whose
        driver is gone, those paused for `stop_reason`, those that have got an answer. Of an owner whose runs
        are limited, not more than there is room for. `after` is the run at which the page before ended."""
        ...

    async def claim_sweep(self, seconds: float) -> bool:
        """Whether nobody has looked for such runs for so long; then it is the caller's turn."""
        ...

    async def count_open(self, owner: str | None) -> tuple[int, int]:
        """How many runs of an owner (`None`: of all) are driven, and how many wait for their turn."""
        ...

    async def set_limit(self, owner: str, max_runs: int) -> None:
        """How many runs of an owner may be driven at once, on all machines together."""
        ...

    async def take_place(self, run_id: str, owner: str) -> bool:
        """Whether there is room for one more run of this owner; then it has the place until `leave_place`, or
        until this process is gone."""
        ...

    async def leave_place(self, run_id: str) -> None: ...


def shared(store: Store) -> SharedStore:
    """The store as one for many machines; `UsageError` if it is none."""
    if not is_postgres(store.url):
        raise UsageError(
            "Workers on several machines need a store that all of them reach.",
            hint="Name it with --store postgresql://HOST/DATABASE.",
        )
    return cast("SharedStore", cast("Any", store))


PROCRASTINATE = "procrastinate"
QUEUED = ("", PROCRASTINATE)
"""The names of the engine that keeps its queue in the store."""
TEMPORAL = "temporal://"
LOCAL = "local"
"""No engine: a server drives its runs itself, whatever its store is."""


async def open_engine(name: str, store: str, *, patience_s: float = 30.0) -> Engine:
    """The engine `name` (empty: the usual one) for a store. `patience_s`: how long a database that is away is
    waited for."""
    if name not in QUEUED and not name.startswith(TEMPORAL):
        raise UsageError(
            f"There is no engine {name}.", hint=f"Known: {PROCRASTINATE}, {TEMPORAL}HOST:PORT/NAMESPACE."
        )
    if not is_postgres(store):
        raise UsageError(
            "Workers on several machines need a store that all of them reach.",
            hint="Name it with --store postgresql://HOST/DATABASE.",
        )
    if find_spec("procrastinate") is None:
        raise UsageError(
            "Running on many machines needs an extra that is not installed.",
            hint="Install it with: pip install 'podium[cluster]'.",
        )
    if name.startswith(TEMPORAL):
        return await _open_temporal(name, store)
    from podium.cluster.procrastinate.engine import ProcrastinateEngine  # noqa: PLC0415 - slow to import

    return await ProcrastinateEngine.open(store, patience_s=patience_s)


async def _open_temporal(name: str, store: str) -> Engine:
    if find_spec("temporalio") is None:
        raise UsageError(
            "Temporal needs an extra that is not installed.",
            hint="Install it with: pip install 'podium[temporal]'.",
        )
    from podium.cluster.temporal.engine import TemporalEngine  # noqa: PLC0415 - slow to import

    return await TemporalEngine.open(name, store)
