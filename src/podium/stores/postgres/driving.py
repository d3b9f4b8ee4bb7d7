"""Taking runs up and letting go of them: the half of the store that decides who drives."""

from __future__ import annotations

import asyncio
from typing import Any

from podium.errors import RunLockedError, StoreError
from podium.stores.batch import ROW_WIDTH, Acquisition, HeldLease, Job, Key, Liberation, Standing
from podium.stores.commits import Commits, Report
from podium.stores.postgres.database import Db
from podium.stores.postgres.presence import Presence, this_process
from podium.stores.postgres.reading import Reader
from podium.stores.postgres.watch import Herald, Watch
from podium.stores.postgres.writer import Writer

_AGAIN_S = 1.0
"""A mark that could not be taken off a run is tried again so much later."""


class Driving(Commits):
    """A run is driven by the process whose mark it bears, as long as that process is heard of."""

    def __init__(self, url: str, writer: Writer, reader: Reader, lease_s: float) -> None:
        self._durable: dict[int, int] = {}
        """By run number, of those that this process drives: up to where the log is known to be durable."""
        self._watch = Watch(url, reader, self._durable)
        super().__init__(writer, self._watch)
        self._writer = writer
        self._reader = reader
        self._herald = Herald(reader)
        self._presence = Presence(url, lease_s, self._look_at_leases)
        self._claims: set[str] = set()
        self._current: dict[str, HeldLease] = {}

    async def acquire(self, run_id: str, *, take_over: bool = False) -> HeldLease:
        """Mark the run as driven by this process and raise its epoch."""
        self._check_open()
        self._join()
        standing = await (self._mark(run_id, None) if take_over else self._claim(run_id))
        return self._hold(run_id, standing)

    def _join(self) -> None:
        """From its first run on this process is one that drives."""
        if self._presence.join():
            entered = self._loop.create_future()
            entered.add_done_callback(heard)  # the next beat makes up for it
            self._batch.jobs.append(Job(entered, self._presence.enter))
            self._schedule()

    async def _look_at_leases(self, db: Db) -> None:
        """Runs that somebody else has taken up are not ours any more: their next commit says so, even if they
        have nothing to write."""
        held = list(self._leases)
        if held:
            sql = "SELECT number, epoch FROM run WHERE number = ANY(%s::bigint[])"
            found = await (await db.execute(sql, ([number for number, _ in held],))).fetchall()
            epochs: dict[int, int] = dict(found)
            self._give_up({key: None for key in held if epochs.get(key[0]) != key[1]})

    def durable(self, number: int) -> int:
        """Up to where a log is known to be durable, because this process writes it; 0: somebody else may."""
        return self._durable.get(number, 0)

    def _hold(self, run_id: str, standing: Standing) -> HeldLease:
        lease = HeldLease(run_id, standing)
        self._durable[standing.number] = standing.last_seq
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
                self._durable.pop(held.key[0], None)
            lost = held.failure
            held.failure = lost or StoreError(f"Run {held.run_id} was released.")
        if was_good and lost is not None:
            raise lost

    def _let_go(self) -> None:
        """Of every run at once."""
        for lease in self._leases.values():
            lease.failure = lease.failure or StoreError("The store is closed.")
        self._leases.clear()
        self._current.clear()

    async def _claim(self, run_id: str) -> Standing:
        """Mark a run that nobody drives. Another process may be quicker: then look again."""
        while True:
            vacant = await self._vacant(run_id)
            self._claims.add(run_id)
            try:
                standing = await self._mark(run_id, vacant)
            finally:
                self._claims.discard(run_id)
            if standing.driver == self._presence.name:
                return standing

    async def _vacant(self, run_id: str) -> str:
        """The mark of a run that nobody drives; raises `RunLockedError` if somebody does."""
        mark, who = await self._reader.driver(run_id)
        ours = mark == self._presence.name
        if run_id in self._claims or (ours and run_id in self._current):
            raise RunLockedError(run_id, this_process())
        if who and not ours:
            raise RunLockedError(run_id, who)
        return mark  # nobody's, a dead one's, or ours that could not be taken off yet

    async def _mark(self, run_id: str, expected: str | None) -> Standing:
        marked = self._queue_mark(run_id, expected)
        self._schedule()
        try:
            return await asyncio.shield(marked)
        except asyncio.CancelledError:
            marked.add_done_callback(self._disown)
            raise

    def _queue_mark(self, run_id: str, expected: str | None) -> asyncio.Future[Standing]:
        errand = Acquisition(self._loop.create_future(), run_id, self._presence.name, expected)
        self._batch.acquisitions.append(errand)
        return errand.future

    def _disown(self, marked: asyncio.Future[Standing]) -> None:
        """Whoever wanted the run does not want it any more."""
        if not marked.cancelled() and marked.exception() is None:
            standing = marked.result()
            if standing.driver == self._presence.name:
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
            future.set_result(None)  # closing takes the process itself away
        else:
            self._batch.liberations.append(Liberation(future, key))
            self._schedule()
        return future

    def _announce(self, report: Report) -> None:
        """Readers in this process get the rows from memory; the others are told that there are some."""
        rows = report.batch.rows
        for place, one in enumerate(rows[::ROW_WIDTH]):
            number, epoch = one >> 32, rows[place * ROW_WIDTH + 1]
            if number in self._durable and (number, epoch) not in report.failures:
                self._durable[number] = one & 0xFFFFFFFF
        if self._watch.has_tails:
            self._watch.hand(report.batch, report.failures)
        self._herald.tell(report.batch.numbers)


def heard(future: asyncio.Future[None]) -> None:
    """Whoever waited was told; nobody else has to be."""
    if not future.cancelled():
        future.exception()
