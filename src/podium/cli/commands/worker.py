"""`podium worker` and `podium schedule`: drive the runs of a fleet, and start runs periodically."""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import msgspec
from cyclopts import Parameter
from cyclopts.validators import Number

from podium.api.admission import check_start
from podium.api.context import reply_config
from podium.cli.card import print_table
from podium.cli.drive import fleet_of, read_request
from podium.cli.flags import (
    AsJson,
    BudgetFlags,
    EngineName,
    ModelFlags,
    StoreUrl,
    duration,
    option,
    whole_number,
)
from podium.cli.store import opened
from podium.cli.terminal import clean, out, print_json, say
from podium.cluster.fleet import Start, check_cron
from podium.cluster.port import Engine, Schedule
from podium.errors import UsageError
from podium.report.words import one_line
from podium.settings import Settings, nearest
from podium.stores import shown
from podium.workflows import SHIPPED, find_workflow

if TYPE_CHECKING:
    from podium.cluster.worker import Working


Natural = Annotated[int, Parameter(metavar="N", converter=whole_number, validator=Number(gte=1))]
Port = Annotated[int | None, Parameter(converter=whole_number, validator=Number(gte=0, lte=65535))]


async def worker(
    *,
    concurrency: Annotated[Natural, Parameter(help="Maximum concurrent runs.")] = 20,
    workflows: Annotated[
        str | None, Parameter(show_default=False, metavar="A,B", help="Execute only these workflows.")
    ] = None,
    drain_timeout: Annotated[
        float, duration("Time for calls in flight to finish when the worker stops.")
    ] = 30.0,
    host: Annotated[str, Parameter(help="Address of /health, /ready and /metrics.")] = "127.0.0.1",
    port: Annotated[
        Port, Parameter(help="Port for health and metrics. 0 picks a free port; omit to disable.")
    ] = None,
    store: StoreUrl = None,
    engine: EngineName = None,
) -> int:
    """Execute runs that were started with `podium run --detach`, over HTTP, or by a schedule.

    Any number of workers can share a PostgreSQL store. SIGTERM or Ctrl-C stops a worker gracefully: it takes
    no new runs, and other workers continue its runs. A second signal stops it at once.
    """
    settings = Settings.load(store=store, engine=engine)
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise UsageError(
            "Workers are not installed.", hint="Install them with `pip install 'podium[cluster]'`."
        )
    from podium.cluster.health import answering  # noqa: PLC0415 - an extra, and slow to import
    from podium.cluster.worker import Worker, Working, opened  # noqa: PLC0415 - an extra, slow to import

    _begin_to_log()
    working = Working(
        settings=settings,
        concurrency=concurrency,
        drain_s=drain_timeout,
        workflows=_names(workflows),
    )
    async with AsyncExitStack() as stack:
        opened_store, carrier = await stack.enter_async_context(opened(working))
        driver = Worker(working, opened_store, carrier)
        if port is not None:
            port = await stack.enter_async_context(answering(driver, carrier, host, port))
            say(f"Health, readiness and metrics at http://{host}:{port}.")
        await driver.work(lambda: _print_start(working))
    return 0


def _names(workflows: str | None) -> list[str]:
    names = [name.strip() for name in (workflows or "").split(",") if name.strip()]
    if workflows is not None and not names:
        raise UsageError("--workflows is empty.", hint="Omit it to execute all workflows.")
    return names


def _print_start(working: Working) -> None:
    say(f"Worker started: up to {working.concurrency} runs of {shown(working.settings.store)}.")
    if working.workflows:
        say(f"Only runs of {', '.join(working.workflows)}.")
    for name in working.workflows:
        if name not in SHIPPED:
            meant = nearest(name, SHIPPED)
            hint = f" Did you mean {meant}?" if meant else ""
            say(f"{name} is not a shipped workflow; it must be one of yours.{hint}")


