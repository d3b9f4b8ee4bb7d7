"""Committing on the spot: when only one thing is going on, a thread would cost more than it brings, so the
commit is done right on the event loop, as long as the disk is quick."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from typing import Any

from podium.stores.batch import ROW_WIDTH, Batch, Key
from podium.stores.commits import Bells, Commits, Report, Writer
from podium.stores.sqlite.identity import FileIdentity
from podium.stores.sqlite.writing import write

_SMALL = 8 * ROW_WIDTH
"""The most that is committed on the spot, in parameters of rows."""

_STRETCH = 64
"""So many commits on the spot in a row; then the writer does one, and a checkpoint with it, which takes
milliseconds that the event loop should not spend."""

_QUICK_S = 0.001
"""A commit on the spot may hold up the event loop for this long."""


class Pace:
    """How long recent small commits took."""

    def __init__(self) -> None:
        self._recent = [0.0] * 9
        self._next = 0
        self.median = 0.0

    def note(self, seconds: float) -> None:
        self._recent[self._next] = seconds
        self._next = (self._next + 1) % len(self._recent)
        self.median = sorted(self._recent)[len(self._recent) // 2]


class SpotCommits(Commits):
    """The queue of a store whose commits may be so quick that nobody else is needed for them."""

    def __init__(
        self, writer: Writer, near: sqlite3.Connection, bells: Bells, identity: FileIdentity
    ) -> None:
        super().__init__(writer, bells)
        self._identity = identity
        self._near = near
        self._pace = Pace()
        self._stretch = 0

    def commit(
        self,
        lease: Any,
        waiter: asyncio.Future[Any] | None = None,
        outcome: Any = None,
        first: Callable[[], None] | None = None,
    ) -> asyncio.Future[Any] | None:
        if (
            self.live <= 1
            and not self._in_flight
            and not self._flushing
            and lease.failure is None
            and self._commit_here()
            and lease.failure is None
        ):
            return None
        return super().commit(lease, waiter, outcome, first)

    def _commit_here(self) -> bool:
        """Write what is queued, whoever queued it, on this thread; `False` if the writer should do it."""
        batch = self._batch
        fenced = self._write_here(batch)
        if fenced is None:
            return False
        if fenced:
            self._give_up(dict.fromkeys(fenced))
        if self._bells.has_tails:
            self._bells.ring(batch.numbers)
        return True

    def _write_here(self, batch: Batch) -> set[Key] | None:
        """Write the queued batch on this thread and return the keys of leases that were fenced off; `None` if
        the writer should do it, and the batch is still queued."""
        if (
            len(batch.rows) > _SMALL
            or batch.blobs
            or batch.notes
            or self._pace.median > _QUICK_S
            or self._stretch == _STRETCH
            or ((batch.liberations or self._identity.is_due()) and self._identity.problem())
        ):
            return None
        start = time.perf_counter()
        try:
            fenced = write(self._near, batch)
        except (sqlite3.Error, TypeError, ValueError, OverflowError):
            return None  # locked, full or wrong: the writer waits, tries again and knows what to say
        self._pace.note(time.perf_counter() - start)
        self._stretch += 1
        self._batch = Batch()
        self._flushed += 1
        return fenced

    def _flush(self) -> None:
        """Start or end a single run on the spot too; everything else goes to the writer."""
        batch = self._batch
        if self.live <= 1 and not self._in_flight and not self._closed and _is_single(batch):
            fenced = self._write_here(batch)
            if fenced is not None:
                self._flushing = False
                super()._settle(Report(batch, 0, dict.fromkeys(fenced), 0.0))
                return
        self._stretch = 0
        super()._flush()

    def _settle(self, report: Report) -> None:
        if report.batch.waiters and len(report.batch.rows) <= _SMALL:
            self._pace.note(report.seconds)
        super()._settle(report)


def _is_single(batch: Batch) -> bool:
    """Whether a batch starts, takes up or ends one run and asks for nothing else."""
    errands = len(batch.creations) + len(batch.liberations) + len(batch.acquisitions)
    return errands == 1 and not batch.jobs and not any(creation.blobs for creation in batch.creations)
