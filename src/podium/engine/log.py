"""The store interface that the engine writes its log to (implemented in `podium.stores`).

Only the driver of a run appends to its log. It holds a `Lease` (a lock and an epoch); the store refuses rows
written under an older epoch. All other processes write to the `inbox`.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import msgspec

from podium.engine.budget import Budget
from podium.engine.events import NOTHING, Charge, Event, decode_event
from podium.engine.store_parts import Facts, Samples
from podium.errors import StoreError

if TYPE_CHECKING:
    from podium.engine.owner_budget import SharedLimits


Written = tuple[int, int, str, str, bytes]
"""A `Row` or a bare tuple of its fields: building a `Row` costs more than the rest of queueing it."""


def this_process() -> str:
    """Return the name of this process, shown as the holder of runs."""
    return f"pid {os.getpid()} on {socket.gethostname()}"


class Row(NamedTuple):
    """One event as it is stored."""

    seq: int
    time_us: int
    """Microseconds since 1970, UTC; never smaller than that of the previous row."""
    path: str
    type: str
    data: bytes
    """JSON."""

    def to_event(self, run_id: str) -> Event:
        """Return the decoded event; `StoreError` if the stored data is damaged."""
        try:
            return decode_event(run_id, *self)
        except UNREADABLE as error:
            raise damaged_event(self, error, run_id) from error


UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError, TypeError, ValueError, OverflowError)
"""Exceptions that decoding damaged data raises."""
DAMAGED = "The store is damaged: restore it from a copy, or look at another run."
"""The hint for damaged data."""


def damaged_event(row: Row, error: Exception, run_id: str = "") -> StoreError:
    """Return the error for an event that cannot be decoded."""
    whose = f"run {run_id}" if run_id else "this run"
    why = " ".join(str(error).split())[:200].rstrip(".")
    return StoreError(f"Event {row.seq} of {whose} cannot be read: {why}.", hint=DAMAGED)


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """Summary of a run for lists: a fold of its log, stored beside it."""

    run_id: str
    workflow: str
    request: str
    """The request as text, shortened to 500 characters."""
    status: str
    """`queued`, `running`, `waiting`, `paused`, `completed`, `partial`, `failed` or `cancelled`. A store
    reports a `running` run without a driver as `paused`."""
    stop_reason: str = ""
    created_us: int = 0
    updated_us: int = 0
    model: str = ""
    rehearsal: bool = False
    parent: str = ""
    """Id of the run that it was forked from."""
    usage: Charge = NOTHING
    driven_s: float = 0.0
    holder: str = ""
    """The process that drives it, for example `pid 4711 on host`; empty if there is none."""
    owner: str = ""
    """Owner of the run on a server with several users; also in the log (`config.owner` of `run.created`)."""
    budget: Budget = Budget()
    """Its current ceilings."""
    start_key: str = ""
    """Idempotency key that the client sent, unique per owner; empty if there is none."""


class RunTotal(NamedTuple):
    """Number and total usage of the runs of one workflow in one status."""

    workflow: str
    status: str
    """The stored status: a run whose driver died still counts as `running`."""
    runs: int
    usage: Charge


class RunUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the summary, written in the same transaction as the rows queued with it. `None` leaves a
    field unchanged."""

    updated_us: int
    status: str | None = None
    stop_reason: str | None = None
    model: str | None = None
    rehearsal: bool | None = None
    usage: Charge | None = None
    driven_s: float | None = None
    budget: Budget | None = None
    """Ceilings that replace the old ones; those that are `None` stay."""


class Lease(Protocol):
    """The right to drive one run. `store.acquire` creates it, `store.release` ends it."""

    on_lost: Callable[[StoreError], object] | None
    """Called when the store detects that nothing more can be written."""

    @property
    def run_id(self) -> str: ...
    @property
    def epoch(self) -> int: ...
    @property
    def last_seq(self) -> int:
        """The highest sequence number in the log when the lease was taken."""
        ...

    @property
    def last_time_us(self) -> int:
        """The time of that event; 0 for an empty log."""
        ...


class InboxMessage(NamedTuple):
    """A message to a run's driver from another process or task."""

    id: int
    run_id: str
    kind: str
    """`answer`, `cancel`, `pause`, `budget` or `resume`."""
    data: Any


