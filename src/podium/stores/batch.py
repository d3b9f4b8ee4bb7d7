"""Batches of queued writes: filled on the event loop, then passed whole to the writer.

Rows are one flat list of SQL parameters: one statement takes hundreds of them in that form, and building it
costs the event loop least.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from podium.dimensions import DIMENSIONS
from podium.engine.budget import LARGEST, Budget
from podium.engine.log import Row, RunRow, RunUpdate
from podium.engine.store_parts import Sample
from podium.errors import PodiumError, StoreError
from podium.stores.rows import charge_columns

Key = tuple[int, int]
"""A lease in the database: run number and epoch."""

ROW_WIDTH = 6
"""Parameters per row: id (run number << 32 | seq), epoch, time, path, type, data."""


class HeldLease(msgspec.Struct, eq=False):
    """The right to drive one run."""

    run_id: str
    key: Key
    last_seq: int
    last_time_us: int
    epoch: int = 0
    base: int = 0
    """The id of an event without its sequence number."""
    next_seq: int = 0
    """The only `seq` that is accepted next: a log has no gaps."""
    on_lost: Callable[[StoreError], object] | None = None
    """Called when the store detects that nothing more can be written."""
    failure: PodiumError | None = None
    """The error after which no row is accepted: once rows were lost, later ones must not be written."""

    def __post_init__(self) -> None:
        self.epoch = self.key[1]
        self.base = self.key[0] << 32
        self.next_seq = self.last_seq + 1


class Standing(NamedTuple):
    """State of a run when its lease is acquired."""

    number: int
    epoch: int
    last_seq: int
    last_time_us: int
    driver: str
    """Mark of the process that drives it: the one that asked, unless another acquired it first."""


class Blob(NamedTuple):
    digest: bytes
    data: bytes
    position: int
    """Length of `Batch.rows` when it was queued: the blob belongs to the lease of the next row."""


class WriteOp(msgspec.Struct, eq=False, kw_only=True):
    """A write other than rows for the next transaction, with the future that waits for it."""

    future: asyncio.Future[Any]
    outcome: Any = None
    failure: BaseException | None = None


class Creation(WriteOp, eq=False):
    """Creates a run; its rows have no run number yet. With a `driver` the run is marked as driven from the
    start, and the outcome is its `Standing`."""

    run: RunRow
    rows: Sequence[Row]
    blobs: list[Blob]
    driver: str = ""

    @property
    def epoch(self) -> int:
        """The initial epoch of the run: 1 with a driver, 0 without one."""
        return 1 if self.driver else 0

    @property
    def columns(self) -> tuple[Any, ...]:
        """The columns of `podium.stores.statements.CREATION`."""
        run = self.run
        return (
            *(run.run_id, run.status, run.stop_reason, run.updated_us, run.driven_s),
            *charge_columns(run.usage),
            *(run.model, run.rehearsal, run.created_us, run.parent, run.workflow, run.request, run.owner),
            *ceilings(run.budget),
            *(run.start_key, self.epoch, self.driver),
        )

    def set_number(self, number: int) -> None:
        """Set the outcome for a run that got this number."""
        self.failure = None
        if self.driver:
            last = self.rows[-1] if self.rows else None
            seq, time_us = (last.seq, last.time_us) if last is not None else (0, 0)
            self.outcome = Standing(number, self.epoch, seq, time_us, self.driver)


class Acquisition(WriteOp, eq=False):
    """Raises a run's epoch and marks it with its new driver; the outcome is a `Standing`."""

    run_id: str
    driver: str
    expected: str | None
    """The run's current driver, which is gone; `None` accepts any."""


class ReleaseOp(WriteOp, eq=False):
    """Removes the driver's mark from a run."""

    key: Key


class WriteCall(WriteOp, eq=False):
    """Any other, rare write. It must raise before it writes, or not at all, because others share its
    transaction."""

    call: Callable[[Any], Any]


class Notes:
    """Queued cache writes. Nothing waits for them, and losing them does no harm."""

    __slots__ = ("dropped", "kept", "most_bytes", "used")

    def __init__(self) -> None:
        self.kept: list[Sample] = []
        self.used: list[tuple[Sample, int]] = []
        """Replies that were served, and when (in microseconds)."""
        self.dropped: list[str] = []
        self.most_bytes: int | None = None
        """Maximum size of the cache, set when it should be checked."""

    def __bool__(self) -> bool:
        return bool(self.kept or self.used or self.dropped)

    def absorb(self, later: Notes) -> None:
        self.kept += later.kept
        self.used += later.used
        self.dropped += later.dropped
        self.most_bytes = self.most_bytes if later.most_bytes is None else later.most_bytes


