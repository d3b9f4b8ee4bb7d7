"""`podium brain review`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Annotated, Any, get_args

import msgspec
from cyclopts import Parameter

from podium.brain import Brain
from podium.brain.brain import EDITABLE
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
from podium.cli.flags import AsJson, RunId, StoreUrl, option
from podium.cli.store import Commands, find_run, opened
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
            raise UsageError(
                "--replace needs ids: `all` is not allowed, because each replacement needs a decision."
            )
        if ALL in wanted.accept and ALL in wanted.discard:
            raise UsageError("--accept all and --discard all cannot be combined.")
        return wanted

    def __bool__(self) -> bool:
        return bool(self.accept or self.replace or self.discard or self.edit)


def _ids(texts: Sequence[str]) -> list[str]:
    ids = [part.strip() for text in texts for part in text.split(",") if part.strip()]
    return [ALL] if ALL in ids else list(dict.fromkeys(ids))


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
        hint = f"Did you mean {meant}?" if meant else f"Editable fields: {', '.join(EDITABLE)}."
        raise UsageError(f"The {field} of a fact cannot be edited.", hint=hint)
    if field == "kind" and value.strip() not in get_args(FactKind):
        raise UsageError(
            f"There is no kind {value.strip()!r}.", hint=f"One of: {', '.join(get_args(FactKind))}."
        )
    return reference, field, value.strip()


async def decide(review: Review, wanted: Wanted, waiting: list[Fact], known: list[Fact]) -> None:
    """Apply the decisions given as flags. All ids are looked up first, so a mistyped id changes nothing.
    Facts that were decided before may be named: a decision can be reversed."""
    edits = [(fact_meant(reference, known), field, value) for reference, field, value in wanted.edit]
    named = {
        kind: [fact_meant(reference, known) for reference in references if reference != ALL]
        for kind, references in (
            ("accept", wanted.accept),
            ("replace", wanted.replace),
            ("discard", wanted.discard),
        )
    }
    twice = {fact.id for facts in named.values() for fact in facts}
    if len(twice) < sum(map(len, named.values())):
        raise UsageError("A fact is named in more than one of --accept, --replace and --discard.")
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
        question = RunWaiting(question="What should happen to this fact?", choices=choices)
        chosen = await ask_person(question)
        if chosen is None:
            return
        if chosen.startswith("rest"):
            await review.accept_all(waiting[number - 1 :])
            return
        await _apply(review, fact, chosen)


async def _apply(review: Review, fact: Fact, chosen: str) -> None:
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
    accept: Annotated[Ids, Parameter(help="Accept these facts: ids separated by commas, or all.")] = (),
    replace: Annotated[
        Ids, Parameter(help="Accept these facts and replace the facts that they contradict.")
    ] = (),
    discard: Annotated[Ids, Parameter(help="Discard these facts.")] = (),
    edit: Annotated[
        tuple[str, ...],
        option("New value of a fact; also ID.subject=…, ID.predicate=… and ID.kind=…", metavar="ID=VALUE"),
    ] = (),
    by: Annotated[str, Parameter(metavar="NAME", help="Name of the reviewer, for the history.")] = "cli",
    store: StoreUrl = None,
    json: AsJson = False,
) -> int:
    """Accept, edit or discard the facts that a run proposes.

    On a terminal it asks about each fact; decisions are saved when you leave. `--accept all` skips facts that
    contradict canon. With --project instead of a run, reviews all proposed facts of the project.
    """
    wanted = Wanted.of(accept, replace, discard, edit)
    async with opened(store) as (settings, opened_store):
        everything = run == "last" and project is not None
        run_id = "" if everything else await _run_id(opened_store, run)
        waiting = await opened_store.list_facts(source_run=run_id, status=("proposed",))
        name = await _project(opened_store, project, waiting, run_id)
        if not name:
            _report_none(run_id, as_json=json)
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
            remaining = await brain.facts(("proposed",), run_id)
            await _report(
                reviewing, remaining, run_id, Commands(settings), as_json=json, decided=bool(wanted)
            )
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


async def _project(store: Store, wanted: str | None, waiting: list[Fact], run_id: str) -> str:
    """Return the project whose facts are reviewed. Empty if there are no facts to review."""
    if wanted is not None:
        return await project_meant(store, wanted)
    facts = waiting or await store.list_facts(source_run=run_id)
    names = list(dict.fromkeys(fact.project for fact in facts))
    if len(names) > 1:
        raise UsageError(
            f"Run {run_id} proposes facts for several projects.",
            hint=f"Add --project with one of: {', '.join(names)}.",
        )
    return names[0] if names else ""


def _report_none(run_id: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"run_id": run_id, "project": "", "waiting": [], "contradictions": []})
        return
    say(f"Run {run_id} proposes no facts.")
    say(("Only runs with --project propose facts.", "dim"))


async def _report(
    review: Review, remaining: list[Fact], run_id: str, commands: Commands, *, as_json: bool, decided: bool
) -> None:
    clashes = await review.brain.contradictions(remaining)
    outcome = review.outcome
    if as_json:
        done: dict[str, Any] = decode(encode(outcome))
        print_json(
            {
                "run_id": run_id,
                "project": review.brain.project,
                **done,
                "waiting": [as_data(fact) for fact in remaining],
                "contradictions": [clash_data(clash) for clash in clashes],
            }
        )
        return
    changes = [
        f"{len(ids)} {word}"
        for word, ids in (
            ("accepted", outcome.accepted),
            ("edited", outcome.edited),
            ("discarded", outcome.discarded),
            ("replaced", outcome.replaced),
        )
        if ids
    ]
    if changes or decided:
        say(f"{', '.join(changes) or 'No changes'}; {len(remaining)} left to review.")
    if outcome.changed_meanwhile:
        missed = count(len(outcome.changed_meanwhile), "fact")
        say(("! ", "bold yellow"), f"Skipped {missed} that changed meanwhile. Review again.")
    if not changes and not remaining:
        say(f"{one_line(review.brain.project)} has no facts to review.")
        return
    if not interactive() or outcome.conflicting:
        for fact in remaining:
            print_fact(fact, [clash for clash in clashes if clash.new.id == fact.id])
    if remaining:
        which = [run_id] if run_id else ["--project", shlex.quote(review.brain.project)]
        how = f"--replace {outcome.conflicting[0]}" if outcome.conflicting else "--accept all"
        say(("Decide with ", "dim"), commands("brain", "review", *which, how))