class Store(Samples, Facts, Protocol):
    """Storage for logs, the reply cache and project facts. One instance belongs to one event loop."""

    live: int
    """Number of effects under way in this process. The engine maintains it; the store commits inline if it is
    exactly 1, else in groups."""

    @property
    def url(self) -> str:
        """URL such as `sqlite:///PATH`; sufficient to open the same store again."""
        ...

    @property
    def limits(self) -> SharedLimits | None:
        """Limits shared by processes on several machines; `None` if the store serves one machine."""
        ...

    async def close(self) -> None:
        """Commit what is queued and release all resources."""
        ...

    # ── runs ──
    async def create(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> None:
        """Create a run with the first rows of its log. Durable when it returns."""
        ...

    async def create_driven(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> Lease:
        """`create` and `acquire` in one transaction, for a run that this process drives."""
        ...

    async def get(self, run_id: str) -> RunRow:
        """Return the summary of one run; an unambiguous prefix of the id (4 characters or more) is enough.
        Raises `UnknownRunError`."""
        ...

    async def list_runs(
        self,
        *,
        status: Collection[str] = (),
        workflow: str = "",
        limit: int = 50,
        before: str = "",
        owner: str | None = None,
        text: str = "",
    ) -> list[RunRow]:
        """Return runs, newest first. `before` is the last run id of the previous page. `owner` `None` returns
        the runs of all owners. `text` is searched in the request and at the beginning of the id."""
        ...

    async def find_start(self, owner: str, key: str) -> RunRow | None:
        """Return the owner's run with this `start_key`, or None."""
        ...

    async def list_changed(self, since_us: int, *, owner: str | None = None) -> list[RunRow]:
        """Return runs whose summary changed at or after a time, the earliest change first."""
        ...

    async def run_totals(self, owner: str | None = None) -> list[RunTotal]:
        """Return the number of runs and their spending, by workflow and status."""
        ...

    # ── driving ──
    async def acquire(self, run_id: str, *, take_over: bool = False) -> Lease:
        """Lock the run and raise its epoch. Raises `RunLockedError` if another process, or another driver in
        this one, holds it, unless `take_over` is set: then the other driver is fenced off."""
        ...

    async def release(self, lease: Lease) -> None:
        """Commit what is queued for the run and unlock it."""
        ...

    async def fence(self, run_id: str, rows: Sequence[Row], update: RunUpdate) -> None:
        """Raise the epoch without the lock and append `rows` (the store sets their `seq`) in one transaction.
        Ends a run from outside when its driver hangs."""
        ...

    def append(self, lease: Lease, row: Written) -> None:
        """Queue a row with the fields of `Row`. This alone causes no commit: the row is written with the next
        commit, or after 50 ms."""
        ...

    def hasten(self) -> None:
        """Make what is queued durable within a few milliseconds, without waiting for it."""
        ...

    def update(self, lease: Lease, update: RunUpdate) -> None:
        """Queue a change of the summary; it becomes durable like a row of `append`."""
        ...

    def put_blob(self, data: bytes) -> str:
        """Queue a blob; it is durable no later than any row queued after it. Returns its SHA-256."""
        ...

    def commit(
        self,
        lease: Lease,
        waiter: asyncio.Future[Any] | None = None,
        outcome: Any = None,
        first: Callable[[], None] | None = None,
    ) -> asyncio.Future[Any] | None:
        """Make everything queued so far durable. Returns `None` if it is already (inline commit). The future
        fails with `FencedError`, `StoreFullError` or `StoreError`, for this run only. A `waiter` that is
        passed in is used as the future and gets `outcome` as its result, which saves each step one hop.
        `first` is called when the data is durable (or failed), before any waiter continues; it is not called
        if the data is durable already."""
        ...

    # ── reading ──
    async def read(
        self, run_id: str, *, after: int = 0, limit: int = 0, types: Collection[str] = ()
    ) -> list[Row]:
        """Return committed rows with `seq > after`, in order. `limit` 0 returns all."""
        ...

    def tail(self, run_id: str, *, after: int = 0) -> AsyncGenerator[Row]:
        """Yield rows of any writer as they become durable. Never ends; the reader stops it."""
        ...

    async def get_blob(self, digest: str) -> bytes:
        """Return a blob. Raises `StoreError` if it is unknown."""
        ...

    # ── inbox ──
    async def post(self, run_id: str, kind: str, data: Any = None) -> int:
        """Put a message into a run's inbox. Durable when it returns; a driver sees it within 100 ms."""
        ...

    async def inbox(self, run_id: str) -> list[InboxMessage]:
        """Return the messages in the inbox, oldest first."""
        ...

    async def discard(self, message_ids: Collection[int]) -> None:
        """Remove processed messages."""
        ...

    def subscribe(self, run_id: str, callback: Callable[[InboxMessage], None]) -> Callable[[], None]:
        """Call back (on the loop) once for every message of this run, including those already there, until
        the returned function is called. One watcher serves all subscribers; it polls every 50 ms."""
        ...
