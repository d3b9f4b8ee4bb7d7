"""Stopping a workflow and whatever it has under way, so that nothing that was paid for is lost."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from podium.engine.core import Core
from podium.engine.ending import Ending, ending_of
from podium.engine.orders import Orders

CANCEL_LIMIT_S = 1.8
"""After this the run is ended, whatever still runs is cut off from the log."""


async def stop(core: Core, main: asyncio.Task[Any], orders: Orders, grace: float) -> Ending:
    """Nothing starts any more; calls in flight get a moment to be recorded; then all is ended."""
    began = time.monotonic()
    for effect in list(core.effects):
        if not effect.calling and effect.task is not None:
            effect.task.cancel()
    await _drain(core, orders.hurry, began + grace)
    await end_all(core, main, max(time.monotonic() + 0.3, began + CANCEL_LIMIT_S))
    if orders.cancelled is not None:
        return orders.cancelled
    if main.done() and not main.cancelled():
        return ending_of(main, core)
    return Ending("paused", reason=str(orders.given))


async def end_all(core: Core, main: asyncio.Task[Any], limit: float | None = None) -> None:
    """End the workflow and whatever it has under way."""
    limit = time.monotonic() + CANCEL_LIMIT_S if limit is None else limit
    if core.effects:
        await asyncio.sleep(0)  # one that was started just now has to begin before it can end
    effects = [effect.task for effect in core.effects if effect.task is not None]
    for task in effects:
        task.cancel()
    await _end_task(main, limit)
    if effects:
        await asyncio.wait(effects, timeout=max(0.0, limit - time.monotonic()))


async def _end_task(task: asyncio.Task[Any], limit: float) -> None:
    """Cancel a task until it gives in, or time is up."""
    while not task.done() and time.monotonic() < limit:
        task.cancel()
        await asyncio.wait([task], timeout=min(0.2, max(0.0, limit - time.monotonic())))


async def _drain(core: Core, hurried: asyncio.Event, until: float) -> None:
    """Wait until nothing is in flight, or there is no time for that any more."""
    hurry = asyncio.get_running_loop().create_task(hurried.wait())
    try:
        while not hurried.is_set():
            calling = [e.task for e in core.effects if e.calling and e.task is not None]
            left = until - time.monotonic()
            if not calling or left <= 0:
                return
            await asyncio.wait([*calling, hurry], timeout=left, return_when=asyncio.FIRST_COMPLETED)
    finally:
        hurry.cancel()
