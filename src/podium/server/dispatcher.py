"""A server that accepts and shows, and leaves the driving to workers on other machines.

It stands in the place of a conductor. What it hands over is in the store first: should it die before a worker
hears of a run, a worker's sweep finds it.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable

from podium.api import RunHandle
from podium.api.going_on import Change
from podium.cluster.fleet import Fleet
from podium.cluster.shared import SharedStore
from podium.engine.core import Delta
from podium.engine.log import RunRow
from podium.errors import PodiumError
from podium.server.chores import Chores

LOG = logging.getLogger("podium.server")


class Dispatcher:
    """Hands runs to a fleet."""

    def __init__(self, store: SharedStore, fleet: Fleet, *, max_runs: int) -> None:
        self._store = store
        self._fleet = fleet
        self.max_runs = max_runs
        self.limit_of: Callable[[str], int] = lambda owner: max_runs
        """How many runs of one owner may go at once, on all machines together."""
        self.finished: Counter[str] = Counter()
        """Nothing is driven here, so nothing ends here."""
        self._told: dict[str, int] = {}
        """Limits of users that the workers know of."""
        self._chores = Chores(_tell)

    async def take_up(self) -> int:
        """What an earlier server has left is the workers' business."""
        return 0

    async def count_of(self, owner: str | None) -> tuple[int, int]:
        """How many runs of an owner (`None`: of all) go, and how many wait, on all machines."""
        return await self._store.count_open(owner)

    def drives(self, run_id: str) -> RunHandle | None:
        """Nobody is driven here."""
        return None

    def watch_deltas(self, run_id: str, viewer: Callable[[Delta], None]) -> Callable[[], None]:
        """Pieces of replies are not in the log, and do not come over from the machine that has them."""
        return lambda: None

    def enqueue(self, row: RunRow) -> None:
        """A run that was accepted and is `queued` in the store."""
        self._chores.begin(self._accept(row))

    async def _accept(self, row: RunRow) -> None:
        limit = self.limit_of(row.owner)
        if row.owner and self._told.get(row.owner) != limit:
            await self._store.set_limit(row.owner, limit)
            self._told[row.owner] = limit
        await self._fleet.accept(row)

    async def go_on(self, row: RunRow, change: Change | None = None, *, take_over: bool = False) -> None:
        await self._fleet.go_on(row, change, take_over=take_over)

    def leave_queue(self, run_id: str) -> None:
        self._chores.begin(self._fleet.forget(run_id))

    async def stop(self) -> None:
        await self._chores.finish()


def _tell(error: BaseException) -> None:
    if isinstance(error, PodiumError):
        LOG.warning("The queue could not be told, a worker will find it: %s", error)
    else:
        LOG.error("The queue could not be told, a worker will find it.", exc_info=error)