def _begin_to_log() -> None:
    """Log one line per event to stderr, where the operator can collect them."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("podium").setLevel(logging.INFO)


MODELS, BUDGET = ModelFlags(), BudgetFlags()
Name = Annotated[str, Parameter(help="Name of a schedule.")]


async def add(
    cron: Annotated[str, Parameter(help="Cron expression in UTC, e.g. '0 8 * * 1-5'.")],
    workflow: Annotated[str, Parameter(help="Workflow name, or FILE.py:name.")],
    request: Annotated[str, Parameter(help="Task of each run; `@FILE` reads a file.")],
    /,
    *,
    name: Annotated[str, option("Name of the schedule; default: a generated one.")] = "",
    option: Annotated[
        tuple[str, ...], option("Option of the workflow; repeatable.", metavar="NAME=VALUE")
    ] = (),
    models: ModelFlags = MODELS,
    budget: BudgetFlags = BUDGET,
    store: StoreUrl = None,
    engine: EngineName = None,
    json: AsJson = False,
) -> int:
    """Start a run periodically, by a cron expression.

    Each time starts exactly one run, with any number of workers. If no worker is running, the start is made
    up within ten minutes, or skipped. As in cron, day and weekday together match either.
    """
    cron = " ".join(cron.split())
    check_cron(cron)
    if not name.isprintable():
        raise UsageError(
            "The name of a schedule must be one line of plain text.", hint="For example: --name morning."
        )
    text = clean(read_request(request))
    options = {key: clean(value) for key, value in _options(option).items()}
    chosen = find_workflow(workflow)
    check_start(chosen, text, budget.totals(), None, (), options)
    start = Start(
        workflow=chosen.ref,
        request=text,
        model=models.model,
        model_for=models.per_role() or {},
        **reply_config(models.reply_timeout, models.reply_tokens),
        budget=budget.totals(),
        options=options,
    )
    made = Schedule(
        name=name or _name(chosen.name),
        cron=cron,
        workflow=chosen.name,
        start=msgspec.to_builtins(start),
        created_at=time.time(),
    )
    async with _engine(store, engine) as carrier:
        await carrier.add_schedule(made)
    if json:
        print_json(_shown(made))
    else:
        say(f"The schedule {made.name} starts {chosen.name} at {cron} (UTC).")
    return 0


async def list_(*, store: StoreUrl = None, engine: EngineName = None, json: AsJson = False) -> int:
    """List schedules."""
    async with _engine(store, engine) as carrier:
        schedules = await carrier.schedules()
    if json:
        print_json({"schedules": [_shown(schedule) for schedule in schedules]})
    elif not schedules:
        say(("There are no schedules. Add one with `podium schedule add`.", "dim"))
    else:
        print_table(
            out(), ["name", "when (UTC)", "workflow", "request"], [_cells(schedule) for schedule in schedules]
        )
    return 0


async def remove(name: Name, /, *, store: StoreUrl = None, engine: EngineName = None) -> int:
    """Remove a schedule. Runs that it has started continue."""
    async with _engine(store, engine) as carrier:
        if not await carrier.remove_schedule(name):
            known = ", ".join(schedule.name for schedule in await carrier.schedules())
            raise UsageError(f"There is no schedule {name}.", hint=f"Schedules: {known or 'none'}.")
    say(f"Removed the schedule {name}.")
    return 0


@asynccontextmanager
async def _engine(store: str | None, engine: str | None) -> AsyncGenerator[Engine]:
    async with (
        opened(store, engine=engine) as (settings, opened_store),
        fleet_of(settings, opened_store) as fleet,
    ):
        yield fleet.engine


def _options(pairs: tuple[str, ...]) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not (equals and key.strip()):
            raise UsageError(
                f"--option {pair!r} is not of the form NAME=VALUE.", hint="For example: --option rounds=2."
            )
        options[key.strip().replace("-", "_")] = value
    return options


def _cells(schedule: Schedule) -> list[str]:
    return [schedule.name, schedule.cron, schedule.workflow, one_line(str(schedule.start["request"]))]


def _name(workflow: str) -> str:
    return f"{workflow}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _shown(schedule: Schedule) -> dict[str, object]:
    made = datetime.fromtimestamp(schedule.created_at, UTC).isoformat(timespec="seconds")
    return {
        "name": schedule.name,
        "cron": schedule.cron,
        "workflow": schedule.workflow,
        "start": schedule.start,
        "created_at": made.replace("+00:00", "Z"),
    }
