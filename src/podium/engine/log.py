"""The contract between the engine and the homes of its log (`podium.stores`).

The driver of a run is the only one who appends to its log. It holds a `Lease` (a lock and an epoch);
rows written under an older epoch are refused by the store. Everybody else writes to the `inbox`.
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
"""A `Row`, or the bare tuple: a class of its own costs a driver more than the rest of queueing it."""


def this_process() -> str:
    """How this process is named to people, as the holder of runs."""
    return f"pid {os.getpid()} on {socket.gethostname()}"


class Row(NamedTuple):
    """One event as it is stored."""

    seq: int
    time_us: int
    """Microseconds since 1970, UTC; never smaller than the row's before it."""
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
"""What decoding damaged data raises."""
DAMAGED = "The store is damaged: restore it from a copy, or look at another run."
"""The hint for damaged data."""


def damaged_event(row: Row, error: Exception, run_id: str = "") -> StoreError:
    """Return the error for an event that cannot be decoded."""
    whose = f"run {run_id}" if run_id else "this run"
    why = " ".join(str(error).split())[:200].rstrip(".")
    return StoreError(f"Event {row.seq} of {whose} cannot be read: {why}.", hint=DAMAGED)


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of a run that lists are made of: a fold of its log, kept beside it."""

    run_id: str
    workflow: str
    request: str
    """The request as text, shortened to 500 characters."""
    status: str
    """`queued, running, waiting, paused, completed, partial, failed, cancelled`. A store reports
    a `running` run that nobody drives as `paused`."""
    stop_reason: str = ""
    created_us: int = 0
    updated_us: int = 0
    model: str = ""
    rehearsal: bool = False
    parent: str = ""
    """The run that it was forked from."""
    usage: Charge = NOTHING
    driven_s: float = 0.0
    holder: str = ""
    """Who drives it now, for example `pid 4711 on host`; empty when nobody does."""
    owner: str = ""
    """Whose it is, on a server with several users; the log says so too (`config.owner` of `run.created`)."""
    budget: Budget = Budget()
    """Its ceilings, as they are now."""
    start_key: str = ""
    """What a client called its wish for this run. An owner has one run of a name; empty: without one."""


class RunTotal(NamedTuple):
    """What the runs of one workflow that are in one status come to."""

    workflow: str
    status: str
    """As it is stored: a run whose driver died still counts as `running`."""
    runs: int
    usage: Charge


class RunUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """A change of the summary, written in the same transaction as the rows queued with it.
    `None` leaves a field as it is."""

    updated_us: int
    status: str | None = None
    stop_reason: str | None = None
    model: str | None = None
    rehearsal: bool | None = None
    usage: Charge | None = None
    driven_s: float | None = None
    budget: Budget | None = None
    """Ceilings that take the place of the old ones; those that are not named stay."""


class Lease(Protocol):
    """The right to drive one run. `store.acquire` makes it, `store.release` ends it."""

    on_lost: Callable[[StoreError], object] | None
    """Called when the store finds out by itself that nothing more can be written."""

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
    """Something put into a run's inbox by somebody who does not drive it."""

    id: int
    run_id: str
    kind: str
    """`answer`, `cancel`, `pause`, `budget` or `resume`."""
    data: Any


class Store(Samples, Facts, Protocol):
    """A home for logs, and beside them for the cache and for what projects know. One instance belongs to one
    event loop."""

    live: int
    """How many effects are under way in this process; the engine counts, the store reads it to choose
    between a commit on the spot (exactly one) and a grouped one."""

    @property
    def url(self) -> str:
        """`sqlite:///PATH`; enough to open the same store again."""
        ...

    @property
    def limits(self) -> SharedLimits | None:
        """What processes on many machines keep together; `None`: this store is for one machine."""
        ...

    async def close(self) -> None:
        """Commit what is queued and let go of everything."""
        ...

    # ── runs ──
    async def create(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> None:
        """Make a run with the first rows of its log. Durable when it returns."""
        ...

    async def create_driven(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> Lease:
        """`create` and `acquire` in one transaction: how a run begins that this process drives itself."""
        ...

    async def get(self, run_id: str) -> RunRow:
        """The summary of one run; an unambiguous beginning of the id (4 characters or more) is enough.
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
        """Newest first; `before` is the run id at which the page before ended. `owner` `None`: everybody's;
        `text` is looked for in the request, and at the beginning of the id."""
        ...

    async def find_start(self, owner: str, key: str) -> RunRow | None:
        """The run of an owner whose `start_key` this is."""
        ...

    async def list_changed(self, since_us: int, *, owner: str | None = None) -> list[RunRow]:
        """Runs whose summary was changed at or after a moment, the earliest change first."""
        ...

    async def run_totals(self, owner: str | None = None) -> list[RunTotal]:
        """How many runs there are and what they have spent, by workflow and status."""
        ...

    # ── driving ──
    async def acquire(self, run_id: str, *, take_over: bool = False) -> Lease:
        """Lock the run and raise its epoch. `RunLockedError` if another process (or another driver
        in this one) holds it, unless `take_over`: then the other one is fenced off."""
        ...

    async def release(self, lease: Lease) -> None:
        """Commit what is queued for the run and unlock it."""
        ...

    async def fence(self, run_id: str, rows: Sequence[Row], update: RunUpdate) -> None:
        """Raise the epoch without the lock and append `rows` (their `seq` is set by the store)
        in one transaction: how a run whose driver hangs is ended from outside."""
        ...

    def append(self, lease: Lease, row: Written) -> None:
        """Queue a row, whose fields are those of `Row`. By itself it causes no commit: it rides with the
        next one, or goes 50 ms later."""
        ...

    def hasten(self) -> None:
        """Make what is queued durable within a few milliseconds, without waiting for it."""
        ...

    def update(self, lease: Lease, update: RunUpdate) -> None:
        """Queue a change of the summary; the same rules."""
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
        """Make everything queued so far durable. `None`: it is already (committed on the spot).
        The future fails with `FencedError`, `StoreFullError` or `StoreError`, for this run only.
        A `waiter` that is handed in is used as the future, and gets `outcome` as its result: one hop
        less for every step. `first` is called when it is durable (or has failed), before anybody who waits
        goes on; not when it is durable already."""
        ...

    # ── reading ──
    async def read(
        self, run_id: str, *, after: int = 0, limit: int = 0, types: Collection[str] = ()
    ) -> list[Row]:
        """Rows with `seq > after`, in order; committed ones only. `limit` 0: all."""
        ...

    def tail(self, run_id: str, *, after: int = 0) -> AsyncGenerator[Row]:
        """Rows as they become durable, whoever writes them, for ever; the reader stops when it likes."""
        ...

    async def get_blob(self, digest: str) -> bytes:
        """Raises `StoreError` for an unknown one."""
        ...

    # ── inbox ──
    async def post(self, run_id: str, kind: str, data: Any = None) -> int:
        """Put a message into a run's inbox. Durable when it returns; a driver sees it within 100 ms."""
        ...

    async def inbox(self, run_id: str) -> list[InboxMessage]:
        """What lies in the inbox, oldest first."""
        ...

    async def discard(self, message_ids: Collection[int]) -> None:
        """Remove messages that were dealt with."""
        ...

    def subscribe(self, run_id: str, callback: Callable[[InboxMessage], None]) -> Callable[[], None]:
        """Call back (on the loop) once for every message of this run, those already there too, until the
        returned function is called. One watcher serves all subscribers; it looks every 50 ms."""
        ...
