"""`podium brain review`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated, Any, get_args

import msgspec
from cyclopts import Parameter

from podium.brain import Brain
from podium.brain.editing import EDITABLE
from podium.brain.review import Review
from podium.cli.facts import (
    ProjectName,
    as_data,
    clash_data,
    embed_quietly,
    fact_meant,
    print_fact,
    project_meant,
)
from podium.cli.failure import FAILED, OK
from podium.cli.flags import AsJson, RunId, StoreUrl
from podium.cli.opening import Commands, find_run, opened
from podium.cli.terminal import ask_person, interactive, out, print_json, say
from podium.engine.codec import decode, encode
from podium.engine.events import RunWaiting
from podium.engine.log import Store
from podium.engine.store_parts import Fact, FactKind
from podium.errors import UnknownRunError, UsageError
from podium.report.words import count, one_line
from podium.settings import nearest

ALL = "all"


class Wanted(msgspec.Struct, frozen=True):
    """Decisions that were given as flags."""

    accept: list[str]
    replace: list[str]
    discard: list[str]
    edit: list[tuple[str, str, str]]
    """Fact, field, new text."""

    @classmethod
    def of(
        cls, accept: Sequence[str], replace: Sequence[str], discard: Sequence[str], edit: Sequence[str]
    ) -> Wanted:
        wanted = cls(_ids(accept), _ids(replace), _ids(discard), [_edit(text) for text in edit])
        if wanted.replace == [ALL]:
            raise UsageError("--replace wants ids: what gives way should be looked at one by one.")
        if ALL in wanted.accept and ALL in wanted.discard:
            raise UsageError("All facts cannot be accepted and discarded.")
        return wanted

    def __bool__(self) -> bool:
        return bool(self.accept or self.replace or self.discard or self.edit)


def _ids(given: Sequence[str]) -> list[str]:
    found = [part.strip() for text in given for part in text.split(",") if part.strip()]
    return [ALL] if ALL in found else list(dict.fromkeys(found))


def _edit(text: str) -> tuple[str, str, str]:
    place, equals, value = text.partition("=")
    reference, _, field = place.strip().partition(".")
    field = field or "value"
    if not equals or not reference or not value.strip():
        raise UsageError(
            f"--edit {text!r} is not of the form ID=VALUE.", hint="For example: --edit 3f2a91=blue"
        )
    if field not in EDITABLE:
        meant = nearest(field, EDITABLE)
        hint = f"Did you mean {meant}?" if meant else f"These can be: {', '.join(EDITABLE)}."
        raise UsageError(f"The {field} of a fact cannot be edited.", hint=hint)
    if field == "kind" and value.strip() not in get_args(FactKind):
        raise UsageError(f"{value.strip()!r} is no kind.", hint=f"One of: {', '.join(get_args(FactKind))}.")
    return reference, field, value.strip()


async def decide(review: Review, wanted: Wanted, waiting: list[Fact], known: list[Fact]) -> None:
    """Apply the decisions given as flags. All ids are looked up first, so a mistyped id changes nothing.
    Facts that were decided before may be named: a decision can be reversed."""
    edits = [(fact_meant(reference, known), field, value) for reference, field, value in wanted.edit]
    named = {
        kind: [fact_meant(reference, known) for reference in references if reference != ALL]
        for kind, references in (
            ("accept", wanted.accept), ("replace", wanted.replace), ("discard", wanted.discard),
        )
    }  # fmt: skip
    twice = {fact.id for facts in named.values() for fact in facts}
    if len(twice) < sum(map(len, named.values())):
        raise UsageError("A fact can be accepted, replace others, or be discarded, but only one of these.")
    fresh: dict[str, Fact] = {}
    for fact, field, value in edits:
        after = await review.edit(fresh.get(fact.id, fact), **{field: value})
        if after is not None:
            fresh[fact.id] = after
    if named["discard"]:
        await review.discard([fresh.get(fact.id, fact) for fact in named["discard"]])
    for fact in named["accept"]:
        await review.accept(fresh.get(fact.id, fact))
    for fact in named["replace"]:
        await review.replace(fresh.get(fact.id, fact))
    rest = [fresh.get(fact.id, fact) for fact in waiting if fact.id not in twice]
    if ALL in wanted.accept:
        await review.accept_all(rest)
    elif ALL in wanted.discard:
        await review.discard(rest)


async def ask_about(review: Review, waiting: Sequence[Fact]) -> None:
    """Ask about each fact in turn. Leaving early keeps the decisions made so far."""
    for number, fact in enumerate(waiting, 1):
        clashes = await review.clashes(fact)
        out().print()
        say((f"{number} of {len(waiting)}", "dim"))
        print_fact(fact, clashes)
        choices = ["accept", "edit", "discard", "later", "rest: accept all"]
        if clashes:
            choices.insert(1, "replace canon")
        asked = RunWaiting(question="What becomes of it?", choices=choices)
        chosen = await ask_person(asked)
        if chosen is None:
            return
        if chosen.startswith("rest"):
            await review.accept_all(waiting[number - 1 :])
            return
        await _one(review, fact, chosen)


async def _one(review: Review, fact: Fact, chosen: str) -> None:
    if chosen == "accept":
        await review.accept(fact)
    elif chosen == "discard":
        await review.discard([fact])
    elif chosen == "replace canon":
        await review.replace(fact)
    elif chosen == "edit":
        value = await ask_person(RunWaiting(question=f"{fact.subject}, {fact.predicate}:"))
        if value is not None and (after := await review.edit(fact, value=value)) is not None:
            await review.accept(after)


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
    """Return the id of a run in this store, or of a run in another store from which facts were imported."""
    try:
        return (await find_run(store, reference)).run_id
    except UnknownRunError:
        if await store.list_facts(source_run=reference, limit=1):
            return reference
        raise


async def _project(store: Store, given: str | None, waiting: list[Fact], run_id: str) -> str:
    """Return the project whose facts are reviewed. Empty if there are no facts to review."""
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
