"""Submission of runs to workers, and firing of schedules."""

from __future__ import annotations

import logging
import re
import time
from importlib.util import find_spec
from typing import Any

import msgspec

from podium.api import enqueue
from podium.api.admission import run_id_of
from podium.api.context import reply_config
from podium.api.control import MARKS, Change, requeue
from podium.cluster.port import Engine, Load, Schedule, Ticket
from podium.engine.budget import Budget
from podium.engine.log import RunRow, Store
from podium.errors import PodiumError, StoreError, UnknownRunError, UsageError
from podium.settings import Settings

LOG = logging.getLogger("podium.cluster")

_FIELD = re.compile(r"(?:[\d*/,-]|[A-Za-z]{3})+")
_NAMED = [[f"@{word}"] for word in ("hourly", "daily", "midnight", "weekly", "monthly", "yearly", "annually")]
MAX_DELAY_S = 600.0
"""Maximum delay in seconds after which a missed moment of a schedule is still made up for."""


class Start(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Arguments with which a schedule starts its runs."""

    workflow: str
    request: Any
    model: str | None = None
    model_for: dict[str, str] = {}
    reply_timeout: float | None = None
    reply_tokens: int | None = None
    budget: Budget = Budget()
    concurrency: int | None = None
    cache: bool | None = None
    approve: list[str] = []
    options: dict[str, Any] = {}


def check_cron(cron: str) -> None:
    """Raise `UsageError` for a cron expression that never fires, or that engines interpret differently:
    seconds, years, the last or third day, random values."""
    fields = cron.split()
    plain = fields in _NAMED or (len(fields) == 5 and all(map(_FIELD.fullmatch, fields)))
    if not plain or not comes(cron):
        raise no_moments(cron)


def comes(cron: str) -> bool:
    """Return whether the expression ever fires: the 31st of February never does. True without the extra that
    is needed to check; opening the engine reports that it is missing."""
    if find_spec("croniter") is None:
        return True
    from croniter import CroniterBadDateError, croniter  # noqa: PLC0415 - of the extra; not everybody has it

    try:
        return croniter.is_valid(cron) and croniter(cron).get_next() > 0
    except CroniterBadDateError:
        return False


def no_moments(cron: str) -> UsageError:
    return UsageError(
        f"{cron!r} is not a cron expression that ever fires.",
        hint="Give minute, hour, day, month and weekday, such as '0 8 * * 1-5'.",
    )


async def fire(store: Store, settings: Settings, engine: Engine, schedule: Schedule, moment: int) -> None:
    """Start the run for one moment of a schedule. Its id is derived from the schedule and the moment, so that
    there is exactly one run, however often and by however many workers this is called."""
    if moment < schedule.created_at or time.time() - moment > MAX_DELAY_S:
        return
    run_id = run_id_of(f"{schedule.name} {schedule.created_at} {moment}")
    try:
        row = await _run_of(store, settings, schedule, moment, run_id)
    except StoreError:
        raise
    except PodiumError as error:
        LOG.error("The schedule %s could not start a run: %s", schedule.name, error)
        return
    if row.status == "queued":
        await engine.submit([Ticket(row.run_id, row.workflow)])
        LOG.info("The schedule %s has started run %s.", schedule.name, row.run_id)


async def _run_of(store: Store, settings: Settings, schedule: Schedule, moment: int, run_id: str) -> RunRow:
    try:
        return await store.get(run_id)
    except UnknownRunError:
        start = msgspec.convert(schedule.start, Start)
    limits = reply_config(start.reply_timeout, start.reply_tokens)
    try:
        return await enqueue(
            start.workflow,
            start.request,
            store=store,
            settings=settings,
            model=start.model,
            model_for=start.model_for or None,
            budget=start.budget,
            concurrency=start.concurrency,
            cache=start.cache,
            approve=start.approve,
            options=start.options,
            marks={**MARKS, **limits, "schedule": schedule.name, "moment": moment},
            run_id=run_id,
        )
    except StoreError:
        return await store.get(run_id)  # another worker was faster, or the store is away


class Fleet:
    """Submits runs to the engine. If submission fails half-way, the run stays `queued` in the store, where a
    worker's sweep finds it."""

    def __init__(self, store: Store, settings: Settings, engine: Engine) -> None:
        self._store = store
        self._settings = settings
        self.engine = engine

    async def accept(self, row: RunRow) -> None:
        """Submit a run that is `queued` in the store."""
        await self.engine.submit([Ticket(row.run_id, row.workflow)])

    async def go_on(self, row: RunRow, change: Change | None = None, *, take_over: bool = False) -> None:
        """Continue a run as soon as a worker has a free slot."""
        await requeue(self._store, self._settings, row.run_id, change, take_over=take_over)
        await self.accept(row)

    async def forget(self, run_id: str) -> None:
        """Withdraw a run that must not be driven any more."""
        await self.engine.forget(run_id)

    async def load(self) -> Load:
        return await self.engine.load()
