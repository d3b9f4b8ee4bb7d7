"""The port: what Podium wants of an engine that spreads runs over machines. Small, so that any can do it.

An engine carries run ids. It gives each to one worker at a time, hears that the worker lives, and gives the
run to another when it does not. Everything else is in the log: taking a run up means replaying it, and a
worker that was wrongly thought dead is refused by the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec


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


class Crew(msgspec.Struct, frozen=True, kw_only=True):
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

    async def work(self, crew: Crew) -> None:
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
