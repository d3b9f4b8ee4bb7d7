"""`podium brain forget`: remove facts for good, with their history."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from podium.cli.facts import ProjectName, fact_meant, opened_brain
from podium.cli.flags import AsJson, StoreUrl
from podium.cli.questions import ask_person
from podium.cli.terminal import interactive, print_json, say
from podium.engine.events import RunWaiting
from podium.errors import UsageError
from podium.report.words import count, one_line


async def forget(
    *facts: Annotated[str, Parameter(help="Ids of facts, or the beginnings of them.")],
    project: ProjectName = None,
    run: Annotated[
        str, Parameter(show_default=False, metavar="RUN", help="Everything that was taken from this run.")
    ] = "",
    all: Annotated[
        bool, Parameter(negative="", show_default=False, help="Everything that the project knows.")
    ] = False,
    yes: Annotated[
        bool, Parameter(negative="", show_default=False, help="Forget without asking first.")
    ] = False,
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Remove facts for good, with their history.

    To take a fact out of canon and keep what became of it, discard it with `podium brain review`.
    """
    if sum(map(bool, (facts, run, all))) != 1:
        raise UsageError("Say what to forget: ids of facts, --run RUN, or --all.")
    async with opened_brain(store, project) as (_, _, brain):
        known = await brain.facts(())
        meant = known if all else [fact for fact in known if run and fact.source_run.startswith(run)]
        meant = meant or [fact_meant(reference, known) for reference in facts]
        if not meant:
            raise UsageError(f"No fact of {one_line(brain.project)} was taken from a run {run!r}.")
        what = count(len(meant), "fact")
        if not yes and not await _agreed(f"Forget {what} of {one_line(brain.project)}?", as_json=json):
            say("Nothing was forgotten.")
            return 0
        gone = await brain.forget(None if all else [fact.id for fact in meant])
    if json:
        print_json({"project": brain.project, "forgotten": gone})
    else:
        say(f"Forgot {count(gone, 'fact')} of {one_line(brain.project)}.")
    return 0


async def _agreed(question: str, *, as_json: bool) -> bool:
    if as_json or not interactive():
        raise UsageError("Forgetting needs a word of consent.", hint="Add --yes.")
    return await ask_person(RunWaiting(question=question, choices=["yes", "no"])) == "yes"
