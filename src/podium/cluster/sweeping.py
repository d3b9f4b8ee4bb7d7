"""The net below the engine: runs that should be driven and that nobody carries are submitted again.

Between the row of a run and the engine's job for it a process can die, and an engine can lose a job. The log
is the truth: a run that is `queued` there, or whose driver is gone, is somebody's business.
"""

from __future__ import annotations

import asyncio
import logging
import random

from podium.api.going_on import is_served
from podium.cluster.driving import STOPPED
from podium.cluster.port import Engine, Ticket
from podium.cluster.shared import SharedStore
from podium.engine.log import RunRow
from podium.errors import StoreError

LOG = logging.getLogger("podium.cluster")

SWEEP_S = 5.0
PAGE = 1000
_MOST_FOREIGN = 10_000


class Sweep:
    """Looks for such runs, now and then."""

    def __init__(self, store: SharedStore, engine: Engine, page: int = PAGE) -> None:
        self._store = store
        self._engine = engine
        self._page = page
        self._foreign: set[str] = set()
        """Somebody's own runs, which are left alone."""

    async def keep_sweeping(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_S * random.uniform(0.7, 1.3))  # not all workers at once
            try:
                if await self._store.claim_sweep(0.6 * SWEEP_S):
                    await self.sweep()
            except StoreError as error:
                LOG.info("The sweep has to wait: %s", error)

    async def sweep(self, owner: str | None = None) -> int:
        """Submit what nobody carries, of everybody or of one owner; returns how many runs that were."""
        found, after = 0, ""
        while True:
            rows = await self._store.list_unattended(STOPPED, limit=self._page, owner=owner, after=after)
            found += await self._submit([row for row in rows if row.run_id not in self._foreign], owner)
            if len(rows) < self._page:
                return found
            after = rows[-1].run_id

    async def _submit(self, rows: list[RunRow], owner: str | None) -> int:
        carried = await self._engine.carried([row.run_id for row in rows]) if rows else set[str]()
        lost = [row for row in rows if row.run_id not in carried and await self._is_ours(row.run_id)]
        await self._engine.submit([Ticket(row.run_id, row.workflow) for row in lost])
        if owner is None:
            for row in lost:
                LOG.info("Run %s was carried by nobody; it is submitted again.", row.run_id)
        return len(lost)

    async def _is_ours(self, run_id: str) -> bool:
        if await is_served(self._store, run_id):
            return True
        if len(self._foreign) >= _MOST_FOREIGN:
            self._foreign.clear()
        self._foreign.add(run_id)
        return False
