"""The list of runs as a stream: one look at the store serves all who watch it.

The id of a change is its moment, so a client that comes again gets every run that has changed meanwhile.
Times of several processes may arrive in another order than they were made, so each look goes a little way
back and leaves out what was told already.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from podium.engine.log import RunRow, Store
from podium.errors import StoreError
from podium.server.contracts.runs import RunSummary
from podium.server.wire import framed

INTERVAL_S = 0.3
OVERLAP_US = 3_000_000
MOST_WAITING = 2000
"""Runs that a slow watcher may have in front of it; then its stream ends, and it comes again."""

Mark = tuple[int, str]


class Watcher:
    """Somebody who watches the list. A run that changes twice before it is sent is sent once."""

    def __init__(self, owner: str | None) -> None:
        self.owner = owner
        self.waiting: dict[str, RunRow] = {}
        self.awake = asyncio.Event()
        self.ended = False

    def put(self, row: RunRow) -> None:
        if self.owner is None or row.owner == self.owner:
            self.waiting[row.run_id] = row
            self.ended = self.ended or len(self.waiting) > MOST_WAITING
            self.awake.set()


class Changes:
    """Everybody who watches the list of runs."""

    def __init__(self, store: Store, summary: Callable[[RunRow], RunSummary]) -> None:
        self._store = store
        self._summary = summary
        self._watchers: set[Watcher] = set()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    async def follow(self, owner: str | None, since_us: int) -> AsyncGenerator[bytes]:
        """Runs as they change; those that changed since a moment first."""
        watcher = Watcher(owner)
        self._watchers.add(watcher)
        try:
            if since_us:
                for row in await self._store.list_changed(since_us, owner=owner):
                    watcher.put(row)
            if self._task is None or self._task.done():
                self._task = asyncio.get_running_loop().create_task(self._look())
            while not (self._closed or watcher.ended):
                watcher.awake.clear()
                rows, watcher.waiting = watcher.waiting, {}
                if rows:
                    yield b"".join(self._told(row) for row in sorted(rows.values(), key=_moment))
                else:
                    await watcher.awake.wait()
        finally:
            self._watchers.discard(watcher)
            if not self._watchers and self._task is not None:
                self._task.cancel()
                self._task = None

    def _told(self, row: RunRow) -> bytes:
        return framed("run", self._summary(row).model_dump(), id=str(row.updated_us))

    async def _look(self) -> None:
        """Look again and again, for as long as somebody watches."""
        seen: dict[str, Mark] = {}
        newest = max((row.updated_us for row in await self._store.list_runs(limit=1)), default=0)
        for row in await self._store.list_changed(newest - OVERLAP_US):
            seen[row.run_id] = _mark(row)
        while True:
            await asyncio.sleep(INTERVAL_S)
            try:
                rows = await self._store.list_changed(newest - OVERLAP_US)
            except StoreError:
                continue  # whoever asks for a run is told; the list goes on when it can
            seen = {run_id: mark for run_id, mark in seen.items() if mark[0] >= newest - OVERLAP_US}
            for row in rows:
                if seen.get(row.run_id) != _mark(row):
                    seen[row.run_id] = _mark(row)
                    newest = max(newest, row.updated_us)
                    for watcher in self._watchers:
                        watcher.put(row)

    def close(self) -> None:
        """The server stops."""
        self._closed = True
        for watcher in self._watchers:
            watcher.awake.set()


def _moment(row: RunRow) -> int:
    return row.updated_us


def _mark(row: RunRow) -> Mark:
    return row.updated_us, row.status
