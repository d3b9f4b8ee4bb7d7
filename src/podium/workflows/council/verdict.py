"""The end of a discussion: the moderator scores, the leader chooses, the highest score wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.errors import InvalidReplyError, StepFailedError
from podium.models.repair import Mismatch, find
from podium.workflows.council import events
from podium.workflows.council.contracts import Evaluations, LooseEvaluations, Selection
from podium.workflows.council.policy import (
    LEADER,
    MODERATOR,
    NAMES,
    decide,
    evaluation_problem,
    named_in,
    resolve,
    score_ideas,
)
from podium.workflows.council.table import Table
from podium.workflows.council.wording import told_evaluations

TOKENS_PER_IDEA = 260
MOST_TOKENS = 24_000
"""Long lists need a long answer."""


async def validate(table: Table) -> None:
    """The moderator scores every idea; what stays invalid after the repairs is unscored."""
    ideas = table.discussion.ideas

    def check(answer: Evaluations) -> str:
        return evaluation_problem([one.idea for one in answer.evaluations], ideas)

    longest = min(MOST_TOKENS, TOKENS_PER_IDEA * len(ideas))
    try:
        answer = await table.ask(
            MODERATOR, "validate", returns=Evaluations, check=check, longest=longest,
            ids=[idea.id for idea in ideas],
        )  # fmt: skip
        given: Sequence[Mapping[str, Any]] = [one.model_dump() for one in answer.evaluations]
    except InvalidReplyError as error:
        given = salvaged(error.raw)
        if not given:
            table.warn(f"The {NAMES[MODERATOR]} failed: {error.reason}", MODERATOR)
            return
    except StepFailedError as error:
        table.warn(f"The {NAMES[MODERATOR]} failed: {error.reason}", MODERATOR)
        return
    table.score(score_ideas(ideas, given))
    unscored = [idea.id for idea in table.discussion.ideas if idea.score is None]
    if unscored:
        table.warn(f"Without valid scores, and so below all others: {', '.join(unscored)}.", MODERATOR)
    await table.say(MODERATOR, "validation", told_evaluations(table.discussion.ideas))


def salvaged(raw: str) -> Sequence[Mapping[str, Any]]:
    """The evaluations of a reply that never became valid as a whole; each is judged by itself."""
    found = find(raw, LooseEvaluations)
    return [] if isinstance(found, Mismatch) else found.value.evaluations


async def select(table: Table) -> None:
    """The leader's words; what it wants counts only among equals."""
    ideas = table.discussion.ideas

    def check(answer: Selection) -> str:
        known = ", ".join(idea.id for idea in ideas)
        return "" if chosen(answer.choice) else f"there is no idea {answer.choice[:200]!r}; ideas: {known}"

    def chosen(name: str) -> str | None:
        return resolve(name, ideas) or named_in(name, ideas)

    try:
        answer = await table.ask(
            LEADER, "select", returns=Selection, check=check, ids=[idea.id for idea in ideas]
        )
        choice, reasoning = chosen(answer.choice), answer.reasoning or answer.choice
    except InvalidReplyError as error:
        choice, reasoning = named_in(error.raw, ideas), error.raw.strip()
        table.warn(f"The {NAMES[LEADER]}'s selection was not in the agreed form: {error.reason}", LEADER)
    except StepFailedError as error:
        choice, reasoning = None, ""
        table.warn(f"The {NAMES[LEADER]}'s selection failed: {error.reason}", LEADER)
    if reasoning or choice:
        lead = f"Choice: {choice}\n\n" if choice else ""
        await table.say(LEADER, "selection", f"{lead}{reasoning}".strip())
    settle(table, choice, reasoning)


def settle(table: Table, choice: str | None, reasoning: str = "") -> None:
    """The winner by the rules."""
    held = table.discussion
    verdict = held.verdict = decide(held.ideas, choice, table.terms.min_score, reasoning)
    final = held.final_idea
    if final is None:  # pragma: no cover - the winner is one of the ideas
        raise LookupError(verdict.idea)
    if verdict.below_threshold:
        table.warn(f"The best idea scored {final.score:g}, below the threshold of {table.terms.min_score:g}.")
    fields = {name: getattr(verdict, name) for name in verdict.__struct_fields__ if name != "idea"}
    table.run.emit(
        events.Selected(id=final.id, title=final.title, score=final.score, round=table.round, **fields)
    )
