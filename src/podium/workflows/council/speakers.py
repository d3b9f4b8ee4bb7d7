"""Turns of the council's members and the texts of their contributions.

A member that fails causes a warning and the round continues. Each turn returns whether anything was said.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any

from podium.agents.conversation import ToolOutcome
from podium.errors import StepFailedError
from podium.models.messages import ToolCall
from podium.workflows.council.contracts import (
    Critique,
    EvidenceCard,
    Ideas,
    Implementation,
    MoreIdeas,
    Rebuttal,
    Research,
    RevisionNote,
    SettledNote,
)
from podium.workflows.council.discussion import (
    CRITERIA,
    Details,
    Evidence,
    Idea,
    NextStep,
    Point,
    Risk,
    Settled,
    find_point,
    points_after,
    points_of,
    with_ids,
)
from podium.workflows.council.policy import (
    CRITIC,
    IDEATION,
    IMPLEMENTER,
    LEADER,
    MAX_IDEAS_PER_ASK,
    MAX_TOOL_CALLS,
    NAMES,
    RESEARCHER,
    add_ideas,
    missing_ideas,
    resolve,
    revise_ideas,
    score_text,
)
from podium.workflows.council.table import Table

FROM_MEMORY = "(Without search or documents: this comes from the model alone and was not checked.)"


def evidence_cards(cards: Sequence[EvidenceCard], tool_texts: Sequence[str]) -> list[Evidence]:
    """Convert cards to data. A link, or a source without a link such as a file name, counts as checked only
    if it occurs in a tool result."""
    return [
        Evidence(
            claim=card.claim,
            source=card.source,
            link=card.link,
            checked=any(_occurs_in(card.link or card.source, text) for text in tool_texts),
        )
        for card in cards
    ]


def _occurs_in(name: str, text: str) -> bool:
    """True if the text contains the name as a whole word or address: `notes.txt` does not match
    `notes.txt.bak`."""
    if not name.strip():
        return False
    return re.search(rf"(?<![\w/.]){re.escape(name.strip())}(?![\w/])", text) is not None


def research_text(text: str, details: Details) -> str:
    lines = [FROM_MEMORY] if details.sources == "model" else [f"(Looked up with: {details.sources}.)"]
    lines += [text] if text else []
    lines += _list("Evidence", [_card(card) for card in details.evidence])
    lines += _list("Settled", [_settled(note) for note in details.settled])
    return "\n\n".join(lines)


def _card(card: Evidence) -> str:
    where = " ".join(part for part in (card.source, card.link) if part)
    return f"{card.claim} ({where or 'no source'}{'' if card.checked else '; not checked'})"


def ideas_text(ideas: Sequence[Idea]) -> str:
    """Render new ideas with their ids, so that other members can refer to them."""
    return "\n".join(_idea(idea) for idea in ideas)


def _idea(idea: Idea) -> str:
    notes = ", ".join(
        note for note in (idea.category, f"refines {', '.join(idea.refines)}" if idea.refines else "") if note
    )
    described = f": {' '.join(idea.description.split())}" if idea.description else ""
    return f"- **{idea.id}. {idea.title}**{f' ({notes})' if notes else ''}{described}"


def revisions_text(text: str, ideas: Sequence[Idea]) -> str:
    """Render an answer to criticism and the new versions of the ideas that it changes."""
    return "\n\n".join([*([text] if text else []), *_list("Revised", [_revision(idea) for idea in ideas])])


def _revision(idea: Idea) -> str:
    new = idea.history[-1]
    notes = [f"Given up: {new.given_up}" if new.given_up else "", f"Why: {new.why}" if new.why else ""]
    lines = [f"**{idea.id}. {idea.title}** (version {idea.version}): {' '.join(idea.description.split())}"]
    return "\n  ".join([*lines, *(note for note in notes if note)])


def critique_text(text: str, details: Details, points: Sequence[Point]) -> str:
    """Render a critique with its risks, questions and settled points. `points` holds the ids of the
    questions."""
    risks = [
        f"{risk.id}, "
        + (f"{risk.idea}, " if risk.idea else "")
        + f"{risk.severity}: {risk.risk}"
        + (f" (what helps: {risk.mitigation})" if risk.mitigation else "")
        for risk in details.risks
    ]
    questions = [f"{point.id}: {point.text}" for point in points if point.text in details.open_questions]
    lists = [("Risks", risks), ("Open questions", questions), ("Settled", [*map(_settled, details.settled)])]
    parts = [text] if text else []
    return "\n\n".join([*parts, *(part for title, items in lists for part in _list(title, items))])


def _settled(note: Settled) -> str:
    return f"{note.point}{f': {note.how}' if note.how else ''}"


def implementation_text(text: str, details: Details) -> str:
    steps = [
        (f"{step.idea}: " if step.idea else "") + step.step + (f" ({step.effort})" if step.effort else "")
        for step in details.next_steps
    ]
    return "\n\n".join([*([text] if text else []), *_list("Next steps", steps)])


def evaluations_text(ideas: Sequence[Idea]) -> str:
    """Render the moderator's scores."""
    return "\n".join(_evaluation(idea) for idea in ideas)


