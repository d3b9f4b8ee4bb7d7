"""Leaving runs to a fleet: a command hands them over and ends."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from podium.cli.commands.runs import summary_of
from podium.cli.flags import OutputFlags
from podium.cli.opening import Commands
from podium.cli.terminal import print_json, print_raw, say
from podium.cluster.fleet import Fleet
from podium.cluster.opening import LOCAL, open_engine
from podium.engine.log import RunRow, Store
from podium.errors import UsageError
from podium.settings import Settings


@asynccontextmanager
async def fleet_of(settings: Settings, store: Store) -> AsyncGenerator[Fleet]:
    """The fleet of a store."""
    if settings.engine == LOCAL:
        raise UsageError("The engine `local` has no workers.", hint="Leave --engine away, or name another.")
    engine = await open_engine(settings.engine, settings.store)
    try:
        yield Fleet(store, settings, engine)
    finally:
        await engine.close()


def tell_queued(row: RunRow, settings: Settings, output: OutputFlags) -> int:
    """What became of a run that was handed over."""
    if output.json:
        print_json(summary_of(row))
    elif output.quiet:
        print_raw(row.run_id.encode())
    else:
        say(f"Run {row.run_id} is queued; a worker drives it.")
        say((f"Watch it with: {Commands(settings)('events', row.run_id, '--follow')}", "dim"))
    return 0
