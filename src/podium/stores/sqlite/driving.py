"""Taking runs up and letting go of them: the half of the store that decides who drives."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

from podium.engine.log import this_process
from podium.errors import RunLockedError
from podium.stores.batch import HeldLease, Standing
from podium.stores.holding import Holding
from podium.stores.sqlite import lock
from podium.stores.sqlite.identity import FileIdentity
from podium.stores.sqlite.reading import Reader
from podium.stores.sqlite.spot import SpotCommits
from podium.stores.sqlite.watch import Watch
from podium.stores.sqlite.writer import Writer

_LOOK_S = 1.0
"""How often a store looks whether its file is still there, while it drives runs."""


class Driving(SpotCommits, Holding):
    """A run is driven by the process whose mark it bears, as long as that process lives."""

    def __init__(self, path: Path, writer: Writer, near: sqlite3.Connection, reader: Reader) -> None:
        self._watch = Watch(reader)
        identity = writer.identity = FileIdentity(path)
        super().__init__(writer, near, self._watch, identity)
        self._writer = writer
        self._look_timer: asyncio.TimerHandle | None = None
        self._reader = reader
        self._locks = lock.folder_beside(path)
        self._driver: lock.Driver | None = None

    def _join(self) -> str:
        if self._driver is None:
            self._driver = lock.Driver(self._locks)
        return self._driver.name

    def _hold(self, run_id: str, standing: Standing) -> HeldLease:
        if self._look_timer is None:
            self._look_timer = self._loop.call_later(_LOOK_S, self._look)
        return super()._hold(run_id, standing)

    def _look(self) -> None:
        """Stop the runs of this process when the file of the store is gone. A run that commits finds out for
        itself; this is for one that waits for a long call."""
        self._look_timer = None
        if not self._current or self._closed:
            return
        self._look_timer = self._loop.call_later(_LOOK_S, self._look)
        problem = self._identity.problem()
        if problem is not None:
            for lease in list(self._current.values()):
                lease.failure = lease.failure or problem
                if lease.on_lost is not None:
                    lease.on_lost(problem)

    def _let_go(self) -> None:
        super()._let_go()
        if self._look_timer is not None:
            self._look_timer.cancel()
        if self._driver is not None:
            self._driver.leave()

    async def _vacant(self, run_id: str, name: str) -> str:
        mark = self._reader.driver(run_id)
        if run_id in self._claims or (mark == name and run_id in self._current):
            raise RunLockedError(run_id, this_process())
        if mark != name and (who := lock.holder(self._locks, mark)):
            raise RunLockedError(run_id, who)
        return mark  # nobody's, a dead one's, or ours that could not be taken off yet