def _evaluation(idea: Idea) -> str:
    if idea.criteria is None or idea.score is None:
        return f"- **{idea.id}. {idea.title}**: not scored"
    scores = ", ".join(f"{name} {idea.criteria[name]:g}" for name in CRITERIA)
    lines = [f"- **{idea.id}. {idea.title}**: {score_text(idea.score)}/10 ({scores})"]
    lines += [f"  - For it: {'; '.join(idea.pros)}"] if idea.pros else []
    lines += [f"  - Against it: {'; '.join(idea.cons)}"] if idea.cons else []
    lines += [f"  - {idea.feedback}"] if idea.feedback else []
    return "\n".join(lines)


def _list(title: str, items: Sequence[str]) -> list[str]:
    return [f"{title}:\n" + "\n".join(f"- {item}" for item in items)] if items else []


Turn = Callable[..., Awaitable[bool]]


def optional(role: str) -> Callable[[Turn], Turn]:
    """Decorate a turn whose failure does not stop the round."""

    def decorate(turn: Turn) -> Turn:
        @wraps(turn)
        async def guarded(table: Table, *args: Any, **options: Any) -> bool:
            try:
                spoke = await turn(table, *args, **options)
            except StepFailedError as error:
                table.last_failure = error
                table.warn(f"The {NAMES[role]} failed in round {table.round}: {error.reason}", role)
                return False
            if not spoke:
                table.warn(f"The {NAMES[role]} said nothing in round {table.round}.", role)
            return spoke

        return guarded

    return decorate


@optional(RESEARCHER)
async def research(table: Table) -> bool:
    """Gather facts before ideas. With tools, the researcher may look things up before it writes its brief."""
    proposals: list[tuple[str, str]] = []

    def note(call: ToolCall, outcome: ToolOutcome | None) -> None:
        if outcome is not None and not outcome.failed and not outcome.made_up:
            proposals.append((table.tools[call.name].original, outcome.text))

    answer = await table.ask(
        RESEARCHER,
        "research",
        returns=Research,
        tools=list(table.tools.values()),
        on_tool=note,
        round=table.round,
        rounds=table.terms.rounds,
        calls=MAX_TOOL_CALLS if table.tools else 0,
    )
    details = Details(
        evidence=evidence_cards(answer.evidence, [text for _, text in proposals]),
        settled=_settled_points(table, RESEARCHER, answer.settled),
        sources=", ".join(dict.fromkeys(name for name, _ in proposals)) or "model",
    )
    if not answer.text and not details.evidence:
        return False
    await table.say(RESEARCHER, "researcher", research_text(answer.text, details), details)
    return True


@optional(IDEATION)
async def ideate(table: Table, *, first: bool, missing: int = 0) -> bool:
    """Ask for new ideas and give them ids; ideas over the limit are dropped. Once there are ideas, old ones
    may be revised, unless ideas are missing: then only new ones are requested."""
    known, draft = table.discussion.own_ideas, table.discussion.draft_idea
    returns = MoreIdeas if known and not missing else Ideas
    answer = await table.ask(
        IDEATION,
        "ideate",
        returns=returns,
        first=first,
        known=bool(known),
        missing=missing,
        round=table.round,
        rounds=table.terms.rounds,
        needed=missing_ideas(len(known), table.terms),
        draft="" if draft is None else draft.id,
    )
    revised = _revisions(table, answer.revisions) if isinstance(answer, MoreIdeas) else []
    drafts = [draft.model_dump() for draft in answer.ideas]
    ideas, dropped = add_ideas(table.discussion.ideas, drafts, table.round)
    if dropped:
        table.warn(
            f"The {NAMES[IDEATION]} brought {len(drafts)} ideas at once; the first {MAX_IDEAS_PER_ASK} "
            f"count, {dropped} were dropped.",
            IDEATION,
        )
    if not ideas and not revised:
        return False
    details = Details(ideas=[idea.id for idea in ideas], revised=[idea.id for idea in revised], own=0)
    await table.say(IDEATION, "ideation", revisions_text(ideas_text(ideas), revised), details)
    table.revise(revised)
    table.add(ideas)
    return True


