"""Open stores, shared by address among the runs of one event loop.

`async with borrow(url) as store` opens the store for its first user and gives the same one to the others. An
SQLite store stays open for a moment after its last user, so that consecutive runs do not reopen it; it is
closed when the event loop ends. A PostgreSQL store is closed with its last user.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from podium.engine.log import Store
from podium.errors import StoreError
from podium.stores import LOCK_TIMEOUT_S, address_of, open_store
from podium.stores.commit_queue import heard
from podium.stores.sqlite.store import SqliteStore

IDLE_S = 0.25
"""Seconds that an SQLite store stays open without users."""

Place = tuple[asyncio.AbstractEventLoop, str]
"""An event loop, and the address of a store on it."""


class SharedStore:
    """An open store and the number of its users. Belongs to one event loop."""

    def __init__(self, place: Place, lock_timeout: float, replaced: SharedStore | None = None) -> None:
        self.place = place
        self._loop, self._address = place
        self._lock_timeout = lock_timeout
        self._users = 0
        self._store: Store | None = None
        self._identity: tuple[int, int] | None = None
        self._retired = False
        """Close it with its last user: the loop ends, or there is another file at its address."""
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._closing: asyncio.Task[None] | None = None
        self._guard = self._close_with_loop()
        self._opening = self._loop.create_task(self._open(replaced), name="podium-store-open")
        self._opening.add_done_callback(heard)

    async def _open(self, replaced: SharedStore | None) -> Store:
        try:
            if replaced is not None:
                await replaced.retire()
            self._store = store = await open_store(self._address, lock_timeout=self._lock_timeout)
            self._identity = _identity(store)
            await anext(self._guard)
        except BaseException:
            _forget(self)
            raise
        self._rest()  # every user may have been cancelled meanwhile
        return store

    async def _close_with_loop(self) -> AsyncGenerator[None]:
        """Close the store when the event loop shuts down its asynchronous generators, as `asyncio.run`
        does."""
        try:
            yield
        finally:
            self._retired = True
            if not self._users:
                await self._shut()

    @property
    def is_current(self) -> bool:
        """True if new users may join: the file at the address is still the one that was opened."""
        if self._retired or self._closed:
            return False
        return self._store is None or _identity(self._store) == self._identity

    async def join(self) -> Store:
        """Add a user and return the open store."""
        self._users += 1
        self._stop_timer()
        try:
            return await asyncio.shield(self._opening)
        except BaseException:
            self._users -= 1
            self._rest()
            raise

    async def leave(self) -> None:
        """Remove a user. After the last one, checkpoint an SQLite store or close the store."""
        self._users -= 1
        if self._users:
            return
        if self._retired or not isinstance(self._store, SqliteStore):
            await self.close()
            return
        try:
            await self._store.checkpoint()
        except StoreError:
            pass  # everything is durable in the write-ahead log, and closing tries again
        finally:
            self._rest()

    async def retire(self) -> None:
        """Accept no more users; close the store now if it has none."""
        self._retired = True
        _forget(self)
        if not self._users:
            await self.close()

    async def close(self) -> None:
        """Close the store. Calling it twice does no harm."""
        await self._shut()
        await self._guard.aclose()

    async def _shut(self) -> None:
        self._closed = True
        _forget(self)
        self._stop_timer()
        if self._store is not None:
            await self._store.close()

    def discard(self) -> None:
        """Close the store of an event loop that ended without closing it."""
        _forget(self)
        self._closed = True
        if isinstance(self._store, SqliteStore):
            self._store.close_now()

    def _rest(self) -> None:
        """Schedule closing the store if it has no users by then."""
        if not self._users and self._store is not None and self._timer is None and not self._closed:
            self._timer = self._loop.call_later(IDLE_S, self._wake)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        self._timer = None
        if not self._users and not self._closed:
            self._closed = True  # set now: a user who joins before the task starts opens another store
            self._closing = self._loop.create_task(self.close(), name="podium-store-close")


_shared: dict[Place, SharedStore] = {}
_lock = threading.RLock()
_inherited: list[dict[Place, SharedStore]] = []
"""Stores of a parent process. They are kept, because closing a connection that was opened before the fork
would disturb the parent."""


@asynccontextmanager
async def borrow(url: str | Path) -> AsyncGenerator[Store]:
    """Share the store at `url` with its other users on this event loop, for as long as the block lasts."""
    shared, store = await join(url)
    try:
        yield store
    finally:
        await shared.leave()


async def join(url: str | Path, *, lock_timeout: float = LOCK_TIMEOUT_S) -> tuple[SharedStore, Store]:
    """Share the store at `url` until `leave` is called on the returned `SharedStore`. The first user's
    `lock_timeout` counts."""
    _discard_where(lambda loop: loop.is_closed())
    place = (asyncio.get_running_loop(), address_of(str(url)))
    with _lock:
        shared = _shared.get(place)
        if shared is None or not shared.is_current:
            shared = _shared[place] = SharedStore(place, lock_timeout, shared)
    return shared, await shared.join()


def _identity(store: Store) -> tuple[int, int] | None:
    """Return the identity of an SQLite store's file; `None` if it is gone, or for any other store."""
    if not isinstance(store, SqliteStore):
        return None
    try:
        status = store.path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _forget(shared: SharedStore) -> None:
    with _lock:
        if _shared.get(shared.place) is shared:
            del _shared[shared.place]


def _discard_where(has_ended: Callable[[asyncio.AbstractEventLoop], bool]) -> None:
    """Close the stores of event loops that have ended without closing them."""
    with _lock:
        orphans = [shared for (loop, _), shared in _shared.items() if has_ended(loop)]
    for shared in orphans:
        shared.discard()


def _discard_at_exit() -> None:
    _discard_where(lambda loop: not loop.is_running())


def _after_fork() -> None:
    """In a child process: forget the stores of the parent without closing them."""
    global _lock, _shared
    _inherited.append(_shared)
    _lock, _shared = threading.RLock(), {}


atexit.register(_discard_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
