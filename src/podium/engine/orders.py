"""Orders to a run that is under way: to pause or to end, and how long what is in flight may still take."""

from __future__ import annotations

import asyncio

from podium.engine.core import Core
from podium.engine.ending import Ending
from podium.errors import RunCancelledError, RunInterrupted, RunPausedError

CANCEL_GRACE_S = 0.5
"""How long a call in flight may still bring its reply after a cancel."""
PAUSE_GRACE_S = 10.0
"""How long calls in flight may take to be recorded when a run is paused, unless somebody says otherwise."""


class Orders:
    """What a driver was told from outside. The last word has a cancel; a second pause means: at once."""

    def __init__(self, pause_grace_s: float = PAUSE_GRACE_S) -> None:
        self.wake = asyncio.Event()
        """There is something for the driver to look at."""
        self.hurry = asyncio.Event()
        """What is in flight is not waited for any more."""
        self.given: RunInterrupted | None = None
        self.core: Core | None = None
        """The stretch that is under way: from an order on, nothing in it starts."""
        self._pause_grace_s = pause_grace_s

    @property
    def grace_s(self) -> float:
        """How long calls in flight may take to be recorded."""
        return CANCEL_GRACE_S if isinstance(self.given, RunCancelledError) else self._pause_grace_s

    @property
    def cancelled(self) -> Ending | None:
        """How the stretch ends if the run was cancelled."""
        given = self.given
        return Ending("cancelled", reason=str(given)) if isinstance(given, RunCancelledError) else None

    def cancel(self, reason: str = "") -> None:
        """End the run for good."""
        if isinstance(self.given, RunPausedError):  # what is in flight has less time now
            asyncio.get_running_loop().call_later(CANCEL_GRACE_S, self.hurry.set)
        self._give(RunCancelledError(reason or "cancelled"))

    def pause(self, reason: str = "paused", *, at_once: bool = False, grace_s: float | None = None) -> None:
        """Stop so that it can be resumed."""
        if at_once or grace_s == 0 or isinstance(self.given, RunPausedError):
            self.hurry.set()
        if grace_s is not None:
            self._pause_grace_s = grace_s
        if self.given is None:
            self._give(RunPausedError(reason))

    def _give(self, order: RunInterrupted) -> None:
        if self.given is None or isinstance(order, RunCancelledError):
            self.given = order
            if self.core is not None:
                self.core.stop = order
            self.wake.set()
