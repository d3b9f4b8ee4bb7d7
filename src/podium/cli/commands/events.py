"""`podium events`: the log of a run, optionally followed live."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from podium.cli.flags import OUTPUT, RunId, StoreUrl, whole_number
from podium.cli.live import JsonLines, Lines, View
from podium.cli.opening import find_run, opened
from podium.cli.terminal import out
from podium.engine.events import TERMINAL, Event
from podium.engine.log import RunRow, Store
from podium.engine.state import RunState
from podium.workflows import presentation_of

OVER = frozenset({"completed", "partial", "failed", "cancelled"})


async def events(
    run: RunId = "last",
    /,
    *,
    follow: Annotated[
        bool, Parameter(alias="-f", negative="", show_default=False, help="Keep watching until the run ends.")
    ] = False,
    after: Annotated[
        int,
        Parameter(
            metavar="SEQ",
            converter=whole_number,
            validator=Number(gte=0),
            help="Only events after this sequence number.",
        ),
    ] = 0,
    store: StoreUrl = None,
    json: Annotated[
        bool,
        Parameter(negative="", show_default=False, group=OUTPUT, help="Every event as one line of JSON."),
    ] = False,
) -> int:
    """The log of a run, one line per event.

    With --follow it goes on until the run is over; also while it waits or is paused.
    """
    async with opened(store) as (_, opened_store):
        found = await find_run(opened_store, run)
        state, shown = RunState(), presentation_of(found.workflow)
        view: View = JsonLines() if json else Lines(out(), state, shown, everything=True)
        last = 0
        for row in await opened_store.read(found.run_id, after=after if json else 0):
            event = row.to_event(found.run_id)
            last = event.seq
            if event.seq > after:
                view.show(event)
            else:
                state.apply(event)
                shown.apply(event)
        if follow:
            await _follow(opened_store, found, view, last)
    return 0


async def _follow(store: Store, run: RunRow, view: View, after: int) -> None:
    """Show appended events until the run is over."""
    if (await store.get(run.run_id)).status in OVER and not await store.read(
        run.run_id, after=after, limit=1
    ):
        return
    async for row in store.tail(run.run_id, after=after):
        event: Event = row.to_event(run.run_id)
        view.show(event)
        if event.type in TERMINAL:
            return
