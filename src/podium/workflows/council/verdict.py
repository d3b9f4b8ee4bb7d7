"""End of a discussion: the moderator scores, the leader chooses, the highest score wins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from podium.errors import InvalidReplyError, StepFailedError
from podium.models.repair import Mismatch, find
from podium.workflows.council import events
from podium.workflows.council.contracts import Evaluations, LooseEvaluations, RecommendationNote, Selection
from podium.workflows.council.discussion import Idea, NextStep, Recommendation
from podium.workflows.council.handover import shown_draft
from podium.workflows.council.policy import (
    LEADER,
    MODERATOR,
    NAMES,
    decide,
    evaluation_problem,
    named_in,
    resolve,
    score_ideas,
    score_text,
)
from podium.workflows.council.speakers import evaluations_text
from podium.workflows.council.table import Table

TOKENS_PER_IDEA = 260
MOST_TOKENS = 24_000
"""Maximum reply tokens of a validation; a long list of ideas needs a long answer."""
DOCUMENT_TOKENS = 8_192
"""Maximum reply tokens of a selection, which holds the document for the user."""


async def validate(table: Table) -> None:
    """Let the moderator score every idea. Scores that are still invalid after the repairs leave an idea
    unscored."""
    ideas = table.discussion.ideas

    def check(answer: Evaluations) -> str:
        return evaluation_problem([evaluation.idea for evaluation in answer.evaluations], ideas)

    longest = min(MOST_TOKENS, TOKENS_PER_IDEA * len(ideas))
    try:
        answer = await table.ask(
            MODERATOR,
            "validate",
            returns=Evaluations,
            check=check,
            longest=longest,
            ids=[idea.id for idea in ideas],
        )
        evaluations: Sequence[Mapping[str, Any]] = [
            evaluation.model_dump() for evaluation in answer.evaluations
        ]
    except InvalidReplyError as error:
        evaluations = salvaged(error.raw)
        if not evaluations:
            table.warn(f"The {NAMES[MODERATOR]} failed: {error.reason}", MODERATOR)
            return
    except StepFailedError as error:
        table.warn(f"The {NAMES[MODERATOR]} failed: {error.reason}", MODERATOR)
        return
    table.score(score_ideas(ideas, evaluations))
    unscored = [idea.id for idea in table.discussion.ideas if idea.score is None]
    if unscored:
        table.warn(f"Without valid scores, ranked below all others: {', '.join(unscored)}.", MODERATOR)
    await table.say(MODERATOR, "validation", evaluations_text(table.discussion.ideas))


def salvaged(raw: str) -> Sequence[Mapping[str, Any]]:
    """Return the evaluations of a reply that is invalid as a whole. Each is validated separately."""
    parsed = find(raw, LooseEvaluations)
    return [] if isinstance(parsed, Mismatch) else parsed.value.evaluations


async def select(table: Table) -> None:
    """Let the leader present the winner. The leader's own choice counts only between equal scores."""
    ideas = table.discussion.ideas
    choice, reasoning, note = None, "", None
    try:
        answer = await table.ask(
            LEADER,
            "select",
            returns=Selection,
            check=lambda answer: selection_problem(answer, ideas),
            longest=DOCUMENT_TOKENS,
            ids=[idea.id for idea in ideas],
            leading=_leading(ideas),
            draft=shown_draft(table, LEADER),
            points=[] if table.draft is None else table.draft.points,
        )
        choice, reasoning, note = _chosen(answer.choice, ideas), answer.reasoning, answer.recommendation
        reasoning = reasoning or answer.choice
    except InvalidReplyError as error:
        choice, reasoning = _salvaged_choice(error.raw, ideas)
        table.warn(f"The {NAMES[LEADER]}'s selection was not in the agreed form: {error.reason}", LEADER)
    except StepFailedError as error:
        table.warn(f"The {NAMES[LEADER]}'s selection failed: {error.reason}", LEADER)
    if reasoning or choice:
        lead = f"Choice: {choice}\n\n" if choice else ""
        await table.say(LEADER, "selection", f"{lead}{reasoning}".strip())
    settle(table, choice, reasoning, _recommendation(note, ideas))


def selection_problem(answer: Selection, ideas: Sequence[Idea]) -> str:
    """Return the correction for a selection, or an empty string."""
    known = ", ".join(idea.id for idea in ideas)
    choice = _chosen(answer.choice, ideas)
    if choice is None:
        return f"there is no idea {answer.choice[:200]!r}; ideas: {known}"
    winner = decide(ideas, choice, 0.0).idea
    note = answer.recommendation
    if note is not None and resolve(note.idea, ideas) != winner:
        return f"`recommendation` must present {winner}, which wins by the rules, not {note.idea[:60]!r}"
    return ""


def _chosen(name: str, ideas: Sequence[Idea]) -> str | None:
    return resolve(name, ideas) or named_in(name, ideas)


def _salvaged_choice(raw: str, ideas: Sequence[Idea]) -> tuple[str | None, str]:
    """Return the choice and the reasoning of an invalid reply: its fields if it has them, otherwise its
    text."""
    parsed = find(raw, Selection)
    if isinstance(parsed, Mismatch):
        return named_in(raw, ideas), raw.strip()
    answer: Selection = parsed.value
    return _chosen(answer.choice, ideas), answer.reasoning or answer.choice


def _leading(ideas: Sequence[Idea]) -> list[dict[str, str]]:
    """Return the ideas with the highest score before the leader selects; empty without scores."""
    verdict = decide(ideas, None, 0.0)
    leading = [verdict.idea, *verdict.tied] if verdict.scored else []
    return [{"id": idea.id, "title": idea.title} for idea in ideas if idea.id in leading]


def _recommendation(note: RecommendationNote | None, ideas: Sequence[Idea]) -> Recommendation | None:
    name = resolve(note.idea, ideas) if note is not None else None
    if note is None or name is None:
        return None
    steps = [
        NextStep(step=step.step, idea=resolve(step.idea, ideas) or name, effort=step.effort)
        for step in note.next_steps
    ]
    return Recommendation(idea=name, document=note.document, why=note.why, next_steps=steps)


def settle(
    table: Table, choice: str | None, reasoning: str = "", recommendation: Recommendation | None = None
) -> None:
    """Determine the winner by the rules and emit it."""
    discussion = table.discussion
    verdict = discussion.verdict = decide(
        discussion.ideas, choice, table.terms.min_score, reasoning, recommendation
    )
    final = discussion.final_idea
    if final is None:  # pragma: no cover - the winner is one of the ideas
        raise LookupError(verdict.idea)
    if verdict.below_threshold:
        table.warn(
            f"The best idea scored {score_text(final.score)}, below the threshold of "
            f"{table.terms.min_score:g}."
        )
    if not verdict.chosen:
        table.warn(f"No idea was scored or chosen: {final.id} is named because it came first.")
    fields = {name: getattr(verdict, name) for name in verdict.__struct_fields__ if name != "idea"}
    table.run.emit(
        events.Selected(id=final.id, title=final.title, score=final.score, round=table.round, **fields)
    )
