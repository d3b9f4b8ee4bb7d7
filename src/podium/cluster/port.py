"""Engine protocol, shared-store protocol, and `open_engine`.

An engine carries run ids. It gives each to one worker at a time, receives the worker's heartbeats, and gives
the run to another worker when they stop. Everything else is in the log: continuing a run means replaying it,
and the store rejects the writes of a worker that was wrongly considered dead.
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
    """A run to be driven."""

    run_id: str
    workflow: str
    """Name of the workflow: a worker may be restricted to some workflows."""


class Load(NamedTuple):
    """Current load of an engine, for autoscalers."""

    waiting: int
    """Runs that could be driven now if a worker had a free slot."""
    driven: int


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is started periodically."""

    name: str
    cron: str
    """Cron expression of five fields, in UTC."""
    workflow: str
    """Name of the workflow that it starts. Only workers that accept this workflow drive its runs."""
    start: dict[str, Any]
    """Arguments of the runs; see `podium.cluster.fleet.Start`."""
    created_at: float
    """Seconds since 1970. The schedule does not fire for moments before it."""


Drive = Callable[[str], Awaitable[float | None]]
"""Drives a run until it ends, pauses or waits.

Returns the time (seconds since 1970) at which the run has to be driven again, a past time meaning
immediately; None: not until it is submitted again. It never raises for errors of the run. When cancelled, it
leaves the run so that it can be resumed on request; cancelled with the message `LOST`, so that other workers
continue it on their own.
"""
LOST = "lost contact with the engine"
"""Cancellation message when a worker stops driving because it lost the engine."""

Fire = Callable[[Schedule, int], Awaitable[None]]
"""Starts the run of a schedule for one of its moments. A second call for the same moment does nothing."""


class WorkerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Configuration of a worker."""

    drive: Drive
    fire: Fire
    concurrency: int
    """Maximum number of concurrent runs."""
    workflows: Sequence[str] = ()
    """Workflows that the worker accepts. Empty: all."""
    stop: asyncio.Event
    """When set, the worker accepts no new runs, waits for those being driven, hands back those to be
    continued, and returns."""
    ready: Callable[[], None]
    """Called when the worker can accept runs."""


class Engine(Protocol):
    """Distributes runs to workers."""

    async def submit(self, tickets: Sequence[Ticket], *, at: float | None = None) -> None:
        """Have runs driven as soon as a worker has a free slot, or not before `at`. Durable when this
        returns. A run that is queued already keeps its place; one that is being driven is driven again
        afterwards."""
        ...

    async def forget(self, run_id: str) -> None:
        """Withdraw a run that is queued. A run that is being driven is notified through its inbox."""
        ...

    async def carried(self, run_ids: Collection[str]) -> set[str]:
        """Return those of the runs that are queued or being driven."""
        ...

    async def load(self, workflows: Sequence[str] = ()) -> Load:
        """Return the current load, of all workflows or of these."""
        ...

    async def work(self, config: WorkerConfig) -> None:
        """Work until `config.stop` is set: take runs, drive them and send heartbeats."""
        ...

    async def add_schedule(self, schedule: Schedule) -> None:
        """Fire a schedule at each of its moments exactly once, however many workers there are."""
        ...

    async def schedules(self) -> list[Schedule]: ...

    async def remove_schedule(self, name: str) -> bool:
        """Remove a schedule. Returns whether it existed."""
        ...

    async def close(self) -> None: ...


class SharedStore(Store, Protocol):
    """A store that many machines use."""

    async def list_unattended(
        self, stop_reason: str, *, limit: int, owner: str | None = None, after: str = ""
    ) -> list[RunRow]:
        """Return runs that should be driven but are not, the oldest first: `queued` runs, runs whose driver
        is gone, runs paused for `stop_reason`, and runs that have been answered. For an owner with a limit,
        not more than there are free slots. `after` is the last run of the previous page."""
        ...

    async def claim_sweep(self, seconds: float) -> bool:
        """Return whether no worker has swept for `seconds`; then the caller should."""
        ...

    async def count_open(self, owner: str | None) -> tuple[int, int]:
        """Return how many runs of an owner (None: of all) are being driven and how many are queued."""
        ...

    async def set_limit(self, owner: str, max_runs: int) -> None:
        """Set the maximum number of concurrent runs of an owner, on all machines together."""
        ...

    async def take_place(self, run_id: str, owner: str) -> bool:
        """Take a slot for one more run of this owner. Returns whether there was one. It is held until
        `leave_place`, or until this process is gone."""
        ...

    async def leave_place(self, run_id: str) -> None: ...


def shared(store: Store) -> SharedStore:
    """Return the store as a shared store. Raises `UsageError` if it is not one."""
    _require_postgres(store.url)
    return cast("SharedStore", cast("Any", store))


def _require_postgres(url: str) -> None:
    if not is_postgres(url):
        raise UsageError(
            "Workers on several machines need a store that all of them reach.",
            hint="Name it with --store postgresql://HOST/DATABASE.",
        )


PROCRASTINATE = "procrastinate"
QUEUED = ("", PROCRASTINATE)
"""Names of the engine that keeps its queue in the store."""
TEMPORAL = "temporal://"
LOCAL = "local"
"""No engine: a server drives its runs itself, whatever its store is."""


async def open_engine(name: str, store: str, *, patience_s: float = 30.0) -> Engine:
    """Open the engine `name` (empty: the default one) for a store. `patience_s`: seconds to wait for a
    database that is away."""
    if name not in QUEUED and not name.startswith(TEMPORAL):
        raise UsageError(
            f"There is no engine {name}.", hint=f"Known: {PROCRASTINATE}, {TEMPORAL}HOST:PORT/NAMESPACE."
        )
    _require_postgres(store)
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
