"""A fleet as a server or a command sees it: runs are accepted, put in line again, forgotten."""

from __future__ import annotations

from podium.api.going_on import Change, put_in_line
from podium.cluster.port import Engine, Load, Ticket
from podium.engine.log import RunRow, Store
from podium.settings import Settings


class Fleet:
    """Hands runs to whoever drives them. A run whose handing over fails half-way is `queued` in the store,
    and a worker's sweep finds it there."""

    def __init__(self, store: Store, settings: Settings, engine: Engine) -> None:
        self._store = store
        self._settings = settings
        self.engine = engine

    async def accept(self, row: RunRow) -> None:
        """A run that is `queued` in the store."""
        await self.engine.submit([Ticket(row.run_id, row.workflow)])

    async def go_on(self, row: RunRow, change: Change | None = None, *, take_over: bool = False) -> None:
        """Let a run go on as soon as there is a place for it."""
        await put_in_line(self._store, self._settings, row.run_id, change, take_over=take_over)
        await self.accept(row)

    async def forget(self, run_id: str) -> None:
        """It is not to be driven any more."""
        await self.engine.forget(run_id)

    async def load(self) -> Load:
        return await self.engine.load()
