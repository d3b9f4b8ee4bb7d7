"""`podium cancel`: stop a run for good, whoever drives it."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from podium.api import cancel as cancel_run
from podium.cli.commands.runs import summary_of
from podium.cli.flags import AsJson, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.cli.terminal import print_json, say


async def cancel(
    run: RunId,
    /,
    *,
    reason: Annotated[str, Parameter(show_default=False, help="Why; it is kept in the log.")] = "",
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Stop a run for good. It cannot be resumed, only forked."""
    async with opened(store) as (settings, opened_store):
        found = await find_run(opened_store, run)
        row = await cancel_run(found.run_id, reason=reason, store=opened_store, settings=settings)
    if json:
        print_json(summary_of(row))
    else:
        say(f"Run {row.run_id} is {row.status}.")
    return 0
