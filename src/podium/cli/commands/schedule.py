"""`podium schedule`: runs that a fleet starts periodically."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from cyclopts import Parameter

from podium.api.admission import check_start
from podium.api.context import reply_config
from podium.cli.card import print_table
from podium.cli.drive import fleet_of, read_request
from podium.cli.flags import AsJson, BudgetFlags, EngineName, ModelFlags, StoreUrl
from podium.cli.opening import opened
from podium.cli.terminal import clean, out, print_json, say
from podium.cluster.fleet import Start, check_cron
from podium.cluster.port import Engine, Schedule
from podium.errors import UsageError
from podium.report.words import one_line
from podium.workflows import find_workflow

MODELS, BUDGET = ModelFlags(), BudgetFlags()
Name = Annotated[str, Parameter(help="The name of a schedule.")]


async def add(
    cron: Annotated[str, Parameter(help="Minute, hour, day, month and weekday in UTC: '0 8 * * 1-5'.")],
    workflow: Annotated[str, Parameter(help="A workflow's name, or FILE.py:name.")],
    request: Annotated[str, Parameter(help="What each run should do; `@FILE` reads a file.")],
    /,
    *,
    name: Annotated[str, Parameter(show_default=False, help="What to call it; else it gets a name.")] = "",
    option: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", show_default=False, metavar="NAME=VALUE",
            help="An option of the workflow; may be repeated.",
        ),
    ] = (),
    models: ModelFlags = MODELS,
    budget: BudgetFlags = BUDGET,
    store: StoreUrl = None,
    engine: EngineName = None,
    json: AsJson = False,
) -> int:  # fmt: skip
    """Start a run again and again, at moments that a cron expression names.

    Each moment starts exactly one run, however many workers there are. One at which no worker was there is
    made up for within ten minutes, or not at all. As in cron, a day and a weekday together mean either.
    """
    cron = " ".join(cron.split())
    check_cron(cron)
    if not name.isprintable():
        raise UsageError("The name of a schedule is one line of plain text.", hint="Such as --name morning.")
    text = clean(read_request(request))
    options = {key: clean(value) for key, value in _options(option).items()}
    found = find_workflow(workflow)
    check_start(found, text, budget.totals(), None, (), options)
    start = Start(
        workflow=found.ref, request=text, model=models.model, model_for=models.per_role() or {},
        **reply_config(models.reply_timeout, models.reply_tokens),
        budget=budget.totals(), options=options,
    )  # fmt: skip
    made = Schedule(
        name=name or _name(found.name),
        cron=cron,
        workflow=found.name,
        start=msgspec.to_builtins(start),
        created_at=time.time(),
    )
    async with _engine(store, engine) as carrier:
        await carrier.add_schedule(made)
    if json:
        print_json(_shown(made))
    else:
        say(f"The schedule {made.name} starts {found.name} at {cron} (UTC).")
    return 0


async def list_(*, store: StoreUrl = None, engine: EngineName = None, json: AsJson = False) -> int:
    """The schedules, and what they start."""
    async with _engine(store, engine) as carrier:
        found = await carrier.schedules()
    if json:
        print_json({"schedules": [_shown(schedule) for schedule in found]})
    elif not found:
        say(("There is no schedule. Make one with `podium schedule add`.", "dim"))
    else:
        print_table(out(), ["name", "when (UTC)", "workflow", "request"], [_cells(one) for one in found])
    return 0


async def remove(name: Name, /, *, store: StoreUrl = None, engine: EngineName = None) -> int:
    """Start no more runs of a schedule. Those that it has started go on."""
    async with _engine(store, engine) as carrier:
        if not await carrier.remove_schedule(name):
            known = ", ".join(one.name for one in await carrier.schedules())
            raise UsageError(f"There is no schedule {name}.", hint=f"There are: {known or 'none'}.")
    say(f"The schedule {name} is gone.")
    return 0


@asynccontextmanager
async def _engine(store: str | None, engine: str | None) -> AsyncGenerator[Engine]:
    async with (
        opened(store, engine=engine) as (settings, opened_store),
        fleet_of(settings, opened_store) as fleet,
    ):
        yield fleet.engine


def _options(given: tuple[str, ...]) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not (equals and key.strip()):
            raise UsageError(f"--option {pair!r} is not of the form NAME=VALUE.")
        found[key.strip().replace("-", "_")] = value
    return found


def _cells(schedule: Schedule) -> list[str]:
    return [schedule.name, schedule.cron, schedule.workflow, one_line(str(schedule.start["request"]))]


def _name(workflow: str) -> str:
    return f"{workflow}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _shown(schedule: Schedule) -> dict[str, object]:
    made = datetime.fromtimestamp(schedule.created_at, UTC).isoformat(timespec="seconds")
    return {
        "name": schedule.name, "cron": schedule.cron, "workflow": schedule.workflow, "start": schedule.start,
        "created_at": made.replace("+00:00", "Z"),
    }  # fmt: skip