class Batch:
    """The contents of one future transaction."""

    __slots__ = (
        "acquisitions",
        "blobs",
        "creations",
        "firsts",
        "jobs",
        "notes",
        "releases",
        "rows",
        "updates",
        "waiters",
    )

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.updates: dict[Key, RunUpdate] = {}
        self.blobs: list[Blob] = []
        self.creations: list[Creation] = []
        self.releases: list[ReleaseOp] = []
        self.acquisitions: list[Acquisition] = []
        self.jobs: list[WriteCall] = []
        self.notes = Notes()
        self.firsts: list[Callable[[], None]] = []
        """Callbacks to run before the waiters continue."""
        self.waiters: list[tuple[asyncio.Future[Any], HeldLease, Any]] = []

    def __bool__(self) -> bool:
        return (
            bool(self.rows or self.updates or self.blobs or self.waiters or self.notes) or self.has_operations
        )

    @property
    def has_operations(self) -> bool:
        return bool(self.creations or self.releases or self.acquisitions or self.jobs)

    @property
    def only_rows(self) -> bool:
        return not (self.updates or self.blobs or self.notes or self.has_operations)

    @property
    def is_single(self) -> bool:
        """True if it creates, acquires or releases one run and does nothing else that takes long."""
        operations = len(self.creations) + len(self.releases) + len(self.acquisitions)
        return operations == 1 and not self.jobs and not any(creation.blobs for creation in self.creations)

    @property
    def operations(self) -> Iterable[WriteOp]:
        return [*self.creations, *self.releases, *self.acquisitions, *self.jobs]

    @property
    def keys(self) -> set[Key]:
        """Every lease with something in the batch."""
        return {*_row_keys(self.rows), *self.updates, *(lease.key for _, lease, _ in self.waiters)}

    @property
    def numbers(self) -> set[int]:
        """The numbers of the runs that get rows."""
        return {row_id >> 32 for row_id in self.rows[::ROW_WIDTH]}

    def absorb(self, later: Batch) -> None:
        """Append a batch that was queued later."""
        shift = len(self.rows)
        self.blobs += [blob._replace(position=blob.position + shift) for blob in later.blobs]
        self.rows += later.rows
        for key, update in later.updates.items():
            self.updates[key] = merge(self.updates.get(key), update)
        self.creations += later.creations
        self.releases += later.releases
        self.acquisitions += later.acquisitions
        self.jobs += later.jobs
        self.notes.absorb(later.notes)
        self.waiters += later.waiters
        self.firsts += later.firsts

    def drop(self, keys: set[Key]) -> None:
        """Remove the rows and updates of these leases; their waiters are notified elsewhere."""
        rows: list[Any] = []
        positions: list[int] = []
        for index, key in enumerate(_row_keys(self.rows)):
            positions.append(len(rows))
            if key not in keys:
                rows += self.rows[index * ROW_WIDTH : (index + 1) * ROW_WIDTH]
        positions.append(len(rows))
        self.blobs = [blob._replace(position=positions[blob.position // ROW_WIDTH]) for blob in self.blobs]
        self.rows = rows
        self.updates = {key: update for key, update in self.updates.items() if key not in keys}

    def parts(self) -> list[Batch]:
        """Return one batch per lease and per write operation, so that a failure of one does not affect the
        others."""
        parts: defaultdict[Key | WriteOp | Notes | None, Batch] = defaultdict(Batch)
        keys = _row_keys(self.rows)
        for blob in self.blobs:
            row = blob.position // ROW_WIDTH
            parts[keys[row] if row < len(keys) else None].blobs.append(blob._replace(position=0))
        for index, key in enumerate(keys):
            parts[key].rows += self.rows[index * ROW_WIDTH : (index + 1) * ROW_WIDTH]
        for key, update in self.updates.items():
            parts[key].updates[key] = update
        for waiter in self.waiters:
            parts[waiter[1].key].waiters.append(waiter)
        for creation in self.creations:
            parts[creation].creations.append(creation)
        for release in self.releases:
            parts[release].releases.append(release)
        for acquisition in self.acquisitions:
            parts[acquisition].acquisitions.append(acquisition)
        for job in self.jobs:
            parts[job].jobs.append(job)
        if self.notes:
            parts[self.notes].notes = self.notes
        return list(parts.values())


def ceilings(budget: Budget) -> tuple[float | int | None, ...]:
    """Return the columns of a budget, one for each dimension. Whole numbers above the largest database
    integer are stored as that integer."""
    limits = ((dimension, getattr(budget, dimension.name)) for dimension in DIMENSIONS.values())
    return tuple(
        min(limit, LARGEST) if dimension.whole and limit is not None else limit for dimension, limit in limits
    )


def merge(earlier: RunUpdate | None, later: RunUpdate) -> RunUpdate:
    """Merge two changes of one summary."""
    if earlier is None:
        return later
    if earlier.budget is not None and later.budget is not None:
        later = msgspec.structs.replace(later, budget=earlier.budget.merged(later.budget))
    fields = {name: getattr(earlier, name) for name in RunUpdate.__struct_fields__}
    for name in RunUpdate.__struct_fields__:
        value = getattr(later, name)
        if value is not None:
            fields[name] = value
    return RunUpdate(**fields)


def change_of(key: Key, update: RunUpdate) -> tuple[Any, ...]:
    """Return a change of a summary as statement parameters: run, epoch, then its columns."""
    usage = update.usage
    return (
        *key,
        *(update.updated_us, update.status, update.stop_reason, update.model),
        *(update.rehearsal, update.driven_s),
        *(charge_columns(usage) if usage is not None else (None,) * 5),
    )


def _row_keys(rows: list[Any]) -> list[Key]:
    return [
        (row_id >> 32, epoch) for row_id, epoch in zip(rows[::ROW_WIDTH], rows[1::ROW_WIDTH], strict=True)
    ]
