"""What all requests share, and the one place that finds a run for somebody: a foreign one is not there."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from podium.engine.log import RunRow, Store
from podium.engine.redact import redactor
from podium.errors import UnknownRunError
from podium.server.broadcast import Broadcasts
from podium.server.callers import Caller, Doorkeeper
from podium.server.changes import Changes
from podium.server.conductor import Conductor
from podium.server.dispatcher import Dispatcher
from podium.server.purses import Purses
from podium.server.room import Room
from podium.server.telling import summary_of
from podium.server.users import Users
from podium.settings import Settings

UI = Path(__file__).parent / "ui"
"""Where a build of the web UI is put, and a wheel has it."""


class Hall:
    """A server's store, its runs, its users and its streams."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        door: Doorkeeper,
        cookie: str,
        max_runs: int,
        users: Users | None = None,
        workspaces: str = "",
        ui: Path = UI,
        room: Room | None = None,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        self.settings = settings
        self.redact = redactor(settings.secrets())
        self.store = store
        self.door = door
        self.cookie = cookie
        """The name of the cookie: servers on one machine share a browser's cookies, whatever their port."""
        self.users = users
        self.workspaces = workspaces
        """The folder whose projects users may have changed; empty: none."""
        self.ui = ui
        """Where the built web UI lies, if there is one."""
        self.conductor = dispatcher or Conductor(store, settings, max_runs=max_runs, room=room)
        """Drives the runs, or has them driven by a fleet."""
        self.conductor.limit_of = self._limit_of
        self.broadcasts = Broadcasts(store, self.conductor)
        self.purses = Purses(store)
        self.changes = Changes(store, summary_of)
        self.streams: Counter[str] = Counter()
        """Live streams that are open, by user."""
        self.started = time.monotonic()

    def _limit_of(self, owner: str) -> int:
        user = self.users.get(owner) if self.users and owner else None
        return user.max_runs if user else self.conductor.max_runs

    async def run_for(self, caller: Caller, run_id: str) -> RunRow:
        """The run of an id, if it is the caller's. That somebody else has one of that id is not told."""
        try:
            row = await self.store.get(run_id)
        except UnknownRunError as error:
            raise _no_run(run_id) from error
        if caller.owner is not None and row.owner != caller.owner:
            raise _no_run(run_id)
        return row

    def end_streams(self) -> None:
        """The server stops: those who watch come again later."""
        self.broadcasts.close()
        self.changes.close()


def _no_run(run_id: str) -> UnknownRunError:
    return UnknownRunError(f"There is no run {run_id}.", hint="The list of runs tells which there are.")


def hall_of(request: Request) -> Hall:
    return request.app.state.hall


def caller_of(request: Request) -> Caller:
    """Whom the guard has let in."""
    return request.state.caller


InHall = Annotated[Hall, Depends(hall_of)]
By = Annotated[Caller, Depends(caller_of)]
