"""`podium answer`: answer a run that waits for a person, and drive it on if nobody does."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

from cyclopts import Parameter

from podium.api import answer as answer_run
from podium.api import resume
from podium.api.going_on import is_served
from podium.cli.detaching import fleet_of
from podium.cli.drive import Foreground
from podium.cli.flags import OutputFlags, RunId, StoreUrl
from podium.cli.opening import find_run, opened
from podium.cli.request import read_request
from podium.cli.terminal import print_json, say
from podium.errors import RunLockedError, UsageError
from podium.stores import is_postgres

OUTPUT = OutputFlags()


async def answer(
    run: RunId,
    answer: Annotated[str, Parameter(help="approve, reject or any text; `@FILE` reads a file.")],
    /,
    *,
    question: Annotated[
        str | None, Parameter(metavar="PATH", help="Which question, when several are open.")
    ] = None,
    detach: Annotated[
        bool,
        Parameter(negative="", show_default=False, help="Only leave the answer; do not drive the run on."),
    ] = False,
    store: StoreUrl = None,
    output: OutputFlags = OUTPUT,
) -> int:
    """Answer a run that waits for a person.

    If no process drives the run, it goes on right here, as with `podium resume`; one that workers drive goes
    on there.
    """
    text = read_request(answer, "answer", "Say approve, reject or any text.")
    async with opened(store) as (settings, opened_store):
        found = await find_run(opened_store, run)
        path = await answer_run(
            found.run_id, text, question=question, by="cli", store=opened_store, settings=settings
        )
        after = (await opened_store.read(found.run_id))[-1].seq
        if not detach and is_postgres(settings.store) and await is_served(opened_store, found.run_id):
            detach = True
            with suppress(RunLockedError, UsageError):  # a worker hears of it through the inbox
                async with fleet_of(settings, opened_store) as fleet:
                    await fleet.go_on(found)
        if not detach:
            try:
                handle = await resume(found.run_id, store=opened_store, settings=settings)
            except RunLockedError:
                detach = True  # somebody drives it already and takes the answer from the inbox
            else:
                return await Foreground(settings, opened_store, output).drive(handle, after=after)
    if output.json:
        print_json({"run_id": found.run_id, "question": path, "answer": text})
    elif not output.quiet:
        say(f"Answered {path} of run {found.run_id}.")
    return 0
