"""`SqliteStore`, the lock files of the processes that drive runs, and the notification of log tails.

A process that drives runs holds the `flock` on one file of its own, in a folder beside the database
(`podium.db.locks/`), and a run's row names the file of its driver. The kernel releases the lock when the
process dies, however it dies: no heartbeat, no timeout.

There is one file per process rather than one per run: creating and removing a file costs some 250 µs, which
was more than half of the time that 500 short runs spent in the store, and a process may not have that many
files open.

Commits of other processes change `PRAGMA data_version`, which one timer polls every 50 ms, as long as there
are tails or subscribers.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import sqlite3
from collections.abc import Collection, Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from podium.engine.log import Row, this_process
from podium.errors import StoreError, StoreFullError
from podium.stores.batch import Batch, HeldLease, Key
from podium.stores.commit_queue import CommitQueue
from podium.stores.reader import Reader
from podium.stores.sql import run_now
from podium.stores.sqlite.connection import LOCK_TIMEOUT_S, FileIdentity, connect_near, explain, prepare
from podium.stores.sqlite.database import SqliteFacts, SqliteQueries
from podium.stores.sqlite.writer import InlineWriter, SqliteWriter
from podium.stores.store import SqlStore
from podium.stores.tails import Tails

_UNKNOWN = "another process"
_SUFFIX = ".locks"


def folder_beside(database: Path) -> Path:
    """Return the folder with the lock files of a database."""
    return database.with_name(f"{database.name}{_SUFFIX}")


class DriverLock:
    """This process as a driver of runs, for as long as it holds its lock file."""

    def __init__(self, folder: Path) -> None:
        """Create and lock a file, and remove the files of processes that died."""
        self.name = ""
        """The mark on the runs of this process."""
        self._fd = -1
        try:
            self._mode = _mode_beside(folder)
            _make(folder, self._mode)
            _clear(folder)
            while not self._try(folder):
                pass
        except OSError as error:
            self.leave()
            raise _explain(folder, error) from error

    def leave(self) -> None:
        """Remove the lock file and release the lock."""
        if self._fd >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._fd)
            self._fd = -1

    def _try(self, folder: Path) -> bool:
        """Create and lock a file. Returns `False` if another process cleared it away before it was locked."""
        self.name = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._path = _path_of(folder, self.name)
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC  # a child must not keep the lock
        self._fd = os.open(self._path, flags, self._mode)
        os.fchmod(self._fd, self._mode)
        fcntl.flock(self._fd, fcntl.LOCK_EX)
        since = datetime.now(UTC).isoformat(timespec="seconds")
        os.write(self._fd, f"{this_process()}\nsince {since}\n".encode())
        if self._path.exists():
            return True
        os.close(self._fd)
        self._fd = -1
        return False


def _mode_beside(folder: Path) -> int:
    """Return the mode of lock files: that of their database, so that all users of it can read them."""
    mode = folder.with_name(folder.name.removesuffix(_SUFFIX)).stat().st_mode & 0o666
    return mode | 0o600


def _make(folder: Path, mode: int) -> None:
    """Create the folder; users who may read the lock files may enter it."""
    with suppress(FileExistsError):
        folder.mkdir(0o700)
        folder.chmod(mode | (mode & 0o444) >> 2)


def holder(folder: Path, name: str) -> str:
    """Return the display name of a driver; empty if it is gone. Does not disturb the lock."""
    if not name:
        return ""
    try:
        fd = os.open(_path_of(folder, name), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise _explain(folder, error) from error
    try:
        if _is_free(fd):
            return ""
        lines = os.pread(fd, 500, 0).decode("utf-8", "replace").splitlines()
        return lines[0] if lines else _UNKNOWN
    finally:
        os.close(fd)


def _clear(folder: Path) -> None:
    """Remove the files of drivers that are gone."""
    for path in folder.glob("*.lock"):
        if not holder(folder, path.stem):
            path.unlink(missing_ok=True)


def _is_free(fd: int) -> bool:
    """Return whether the lock is free. Tests with a shared lock, so that concurrent tests do not see each
    other."""
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _path_of(folder: Path, name: str) -> Path:
    return folder / f"{name}.lock"


def _explain(folder: Path, error: OSError) -> StoreError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StoreFullError(
            f"There is no space left in {folder}.", hint="Make room on that disk, then resume the run."
        )
    return StoreError(
        f"The lock files in {folder} cannot be used: {error.strerror}.",
        hint="Check the permissions of the folder that the store is in.",
    )


INTERVAL_S = 0.05


class SqliteTails(Tails):
    """All tails and subscribers of one store, and the timer that serves them."""

    def __init__(self, reader: Reader, queries: SqliteQueries) -> None:
        super().__init__(reader)
        self._queries = queries
        self._version = -1
        self._timer: asyncio.TimerHandle | None = None
        self._last_slice: tuple[tuple[int, int], list[Row]] | None = None

    def close(self) -> None:
        """End all tails and subscriptions."""
        self._close()
        self._rest()

    async def _slice(self, number: int, after: int) -> list[Row]:
        """Return rows after `after`. Tails at the same position share one read."""
        place = (number, after)
        if self._last_slice is None or self._last_slice[0] != place:
            self._last_slice = (place, await super()._slice(number, after))
        return self._last_slice[1]

    def on_written(self, batch: Batch, failures: Collection[Key]) -> None:
        self._last_slice = None
        super().on_written(batch, failures)

    def ring(self, numbers: Iterable[int]) -> None:
        self._last_slice = None
        super().ring(numbers)

    def nudge(self, number: int | None = None) -> None:
        numbers = list(self._subscribers) if number is None else [number]
        self._loop.call_soon(self._check_now, numbers)

    def _check_now(self, numbers: list[int]) -> None:
        try:
            if not self.closed:
                run_now(self._check_inboxes(numbers))
        except StoreError:
            self._version = -1  # the timer checks again

    def _watch(self) -> None:
        self._last_slice = None
        if self._timer is None and not self.closed:
            self._timer = self._loop.call_later(INTERVAL_S, self._poll)

    def _rest(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _poll(self) -> None:
        self._timer = self._loop.call_later(INTERVAL_S, self._poll)
        try:
            version = self._queries.version()
            if version == self._version:
                return
            run_now(self._check_tails())
            run_now(self._check_inboxes(list(self._subscribers)))
            self._version = version
        except StoreError:
            self.ring(self._cursors)  # they read for themselves and report the error to their callers


_LOOK_S = 1.0
"""Seconds between checks that the file still exists, while the store drives runs."""


class LockedDrivers:
    """Drivers that show by lock files that they are alive. Stops those of this process when the file of the
    store is gone."""

    driver_columns = "driver"
    driver_join = ""

    def __init__(self, path: Path, identity: FileIdentity) -> None:
        self._folder = folder_beside(path)
        self.holder = partial(holder, self._folder)
        self._identity = identity
        self._lock: DriverLock | None = None
        self._leases: dict[str, HeldLease] = {}
        self._timer: asyncio.TimerHandle | None = None

    def join(self) -> str:
        if self._lock is None:
            self._lock = DriverLock(self._folder)
        return self._lock.name

    def on_hold(self, lease: HeldLease) -> None:
        self._leases[lease.run_id] = lease
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._look)

    def on_drop(self, lease: HeldLease) -> None:
        self._leases.pop(lease.run_id, None)

    def leave(self) -> None:
        self._leases.clear()
        if self._timer is not None:
            self._timer.cancel()
        if self._lock is not None:
            self._lock.leave()

    def _look(self) -> None:
        """Stop the runs of this process when the file of the store is gone. A run that commits detects this
        itself; the check is for one that waits for a long call."""
        self._timer = None
        if not self._leases:
            return
        self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._look)
        problem = self._identity.problem()
        if problem is not None:
            for lease in list(self._leases.values()):
                lease.failure = lease.failure or problem
                if lease.on_lost is not None:
                    lease.on_lost(problem)


class SqliteStore(SqlStore):
    """A store in one file. One instance belongs to one event loop."""

    def __init__(
        self, path: Path, writer: SqliteWriter, near: sqlite3.Connection, queries: SqliteQueries
    ) -> None:
        identity = writer.identity = FileIdentity(path)
        self.path = path
        """Path of the database file."""
        self._writer = writer
        self._queries = queries
        self._drivers = LockedDrivers(path, identity)
        reader = Reader(queries, self._drivers)
        self._watch = SqliteTails(reader, queries)
        self._inline = InlineWriter(near, identity, lambda: self.live <= 1)
        super().__init__(
            queue=CommitQueue(writer, self._watch.on_written, self._inline),
            queries=queries,
            reader=reader,
            tails=self._watch,
            drivers=self._drivers,
            index=SqliteFacts(),
        )

    @classmethod
    async def open(cls, path: str | Path, *, lock_timeout: float = LOCK_TIMEOUT_S) -> SqliteStore:
        """Open the store at `path`; create it if there is none."""
        path = prepare(path)
        writer = SqliteWriter(path, lock_timeout)
        await writer.start()
        try:
            near, reading = connect_near(path)
        except sqlite3.Error as error:
            await writer.stop()
            raise explain(error, path) from error
        return cls(path, writer, near, SqliteQueries(reading, path))

    @property
    def url(self) -> str:
        return f"sqlite:///{self.path}"

    @property
    def limits(self) -> None:
        """None: processes of one machine do not share limits."""
        return

    async def close(self) -> None:
        if not self._queue.closed:
            self._hang_up()
            try:
                await self._writer.stop()
            finally:
                self._let_go()

    def close_now(self) -> None:
        """Close without an event loop, for a store whose loop has ended."""
        if not self._queue.closed:
            self._hang_up()
            self._writer.end()
            self._let_go()

    def _hang_up(self) -> None:
        """Submit what is queued and close the connections of this thread."""
        self._watch.close()
        self._queue.close()
        self._queries.close()
        self._inline.close()

    def _let_go(self) -> None:
        self._leases.drop_all()
        self._drivers.leave()

    async def checkpoint(self) -> None:
        """Checkpoint everything into the database file, so that a copy of this file alone is complete. Does
        nothing while another process reads or writes."""
        self._queue.check_open()
        await self._writer.checkpoint()

    def _number_now(self, run_id: str) -> int:
        return run_now(self._reader.number(run_id))
