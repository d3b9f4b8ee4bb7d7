"""Leases on the runs that this process drives: acquire, release, and release when no longer wanted.

Each store has its own way to tell whether a process is alive; the marks on runs work the same in all.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from podium.engine.log import Row, RunRow, this_process
from podium.errors import RunLockedError, StoreError
from podium.stores.batch import Acquisition, HeldLease, Key, ReleaseOp, Standing
from podium.stores.commit_queue import BatchWriter, Bells, OperationQueue

_AGAIN_S = 1.0
"""Seconds before the removal of a mark is retried."""


class Leases(OperationQueue, ABC):
    """A queue with leases. A run is driven by the process whose mark it has, as long as that process is
    alive."""

    def __init__(self, writer: BatchWriter, bells: Bells) -> None:
        super().__init__(writer, bells)
        self._claims: set[str] = set()
        """Runs that are being marked."""
        self._current: dict[str, HeldLease] = {}

    # ── implemented by each store ──

    @abstractmethod
    def _join(self) -> str:
        """Register this process as a driver on first use; return the mark for its runs."""

    @abstractmethod
    async def _vacant(self, run_id: str, name: str) -> str:
        """Return the mark of a run without a live driver; raise `RunLockedError` if it has one."""

    # ── acquire ──

    async def acquire(self, run_id: str, *, take_over: bool = False) -> HeldLease:
        """Mark the run as driven by this process and raise its epoch."""
        self._check_open()
        name = self._join()
        standing = await (self._mark(run_id, name, None) if take_over else self._claim(run_id, name))
        return self._hold(run_id, standing)

    async def create_driven(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> HeldLease:
        self._check_open()
        name = self._join()
        created: asyncio.Future[Standing] = self._create(run, rows, blobs, name)
        try:
            standing = await asyncio.shield(created)
        except asyncio.CancelledError:
            created.add_done_callback(self._disown)
            raise
        return self._hold(run.run_id, standing)

    async def _claim(self, run_id: str, name: str) -> Standing:
        """Mark a run without a driver. If another process marks it first, check again."""
        while True:
            vacant = await self._vacant(run_id, name)
            self._claims.add(run_id)
            try:
                standing = await self._mark(run_id, name, vacant)
            finally:
                self._claims.discard(run_id)
            if standing.driver == name:
                held = self._current.get(run_id)
                if held is not None and held.epoch == standing.epoch:  # another task marked it first
                    raise RunLockedError(run_id, this_process())
                return standing

    async def _mark(self, run_id: str, name: str, expected: str | None) -> Standing:
        marked = self._queue_mark(run_id, name, expected)
        self._schedule()
        try:
            return await asyncio.shield(marked)
        except asyncio.CancelledError:
            marked.add_done_callback(self._disown)
            raise

    def _queue_mark(self, run_id: str, name: str, expected: str | None) -> asyncio.Future[Standing]:
        errand = Acquisition(self._loop.create_future(), run_id, name, expected)
        self._batch.acquisitions.append(errand)
        return errand.future

    def _hold(self, run_id: str, standing: Standing) -> HeldLease:
        lease = HeldLease(run_id, standing)
        self._leases[lease.key] = self._current[run_id] = lease
        return lease

    # ── release ──

    async def release(self, lease: Any) -> None:
        """Commit what is queued for the run and unlock it, in one transaction. Raises if something that was
        queued could not be written; earlier failures were already raised by `commit`."""
        held: HeldLease = lease
        if self._leases.get(held.key) is not held:
            return
        was_good = held.failure is None
        try:
            await asyncio.wait([self._unmark(held.key)])
        finally:
            self._leases.pop(held.key, None)
            if self._current.get(held.run_id) is held:
                self._drop(held)
            lost = held.failure
            held.failure = lost or StoreError(f"Run {held.run_id} was released.")
        if was_good and lost is not None:
            raise lost

    def _drop(self, held: HeldLease) -> None:
        """Forget a lease of this process."""
        del self._current[held.run_id]

    def _let_go(self) -> None:
        """Invalidate all leases of this process."""
        for lease in self._leases.values():
            lease.failure = lease.failure or StoreError("The store is closed.")
        self._leases.clear()
        self._current.clear()

    def _disown(self, marked: asyncio.Future[Standing]) -> None:
        """Release a run whose acquisition was cancelled, unless another process acquired it first."""
        if not marked.cancelled() and marked.exception() is None and not self._closed:
            standing = marked.result()
            if standing.driver == self._join():
                self._unmark((standing.number, standing.epoch))

    def _unmark(self, key: Key) -> asyncio.Future[None]:
        """Remove the mark from a run. Retries until it is written: a live process must not appear to drive a
        run that it has released."""
        future: asyncio.Future[None] = self._loop.create_future()

        def check(done: asyncio.Future[None]) -> None:
            if done.exception() is not None and not self._closed:
                self._loop.call_later(_AGAIN_S, self._unmark, key)

        future.add_done_callback(check)
        if self._closed:
            future.set_result(None)  # closing removes all marks
        else:
            self._batch.liberations.append(ReleaseOp(future, key))
            self._schedule()
        return future
