"""A review at the terminal: facts one by one, or all decisions given as flags."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import msgspec

from podium.brain.editing import EDITABLE
from podium.brain.review import Review
from podium.cli.facts import fact_meant, print_fact
from podium.cli.questions import ask_person
from podium.cli.terminal import out, say
from podium.engine.events import RunWaiting
from podium.engine.facts import Fact, FactKind
from podium.errors import UsageError
from podium.settings import nearest

ALL = "all"


class Wanted(msgspec.Struct, frozen=True):
    """Decisions that were given as flags."""

    accept: list[str]
    replace: list[str]
    discard: list[str]
    edit: list[tuple[str, str, str]]
    """Fact, field, text."""

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
    """Everything is looked up before anything is done, so a mistyped id changes nothing. Facts may be named
    that were decided before: a decision can be taken back."""
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
    """One after the other. Leaving in between keeps what was decided."""
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