def _revisions(table: Table, notes: Sequence[RevisionNote]) -> list[Idea]:
    """Return the revised ideas of an answer. A revision of an unknown idea causes a warning."""
    ideas, unknown = revise_ideas(table.discussion.ideas, [note.model_dump() for note in notes], table.round)
    if unknown:
        table.warn(f"The {NAMES[IDEATION]} revised ideas that do not exist: {', '.join(unknown)}.", IDEATION)
    return ideas


def _settled_points(table: Table, role: str, notes: Sequence[SettledNote]) -> list[Settled]:
    """Return the open points that an answer settles. An unknown point causes a warning."""
    points = points_of(table.discussion.spoken)
    matches = [(find_point(note.point, points), note) for note in notes]
    unknown = [note.point[:60] for name, note in matches if name is None]
    if unknown:
        table.warn(f"The {NAMES[role]} settled points that do not exist: {', '.join(unknown)}.", role)
    return [Settled(point=name, how=note.how) for name, note in matches if name is not None]


@optional(CRITIC)
async def critique(table: Table, *, reply: bool = False) -> bool:
    """Ask the critic for risks and questions. A reply covers the risks that remain after the defence, and the
    settled points."""
    spoken, ideas = table.discussion.spoken, table.discussion.ideas
    known = points_of(spoken)
    answer = await table.ask(
        CRITIC, "critique", returns=Critique, reply=reply, open=any(not point.settled for point in known)
    )
    details = Details(
        risks=[
            Risk(
                risk=note.risk,
                id=find_point(note.id, known) or "",
                idea=resolve(note.idea, ideas),
                severity=note.severity,
                mitigation=note.mitigation,
            )
            for note in answer.risks
        ],
        open_questions=[question for question in answer.open_questions if question.strip()],
        settled=_settled_points(table, CRITIC, answer.settled),
        own=len(answer.text),
    )
    details = with_ids(details, spoken)
    content = critique_text(answer.text, details, points_after(spoken, details, table.round))
    if content:
        await table.say(CRITIC, "critic", content, details, to="ideation" if reply else "team")
    return bool(content)


@optional(IMPLEMENTER)
async def implement(table: Table) -> bool:
    answer = await table.ask(IMPLEMENTER, "implement", returns=Implementation)
    ideas = table.discussion.ideas
    details = Details(
        next_steps=[
            NextStep(step=note.step, idea=resolve(note.idea, ideas), effort=note.effort)
            for note in answer.next_steps
        ]
    )
    content = implementation_text(answer.text, details)
    if content:
        await table.say(IMPLEMENTER, "implementer", content, details)
    return bool(content)


@optional(IDEATION)
async def rebut(table: Table) -> bool:
    """Deep dive: ideation answers the criticism idea by idea and revises ideas where needed."""
    answer = await table.ask(
        IDEATION,
        "rebut",
        returns=Rebuttal,
        critic=CRITIC in table.terms,
        last=table.discussion.rounds_held + 1 >= table.terms.rounds,
    )
    text, revised = answer.text, _revisions(table, answer.revisions)
    if not text and not revised:
        return False
    details = Details(revised=[idea.id for idea in revised], own=len(text))
    to = "critic" if CRITIC in table.terms else "team"
    await table.say(IDEATION, "ideation", revisions_text(text, revised), details, to=to)
    table.revise(revised)
    return True


@optional(LEADER)
async def synthesize(table: Table) -> bool:
    reply = await table.ask(LEADER, "synthesize", round=table.round, rounds=table.terms.rounds)
    text = table.run.marked(reply)
    if text:
        await table.say(LEADER, "synthesis", text)
    return bool(text)
