"""`SqlStore`, what the stores on SQL databases have in common, and the leases of this process.

A run is driven by the process whose mark it has, as long as that process is alive. Each database has its own
way to tell whether it is; the marks work the same in all.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Collection, Iterable, Sequence
from typing import Any, Protocol

from podium.engine.codec import encode
from podium.engine.log import InboxMessage, Row, RunRow, RunUpdate, this_process
from podium.errors import RunLockedError, StoreError
from podium.stores.batch import HeldLease, Key, Standing
from podium.stores.commit_queue import CommitQueue
from podium.stores.facts import FactTable
from podium.stores.reader import Reader
from podium.stores.reply_cache import ReplyCache
from podium.stores.sql import FactIndex, Queries
from podium.stores.statements import discard_messages, fence_run, post_message
from podium.stores.tails import Tails

_AGAIN_S = 1.0
"""Seconds before the removal of a mark is retried."""


class Drivers(Protocol):
    """The processes that drive runs, as one of them sees them."""

    def join(self) -> str:
        """Register this process as a driver on first use; return the mark for its runs."""
        ...

    def on_hold(self, lease: HeldLease) -> None:
        """Called when this process gets a lease."""
        ...

    def on_drop(self, lease: HeldLease) -> None:
        """Called when this process no longer has it."""
        ...


class Leases:
    """The leases of this process."""

    def __init__(self, queue: CommitQueue, reader: Reader, drivers: Drivers) -> None:
        self.current: dict[str, HeldLease] = {}
        """The latest lease on each run, by run id."""
        self._queue = queue
        self._reader = reader
        self._drivers = drivers
        self._claims: set[str] = set()
        """Runs that are being marked."""
        self._loop = asyncio.get_running_loop()

    # ── acquire ──

    async def acquire(self, run_id: str, *, take_over: bool = False) -> HeldLease:
        """Mark the run as driven by this process and raise its epoch."""
        self._queue.check_open()
        name = self._drivers.join()
        standing = await (self._mark(run_id, name, None) if take_over else self._claim(run_id, name))
        return self._hold(run_id, standing)

    async def create_driven(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> HeldLease:
        self._queue.check_open()
        standing = await self._or_disown(self._queue.create(run, rows, blobs, self._drivers.join()))
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
                lease = self.current.get(run_id)
                if lease is not None and lease.epoch == standing.epoch:  # another task marked it first
                    raise RunLockedError(run_id, this_process())
                return standing

    async def _vacant(self, run_id: str, name: str) -> str:
        """Return the mark of a run without a live driver; raise `RunLockedError` if it has one."""
        mark, holder = await self._reader.driver(run_id)
        if run_id in self._claims or (mark == name and run_id in self.current):
            raise RunLockedError(run_id, this_process())
        if mark != name and holder:
            raise RunLockedError(run_id, holder)
        return mark  # empty, of a dead driver, or ours and not removed yet

    async def _mark(self, run_id: str, name: str, expected: str | None) -> Standing:
        return await self._or_disown(self._queue.acquire(run_id, name, expected))

    async def _or_disown(self, marked: asyncio.Future[Standing]) -> Standing:
        """Wait for a mark; if cancelled, remove it again."""
        try:
            return await asyncio.shield(marked)
        except asyncio.CancelledError:
            marked.add_done_callback(self._disown)
            raise

    def _hold(self, run_id: str, standing: Standing) -> HeldLease:
        key = (standing.number, standing.epoch)
        lease = HeldLease(run_id, key, standing.last_seq, standing.last_time_us)
        self._queue.leases[lease.key] = self.current[run_id] = lease
        self._drivers.on_hold(lease)
        return lease

    # ── release ──

    async def release(self, lease: Any) -> None:
        """Commit what is queued for the run and unlock it, in one transaction. Raises if something that was
        queued could not be written; earlier failures were already raised by `commit`."""
        held: HeldLease = lease
        if self._queue.leases.get(held.key) is not held:
            return
        was_good = held.failure is None
        try:
            await asyncio.wait([self._unmark(held.key)])
        finally:
            self._queue.leases.pop(held.key, None)
            if self.current.get(held.run_id) is held:
                del self.current[held.run_id]
                self._drivers.on_drop(held)
            failure = held.failure
            held.failure = failure or StoreError(f"Run {held.run_id} was released.")
        if was_good and failure is not None:
            raise failure

    def drop_all(self) -> None:
        """Invalidate all leases of this process."""
        for lease in self._queue.leases.values():
            lease.failure = lease.failure or StoreError("The store is closed.")
        self._queue.leases.clear()
        self.current.clear()

    def _disown(self, marked: asyncio.Future[Standing]) -> None:
        """Release a run whose acquisition was cancelled, unless another process acquired it first."""
        if not marked.cancelled() and marked.exception() is None and not self._queue.closed:
            standing = marked.result()
            if standing.driver == self._drivers.join():
                self._unmark((standing.number, standing.epoch))

    def _unmark(self, key: Key) -> asyncio.Future[None]:
        """Remove the mark from a run. Retries until it is written: a live process must not appear to drive a
        run that it has released."""
        future: asyncio.Future[None] = self._loop.create_future()

        def check(done: asyncio.Future[None]) -> None:
            if done.exception() is not None and not self._queue.closed:
                self._loop.call_later(_AGAIN_S, self._unmark, key)

        future.add_done_callback(check)
        if self._queue.closed:
            future.set_result(None)  # closing removes all marks
        else:
            self._queue.release(future, key)
        return future


class SqlStore(ABC):
    """A store made of parts. Most methods of `podium.engine.log.Store` are methods of one part."""

    def __init__(
        self,
        *,
        queue: CommitQueue,
        queries: Queries,
        reader: Reader,
        tails: Tails,
        drivers: Drivers,
        index: FactIndex,
    ) -> None:
        self.live = 0
        """Number of effects under way; see `podium.engine.log.Store`."""
        self._queue = queue
        self._reader = reader
        self._tails = tails
        self._leases = leases = Leases(queue, reader, drivers)

        self.append = queue.append
        self.update = queue.update
        self.hasten = queue.hasten
        self.put_blob = queue.put_blob
        self.commit = queue.commit

        self.create_driven = leases.create_driven
        self.acquire = leases.acquire
        self.release = leases.release

        self.get = reader.run
        self.list_runs = reader.runs
        self.find_start = reader.start
        self.list_changed = reader.changed
        self.run_totals = reader.totals
        self.get_blob = reader.blob

        cache = ReplyCache(queries, queue)
        self.find_sample = cache.find_sample
        self.keep_sample = cache.keep_sample
        self.use_sample = cache.use_sample
        self.drop_sample = cache.drop_sample
        self.cache_shares = cache.cache_shares
        self.clear_cache = cache.clear_cache

        facts = FactTable(queries, queue, index)
        self.add_facts = facts.add_facts
        self.change_facts = facts.change_facts
        self.forget_facts = facts.forget_facts
        self.list_facts = facts.list_facts
        self.match_facts = facts.match_facts
        self.fact_history = facts.fact_history
        self.list_projects = facts.list_projects
        self.project_revision = facts.project_revision
        self.put_vectors = facts.put_vectors
        self.get_vectors = facts.get_vectors

    @property
    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    async def close(self) -> None:
        """Commit what is queued and release all resources. Calling it twice does no harm."""

    @abstractmethod
    def _number_now(self, run_id: str) -> int:
        """Return the number of a run that this process does not drive, without waiting."""

    # ── runs ──

    async def create(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> None:
        await self._queue.create(run, rows, blobs)

    async def fence(self, run_id: str, rows: Sequence[Row], update: RunUpdate) -> None:
        self._on_fenced(await self._queue.do(fence_run, run_id, rows, update))

    def _on_fenced(self, number: int) -> None:
        """Notify the readers of a run whose log was ended from outside."""
        self._tails.ring([number])

    async def _number(self, run_id: str) -> int:
        lease = self._leases.current.get(run_id)
        return lease.key[0] if lease is not None else await self._reader.number(run_id)

    # ── reading ──

    async def read(
        self, run_id: str, *, after: int = 0, limit: int = 0, types: Collection[str] = ()
    ) -> list[Row]:
        return await self._reader.rows(await self._number(run_id), after, limit, types)

    def tail(self, run_id: str, *, after: int = 0) -> AsyncGenerator[Row]:
        return self._tails.follow(self._number, run_id, after)

    # ── inbox ──

    async def post(self, run_id: str, kind: str, data: Any = None) -> int:
        message_id = await self._queue.do(post_message, run_id, kind, encode(data))
        self._tails.nudge()
        return message_id

    async def inbox(self, run_id: str) -> list[InboxMessage]:
        return await self._reader.inbox(run_id, await self._number(run_id))

    async def discard(self, message_ids: Collection[int]) -> None:
        if message_ids:
            await self._queue.do(discard_messages, message_ids)

    def subscribe(self, run_id: str, callback: Callable[[InboxMessage], None]) -> Callable[[], None]:
        lease = self._leases.current.get(run_id)
        number = lease.key[0] if lease is not None else self._number_now(run_id)
        return self._tails.subscribe(run_id, number, callback)
