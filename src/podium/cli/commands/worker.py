"""`podium worker`: drive runs that a fleet is given."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from podium.cli.flags import StoreUrl, whole_number
from podium.cli.terminal import say
from podium.errors import UsageError
from podium.settings import Settings
from podium.stores.address import shown

Seconds = Annotated[float, Parameter(metavar="S", validator=Number(gte=0))]


async def worker(
    *,
    concurrency: Annotated[
        int,
        Parameter(metavar="N", converter=whole_number, validator=Number(gte=1), help="Most runs at once."),
    ] = 20,
    workflows: Annotated[
        str, Parameter(show_default=False, metavar="A,B", help="Drive only these workflows.")
    ] = "",
    drain_timeout: Annotated[
        Seconds, Parameter(help="How long calls in flight get to be recorded when it is stopped.")
    ] = 30.0,
    store: StoreUrl = None,
) -> int:
    """Drive runs that were started with `podium run --detach`, over HTTP, or by a schedule.

    Any number of workers share a store on PostgreSQL. SIGTERM or Ctrl-C stops a worker in order: it takes
    nothing new, and its runs go on elsewhere from where they are. A second one stops it at once.
    """
    settings = Settings.load(store=store)
    if find_spec("procrastinate") is None:
        raise UsageError("Workers are not installed.", hint="pip install 'podium[cluster]'")
    from podium.cluster.worker import Worker, Working, opened  # noqa: PLC0415 - an extra, slow to import

    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.WARNING)
    logging.getLogger("podium").setLevel(logging.INFO)
    working = Working(
        settings=settings, concurrency=concurrency, drain_s=drain_timeout,
        workflows=[name.strip() for name in workflows.split(",") if name.strip()],
    )  # fmt: skip
    async with opened(working) as (opened_store, engine):
        await Worker(working, opened_store, engine).work(
            lambda: say(f"This worker drives up to {concurrency} runs of {shown(settings.store)}.")
        )
    return 0
