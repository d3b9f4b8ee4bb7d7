"""Runs that somebody else drives: what is said of one that could not be taken up."""

from __future__ import annotations

import podium
from podium.api.control import go_on, refuse
from podium.engine.log import Store
from podium.errors import ModelUnavailableError, NotResumableError
from podium.settings import Settings


@podium.workflow
async def short(run: podium.Run, request: str) -> str:
    return request


async def last_of(store: Store, run_id: str) -> str:
    return (await store.read(run_id))[-1].type


async def test_a_run_that_is_over_has_not_failed_because_somebody_came_late(
    store: Store, settings: Settings
) -> None:
    """A worker whose database was away may be given a run again that has just ended."""
    result = await podium.run(short, "x", store=store, settings=settings)
    row = await store.get(result.run_id)
    try:
        await go_on(store, settings, result.run_id)
    except NotResumableError as error:
        await refuse(store, settings, row, error)
    assert await last_of(store, result.run_id) == "run.completed"
    assert (await store.get(result.run_id)).status == "completed"


async def test_nothing_is_said_of_a_run_that_has_ended_meanwhile(store: Store, settings: Settings) -> None:
    result = await podium.run(short, "x", store=store, settings=settings)
    await refuse(store, settings, await store.get(result.run_id), ModelUnavailableError("The model is gone."))
    assert await last_of(store, result.run_id) == "run.completed"
