"""What a worker does with a run that an engine gives it: one stretch, under the store's lease."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable

from podium.api import RunHandle
from podium.api.going_on import go_on, refuse
from podium.cluster.port import LOST
from podium.cluster.shared import SharedStore
from podium.engine.log import RunRow
from podium.engine.result import RunResult
from podium.errors import FencedError, PodiumError, RunLockedError, StoreError, UnknownRunError
from podium.settings import Settings

LOG = logging.getLogger("podium.cluster")

STOPPED = "worker stopped"
"""Why a run is paused that another worker goes on with."""
NAP_S = 5.0
"""A run that sleeps for longer gives its place away."""
_ENDED = frozenset({"completed", "partial", "failed", "cancelled"})
"""Whoever lets such a run go on puts it in line first, and then it is `queued`."""
_LOOK_S = 0.25
_STORE_S = 5.0
"""After so long a run is tried again whose store took nothing more."""


Left = Callable[[str], Awaitable[object]]
"""Called when an owner has room for another run."""


class Driving:
    """All runs that this worker drives."""

    def __init__(self, store: SharedStore, settings: Settings, lease_s: float, left: Left) -> None:
        self._store = store
        self._settings = settings
        self._lease_s = lease_s
        self._left = left
        self._handles: dict[str, RunHandle] = {}
        self._stopping = False
        self._grace_s = 0.0
        self.finished: Counter[str] = Counter()
        """How stretches ended, since the worker started."""

    @property
    def running(self) -> int:
        return len(self._handles)

    def stop(self, grace_s: float) -> None:
        """Pause everything, so that others can go on with it. Calls in flight get time to be recorded."""
        self._stopping = True
        self._grace_s = grace_s
        for handle in self._handles.values():
            handle.request_pause(STOPPED, grace_s=grace_s)

    def stop_at_once(self) -> None:
        """Also cut off what is in flight."""
        self.stop(0.0)

    async def drive(self, run_id: str) -> float | None:
        """One stretch; see `podium.cluster.port.Drive`."""
        if self._stopping:
            return time.time()
        status, row = "not started", None
        try:
            row = await self._store.get(run_id)
            if row.status in _ENDED:
                return None  # nobody wants it driven: it was told twice, or somebody was quicker
            if row.owner and not await self._store.take_place(run_id, row.owner):
                LOG.info("Run %s waits: %s has as many under way as they may.", run_id, row.owner)
                return None  # whoever ends one of them submits the next
            result = await self._stretch(row)
            status = result.status
            return _again(result)
        except FencedError:
            LOG.warning("Run %s is not driven here any more: it was taken over by another worker.", run_id)
        except UnknownRunError:
            LOG.warning("Run %s is gone.", run_id)
        except RunLockedError as error:
            LOG.info("Run %s is left alone: %s", run_id, error)
        except StoreError as error:
            LOG.warning("Run %s has to wait: %s", run_id, error)
            return time.time() + _STORE_S
        except PodiumError as error:
            LOG.warning("Run %s could not be driven: %s", run_id, error)
            await refuse(self._store, self._settings, await self._store.get(run_id), error)
        finally:
            self.finished[status] += 1
            await self._leave(row)
        return None

    async def _leave(self, row: RunRow | None) -> None:
        """Give the place of a run to the next of its owner."""
        if row is None or not row.owner:
            return
        try:
            await self._store.leave_place(row.run_id)
            await self._left(row.owner)
        except StoreError as error:
            LOG.info("The sweep will find the next run of %s: %s", row.owner, error)

    async def _stretch(self, row: RunRow) -> RunResult:
        handle = await self._taken_up(row.run_id)
        self._handles[row.run_id] = handle
        if self._stopping:  # since it was looked at
            handle.request_pause(STOPPED, grace_s=self._grace_s)
        LOG.info("Run %s (%s) is driven here.", row.run_id, row.workflow)
        began = time.monotonic()
        try:
            result = await handle.result()
        except asyncio.CancelledError as error:  # the engine wants it back
            await handle.abandon(STOPPED if LOST in error.args else "paused")
            raise
        finally:
            del self._handles[row.run_id]
        LOG.info("Run %s is %s after %.1f s.", row.run_id, result.status, time.monotonic() - began)
        return result

    async def _taken_up(self, run_id: str) -> RunHandle:
        """An engine may notice that a worker is gone a moment before its lease in the store is over."""
        until = time.monotonic() + self._lease_s
        while True:
            try:
                return await go_on(self._store, self._settings, run_id, nap_s=NAP_S)
            except RunLockedError:
                if self._stopping or time.monotonic() > until:
                    raise
            await asyncio.sleep(_LOOK_S)


def _again(result: RunResult) -> float | None:
    """When a run wants to be driven again that was stopped by nobody's will."""
    if result.status != "paused":
        return None
    if result.wake_at is not None:
        return result.wake_at
    if result.stop_reason == STOPPED:
        return time.time()
    return time.time() + _STORE_S if result.stop_reason == "store error" else None
