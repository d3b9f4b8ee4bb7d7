"""`podium brain review`: decide about the facts that a run proposes."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from cyclopts import Parameter

from podium.brain import Brain, Fact
from podium.brain.review import Review
from podium.cli.facts import (
    ProjectName,
    as_data,
    clash_data,
    embed_quietly,
    print_fact,
    project_meant,
)  # fmt: skip
from podium.cli.failure import FAILED, OK
from podium.cli.flags import AsJson, RunId, StoreUrl
from podium.cli.opening import Commands, find_run, opened
from podium.cli.reviewing import Wanted, ask_about, decide
from podium.cli.terminal import interactive, print_json, say
from podium.engine.codec import decode, encode
from podium.engine.log import Store
from podium.errors import UnknownRunError, UsageError
from podium.report.words import count, one_line

Ids = Annotated[
    tuple[str, ...], Parameter(negative="", show_default=False, metavar="all|IDS", consume_multiple=False)
]


async def review(
    run: RunId = "last",
    /,
    *,
    project: ProjectName = None,
    accept: Annotated[Ids, Parameter(help="Make these canon: ids with commas between, or all.")] = (),
    replace: Annotated[Ids, Parameter(help="Make these canon in the place of what they contradict.")] = (),
    discard: Annotated[Ids, Parameter(help="Leave these out of canon.")] = (),
    edit: Annotated[
        tuple[str, ...],
        Parameter(
            negative="", show_default=False, metavar="ID=VALUE",
            help="Another value for a fact; ID.subject=…, ID.predicate=… and ID.kind=… work too.",
        ),
    ] = (),
    by: Annotated[str, Parameter(metavar="NAME", help="Who decides; kept in the history.")] = "cli",
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:  # fmt: skip
    """Accept, edit or discard the facts that a run proposes.

    On a terminal it asks about one after the other, and what was decided stays when you leave. Accepting all
    leaves out what contradicts canon. With --project instead of a run, everything that waits is reviewed.
    """
    wanted = Wanted.of(accept, replace, discard, edit)
    async with opened(store) as (settings, opened_store):
        everything = run == "last" and project is not None
        run_id = "" if everything else await _run_id(opened_store, run)
        waiting = await opened_store.list_facts(source_run=run_id, status=("proposed",))
        name = await _project(opened_store, project, waiting, run_id)
        if not name:
            _say_nothing(run_id, as_json=json)
            return OK
        waiting = [fact for fact in waiting if fact.project == name]
        brain = await Brain.open(opened_store, name, settings=settings)
        reviewing = Review(brain, by=by.strip() or "cli")
        try:
            if wanted:
                known = await brain.facts((), run_id)
                await decide(reviewing, wanted, waiting, known)
            elif waiting and interactive() and not json:
                await ask_about(reviewing, waiting)
            warning = await embed_quietly(brain) if reviewing.outcome.accepted else ""
            left = await brain.facts(("proposed",), run_id)
            await _tell(reviewing, left, run_id, Commands(settings), as_json=json, asked=bool(wanted))
        finally:
            await brain.close()
    if warning:
        say(("Warning: ", "bold yellow"), one_line(warning), to_stderr=True)
    return FAILED if reviewing.outcome.changed_meanwhile else OK


async def _run_id(store: Store, reference: str) -> str:
    """A run of this store; or of another, from which facts were imported."""
    try:
        return (await find_run(store, reference)).run_id
    except UnknownRunError:
        if await store.list_facts(source_run=reference, limit=1):
            return reference
        raise


async def _project(store: Store, given: str | None, waiting: list[Fact], run_id: str) -> str:
    """The project whose facts are reviewed; empty when nothing waits."""
    if given is not None:
        return await project_meant(store, given)
    facts = waiting or await store.list_facts(source_run=run_id)
    names = list(dict.fromkeys(fact.project for fact in facts))
    if len(names) > 1:
        raise UsageError(
            f"Run {run_id} proposes facts for several projects.",
            hint=f"Add --project with one of: {', '.join(names)}.",
        )
    return names[0] if names else ""


def _say_nothing(run_id: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"run_id": run_id, "project": "", "waiting": [], "contradictions": []})
        return
    say(f"Run {run_id} proposes no facts.")
    say(("Only runs with --project do.", "dim"))


async def _tell(
    review: Review, left: list[Fact], run_id: str, commands: Commands, *, as_json: bool, asked: bool
) -> None:
    clashes = await review.brain.contradictions(left)
    outcome = review.outcome
    if as_json:
        done: dict[str, Any] = decode(encode(outcome))
        print_json(
            {
                "run_id": run_id, "project": review.brain.project, **done,
                "waiting": [as_data(fact) for fact in left],
                "contradictions": [clash_data(clash) for clash in clashes],
            }
        )  # fmt: skip
        return
    told = [
        f"{len(ids)} {word}"
        for word, ids in (
            ("accepted", outcome.accepted), ("edited", outcome.edited), ("discarded", outcome.discarded),
            ("replaced", outcome.replaced),
        )
        if ids
    ]  # fmt: skip
    if told or asked:
        say(f"{', '.join(told) or 'Nothing was changed'}; {len(left)} left to review.")
    if outcome.changed_meanwhile:
        missed = count(len(outcome.changed_meanwhile), "fact")
        say(("! ", "bold yellow"), f"{missed} changed meanwhile and were left alone: look again.")
    if not told and not left:
        say(f"Nothing of {one_line(review.brain.project)} waits for review.")
        return
    if not interactive() or outcome.conflicting:
        for fact in left:
            print_fact(fact, [clash for clash in clashes if clash.new.id == fact.id])
    if left:
        which = [run_id] if run_id else ["--project", shlex.quote(review.brain.project)]
        how = f"--replace {outcome.conflicting[0]}" if outcome.conflicting else "--accept all"
        say(("Decide with ", "dim"), commands("brain", "review", *which, how))
