"""Taking runs up and letting go of them: the half of the store that decides who drives."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from podium.engine.log import this_process
from podium.errors import RunLockedError
from podium.stores.holding import Holding
from podium.stores.sqlite import lock
from podium.stores.sqlite.reading import Reader
from podium.stores.sqlite.spot import SpotCommits
from podium.stores.sqlite.watch import Watch
from podium.stores.sqlite.writer import Writer


class Driving(SpotCommits, Holding):
    """A run is driven by the process whose mark it bears, as long as that process lives."""

    def __init__(self, path: Path, writer: Writer, near: sqlite3.Connection, reader: Reader) -> None:
        self._watch = Watch(reader)
        super().__init__(writer, near, self._watch)
        self._writer = writer
        self._reader = reader
        self._locks = lock.folder_beside(path)
        self._driver: lock.Driver | None = None

    def _join(self) -> str:
        if self._driver is None:
            self._driver = lock.Driver(self._locks)
        return self._driver.name

    def _let_go(self) -> None:
        super()._let_go()
        if self._driver is not None:
            self._driver.leave()

    async def _vacant(self, run_id: str, name: str) -> str:
        mark = self._reader.driver(run_id)
        if run_id in self._claims or (mark == name and run_id in self._current):
            raise RunLockedError(run_id, this_process())
        if mark != name and (who := lock.holder(self._locks, mark)):
            raise RunLockedError(run_id, who)
        return mark  # nobody's, a dead one's, or ours that could not be taken off yet
