"""Taking runs up and letting go of them: the half of the store that decides who drives."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path
from typing import Any

from podium.errors import RunLockedError, StoreError
from podium.stores.batch import Acquisition, HeldLease, Key, Liberation, Standing
from podium.stores.sqlite import lock
from podium.stores.sqlite.reading import Reader
from podium.stores.sqlite.spot import SpotCommits
from podium.stores.sqlite.watch import Watch
from podium.stores.sqlite.writer import Writer

_AGAIN_S = 1.0
"""A mark that could not be taken off a run is tried again so much later."""


class Driving(SpotCommits):
    """A run is driven by the process whose mark it bears, as long as that process lives."""

    def __init__(self, path: Path, writer: Writer, near: sqlite3.Connection, reader: Reader) -> None:
        self._watch = Watch(reader)
        super().__init__(writer, near, self._watch)
        self._writer = writer
        self._reader = reader
        self._locks = lock.folder_beside(path)
        self._driver: lock.Driver | None = None
        self._claims: set[str] = set()
        self._current: dict[str, HeldLease] = {}

    async def acquire(self, run_id: str, *, take_over: bool = False) -> HeldLease:
        """Mark the run as driven by this process and raise its epoch."""
        name = self._name()
        standing = await (self._mark(run_id, name, None) if take_over else self._claim(run_id, name))
        return self._hold(run_id, standing)

    def _mark_new(self, run_id: str) -> asyncio.Future[Standing]:
        """Mark a run that is created in the same transaction: nobody else can know of it yet."""
        errand = Acquisition(self._loop.create_future(), run_id, self._name(), "")
        self._batch.acquisitions.append(errand)
        return errand.future

    def _name(self) -> str:
        self._check_open()
        if self._driver is None:
            self._driver = lock.Driver(self._locks)
        return self._driver.name

    def _hold(self, run_id: str, standing: Standing) -> HeldLease:
        lease = HeldLease(run_id, standing)
        self._leases[lease.key] = self._current[run_id] = lease
        return lease

    async def release(self, lease: Any) -> None:
        """Commit what is queued for the run and unlock it, in one transaction. Raises if something that was
        queued could not be written; what failed earlier was told by `commit`."""
        held: HeldLease = lease
        if self._leases.get(held.key) is not held:
            return
        was_good = held.failure is None
        try:
            await asyncio.wait([self._unmark(held.key)])
        finally:
            self._leases.pop(held.key, None)
            if self._current.get(held.run_id) is held:
                del self._current[held.run_id]
            lost = held.failure
            held.failure = lost or StoreError(f"Run {held.run_id} was released.")
        if was_good and lost is not None:
            raise lost

    def _leave(self) -> None:
        """Let go of every run at once."""
        for lease in self._leases.values():
            lease.failure = lease.failure or StoreError("The store is closed.")
        self._leases.clear()
        self._current.clear()
        if self._driver is not None:
            self._driver.leave()

    async def _claim(self, run_id: str, name: str) -> Standing:
        """Mark a run that nobody drives. Another process may be quicker: then look again."""
        while True:
            vacant = self._vacant(run_id, name)
            self._claims.add(run_id)
            try:
                standing = await self._mark(run_id, name, vacant)
            finally:
                self._claims.discard(run_id)
            if standing.driver == name:
                return standing

    def _vacant(self, run_id: str, name: str) -> str:
        """The mark of a run that nobody drives; raises `RunLockedError` if somebody does."""
        mark = self._reader.driver(run_id)
        if run_id in self._claims or (mark == name and run_id in self._current):
            raise RunLockedError(run_id, lock.this_process())
        if mark != name and (who := lock.holder(self._locks, mark)):
            raise RunLockedError(run_id, who)
        return mark  # nobody's, a dead one's, or ours that could not be taken off yet

    async def _mark(self, run_id: str, name: str, expected: str | None) -> Standing:
        errand = Acquisition(self._loop.create_future(), run_id, name, expected)
        self._batch.acquisitions.append(errand)
        self._schedule()
        try:
            return await asyncio.shield(errand.future)
        except asyncio.CancelledError:
            errand.future.add_done_callback(self._disown)
            raise

    def _disown(self, marked: asyncio.Future[Standing]) -> None:
        """Whoever wanted the run was cancelled meanwhile."""
        if marked.exception() is None:
            standing = marked.result()
            self._unmark((standing.number, standing.epoch))

    def _unmark(self, key: Key) -> asyncio.Future[None]:
        """Take the mark off a run. While that cannot be written, it is tried again and again: a process that
        lives on must not seem to drive what it has let go of."""
        future: asyncio.Future[None] = self._loop.create_future()

        def check(done: asyncio.Future[None]) -> None:
            if done.exception() is not None and not self._closed:
                self._loop.call_later(_AGAIN_S, self._unmark, key)

        future.add_done_callback(check)
        if self._closed:
            future.set_result(None)  # closing takes all marks off
        else:
            self._batch.liberations.append(Liberation(future, key))
            self._schedule()
        return future
