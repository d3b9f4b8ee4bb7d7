"""Server state, access to runs, and metrics."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from podium.engine.log import RunRow, Store
from podium.engine.redaction import redactor
from podium.errors import StoreError, UnknownRunError
from podium.server.auth import Authenticator, Caller, KeyCheck
from podium.server.quotas import UserQuotas
from podium.server.run_loop import RunLoopThread
from podium.server.schedulers import FleetScheduler, LocalScheduler
from podium.server.sse import Broadcasts, Changes
from podium.server.users import Users
from podium.server.views import SharedFolds, summary_of
from podium.settings import Settings

UI = Path(__file__).parent / "ui"
"""Folder of the built web UI, included in the wheel."""
STORE_PATIENCE_S = 2.0
"""Seconds that the store may take to answer a readiness probe."""
STORE_CHECK_S = 1.0
"""Seconds for which the result of a readiness probe is reused, because probes need no key."""


class StoreCheck:
    """Checks whether the store answers, at most once a second."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = asyncio.Lock()
        self._problem = ""
        self._checked: float | None = None

    async def problem(self) -> str:
        """Return the problem with the store; empty if it answers."""
        async with self._lock:
            if self._checked is None or time.monotonic() - self._checked >= STORE_CHECK_S:
                self._problem = await self._ask()
                self._checked = time.monotonic()
            return self._problem

    async def _ask(self) -> str:
        try:
            async with asyncio.timeout(STORE_PATIENCE_S):
                await self._store.list_runs(limit=1)
        except TimeoutError:
            return "The store does not answer."
        except StoreError as error:
            return error.message
        return ""


class ServerState:
    """A server's store, runs, users and streams."""

    def __init__(
        self,
        settings: Settings,
        store: Store,
        *,
        authenticator: Authenticator,
        cookie: str,
        max_runs: int,
        users: Users | None = None,
        workspaces: str = "",
        ui: Path = UI,
        run_loop: RunLoopThread | None = None,
        fleet_scheduler: FleetScheduler | None = None,
    ) -> None:
        self.settings = settings
        self.redact = redactor(settings.secrets())
        self.store = store
        self.authenticator = authenticator
        self.keys = KeyCheck(authenticator)
        self.store_check = StoreCheck(store)
        self.cookie = cookie
        """Name of the session cookie. It includes the port, because a browser shares cookies between all
        ports of a machine."""
        self.users = users
        self.workspaces = workspaces
        """Folder whose projects users may name as workspace. Empty: none."""
        self.ui = ui
        """Folder of the built web UI, which may be missing."""
        self.scheduler = fleet_scheduler or LocalScheduler(
            store, settings, max_runs=max_runs, run_loop=run_loop
        )
        """Drives the runs in this process, or hands them to a fleet of workers."""
        self.scheduler.limit_of = self._limit_of
        self.folds = SharedFolds(store)
        self.broadcasts = Broadcasts(store, self.folds, self.scheduler)
        self.quotas = UserQuotas(store)
        self.changes = Changes(store, summary_of)
        self.streams: Counter[str] = Counter()
        """Open live streams by user."""
        self.started = time.monotonic()

    def _limit_of(self, owner: str) -> int:
        user = self.users.get(owner) if self.users and owner else None
        return user.max_runs if user else self.scheduler.max_runs

    async def run_for(self, caller: Caller, run_id: str) -> RunRow:
        """Return a run if the caller may see it. Otherwise raises the same error as for an unknown id, so
        that ids of other users' runs are not revealed."""
        try:
            row = await self.store.get(run_id)
        except UnknownRunError as error:
            raise _no_run(run_id) from error
        if caller.owner is not None and row.owner != caller.owner:
            raise _no_run(run_id)
        return row

    def end_streams(self) -> None:
        """End all live streams because the server stops. Clients reconnect later."""
        self.broadcasts.close()
        self.changes.close()


def _no_run(run_id: str) -> UnknownRunError:
    return UnknownRunError(f"There is no run {run_id}.", hint="`GET /api/runs` lists all runs.")


def server_state_of(request: Request) -> ServerState:
    return request.app.state.server


def caller_of(request: Request) -> Caller:
    """The authenticated caller."""
    return request.state.caller


def anyone_of(request: Request) -> Caller | None:
    """The authenticated caller of a route that needs no key, or None."""
    return getattr(request.state, "caller", None)


InState = Annotated[ServerState, Depends(server_state_of)]
By = Annotated[Caller, Depends(caller_of)]
ByAnyone = Annotated[Caller | None, Depends(anyone_of)]


async def exposition(state: ServerState, by: Caller) -> str:
    """Return the metrics in Prometheus text format: of all runs, or of the caller's own."""
    totals = await state.store.run_totals(by.owner)
    runs = [({"workflow": total.workflow, "status": total.status}, total.runs) for total in totals]
    calls = [({"workflow": total.workflow, "status": total.status}, total.usage.calls) for total in totals]
    usd = [({"workflow": total.workflow, "status": total.status}, total.usage.usd) for total in totals]
    tokens = [({"workflow": total.workflow, "status": total.status}, total.usage.tokens) for total in totals]
    running, queued = await state.scheduler.count_of(by.name if by.owner else None)
    parts = [
        _metric("podium_runs", "gauge", "Runs in the store.", runs),
        _metric("podium_model_calls", "gauge", "Model calls of these runs.", calls),
        _metric("podium_tokens", "gauge", "Tokens of these runs, in and out.", tokens),
        _metric("podium_cost_usd", "gauge", "What these runs have cost, in US dollars.", usd),
        _metric("podium_runs_driven", "gauge", "Runs that this server drives now.", [({}, running)]),
        _metric("podium_runs_queued", "gauge", "Runs that wait for a place.", [({}, queued)]),
    ]
    if by.owner is None:
        ends = [({"status": status}, number) for status, number in sorted(state.scheduler.finished.items())]
        uptime = round(time.monotonic() - state.started, 3)
        parts += [
            _metric("podium_stretches_total", "counter", "How stretches of driving ended.", ends),
            _metric(
                "podium_stream_readers", "gauge", "Readers of live events.", [({}, state.broadcasts.readers)]
            ),
            _metric("podium_uptime_seconds", "gauge", "Since the server started.", [({}, uptime)]),
        ]
    return "".join(parts)


def _metric(name: str, kind: str, text: str, samples: Iterable[tuple[dict[str, str], float]]) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        pairs = ",".join(f'{key}="{_escaped(label)}"' for key, label in labels.items())
        lines.append(f"{name}{{{pairs}}} {value:g}" if pairs else f"{name} {value:g}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
