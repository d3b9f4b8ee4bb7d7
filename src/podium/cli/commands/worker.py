"""`podium worker`: a process that drives the runs of a fleet."""

from __future__ import annotations

import logging
from contextlib import AsyncExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from podium.cli.flags import EngineName, StoreUrl, seconds_of, whole_number
from podium.cli.terminal import say
from podium.errors import UsageError
from podium.settings import Settings, nearest
from podium.stores.address import shown
from podium.workflows import SHIPPED

if TYPE_CHECKING:
    from podium.cluster.worker import Working


Natural = Annotated[int, Parameter(metavar="N", converter=whole_number, validator=Number(gte=1))]
Port = Annotated[int | None, Parameter(converter=whole_number, validator=Number(gte=0, lte=65535))]


async def worker(
    *,
    concurrency: Annotated[Natural, Parameter(help="Most runs at once.")] = 20,
    workflows: Annotated[
        str | None, Parameter(show_default=False, metavar="A,B", help="Drive only these workflows.")
    ] = None,
    drain_timeout: Annotated[
        float,
        Parameter(
            metavar="TIME", converter=seconds_of,
            help="How long calls in flight get to be recorded when it is stopped.",
        ),
    ] = 30.0,
    host: Annotated[str, Parameter(help="Where /health, /ready and /metrics answer.")] = "127.0.0.1",
    port: Annotated[Port, Parameter(help="Their port; 0 takes any free one, none: they do not.")] = None,
    store: StoreUrl = None,
    engine: EngineName = None,
) -> int:  # fmt: skip
    """Drive runs that were started with `podium run --detach`, over HTTP, or by a schedule.

    Any number of workers share a store on PostgreSQL. SIGTERM or Ctrl-C stops a worker in order: it takes
    nothing new, and its runs go on elsewhere from where they are. A second one stops it at once.
    """
    settings = Settings.load(store=store, engine=engine)
    if find_spec("starlette") is None or find_spec("uvicorn") is None:
        raise UsageError("Workers are not installed.", hint="pip install 'podium[cluster]'")
    from podium.cluster.health import answering  # noqa: PLC0415 - an extra, and slow to import
    from podium.cluster.worker import Worker, Working, opened  # noqa: PLC0415 - an extra, slow to import

    _begin_to_log()
    working = Working(
        settings=settings, concurrency=concurrency, drain_s=drain_timeout,
        workflows=_names(workflows),
    )  # fmt: skip
    async with AsyncExitStack() as stack:
        opened_store, carrier = await stack.enter_async_context(opened(working))
        found = Worker(working, opened_store, carrier)
        if port is not None:
            port = await stack.enter_async_context(answering(found, carrier, host, port))
            say(f"Health, readiness and metrics at http://{host}:{port}.")
        await found.work(lambda: _tell(working))
    return 0


def _names(workflows: str | None) -> list[str]:
    names = [name.strip() for name in (workflows or "").split(",") if name.strip()]
    if workflows is not None and not names:
        raise UsageError("--workflows names none.", hint="Leave it away to drive all.")
    return names


def _tell(working: Working) -> None:
    say(f"This worker drives up to {working.concurrency} runs of {shown(working.settings.store)}.")
    if working.workflows:
        say(f"It takes only runs of {', '.join(working.workflows)}.")
    for name in working.workflows:
        if name not in SHIPPED:
            meant = nearest(name, SHIPPED)
            asked = f" Did you mean {meant}?" if meant else ""
            say(f"{name} is none of Podium's workflows, so it must be one of yours.{asked}")


def _begin_to_log() -> None:
    """Log one line per event to stderr, where the operator can collect them."""
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("podium").setLevel(logging.INFO)
