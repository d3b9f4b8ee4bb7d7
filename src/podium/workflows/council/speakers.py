"""Turns of the council's members and the texts of their contributions.

A member that fails causes a warning and the round continues. Each turn returns whether anything was said.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import wraps
from typing import Any

from podium.errors import StepFailedError
from podium.tools.tool import ToolResult
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
    ToolCall,
)
from podium.workflows.council.discussion import CRITERIA, Details, Evidence, Idea, NextStep, Risk, Settled
from podium.workflows.council.points import Point, find_point, points_after, points_of, with_ids
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


def evidence_cards(cards: Sequence[EvidenceCard], found: Sequence[str]) -> list[Evidence]:
    """Convert cards to data. A link, or a source without a link such as a file name, counts as checked only
    if it occurs in a tool result."""
    return [
        Evidence(
            claim=card.claim, source=card.source, link=card.link,
            checked=any(_stands_in(card.link or card.source, text) for text in found),
        )
        for card in cards
    ]  # fmt: skip


def _stands_in(name: str, text: str) -> bool:
    """True if the text contains the name as a whole word or address: `notes.txt` does not match
    `notes.txt.bak`."""
    if not name.strip():
        return False
    return re.search(rf"(?<![\w/.]){re.escape(name.strip())}(?![\w/])", text) is not None


def told_research(text: str, details: Details) -> str:
    lines = [FROM_MEMORY] if details.sources == "model" else [f"(Looked up with: {details.sources}.)"]
    lines += [text] if text else []
    lines += _list("Evidence", [_card(card) for card in details.evidence])
    lines += _list("Settled", [_settled(one) for one in details.settled])
    return "\n\n".join(lines)


def _card(card: Evidence) -> str:
    where = " ".join(part for part in (card.source, card.link) if part)
    return f"{card.claim} ({where or 'no source'}{'' if card.checked else '; not checked'})"


def told_ideas(ideas: Sequence[Idea]) -> str:
    """Render new ideas with their ids, so that other members can refer to them."""
    return "\n".join(_idea(idea) for idea in ideas)


def _idea(idea: Idea) -> str:
    notes = ", ".join(
        note for note in (idea.category, f"refines {', '.join(idea.refines)}" if idea.refines else "") if note
    )
    described = f": {' '.join(idea.description.split())}" if idea.description else ""
    return f"- **{idea.id}. {idea.title}**{f' ({notes})' if notes else ''}{described}"


def told_revisions(text: str, ideas: Sequence[Idea]) -> str:
    """Render an answer to criticism and the new versions of the ideas that it changes."""
    return "\n\n".join([*([text] if text else []), *_list("Revised", [_revision(idea) for idea in ideas])])


def _revision(idea: Idea) -> str:
    new = idea.history[-1]
    notes = [f"Given up: {new.given_up}" if new.given_up else "", f"Why: {new.why}" if new.why else ""]
    told = [f"**{idea.id}. {idea.title}** (version {idea.version}): {' '.join(idea.description.split())}"]
    return "\n  ".join([*told, *(note for note in notes if note)])


def told_critique(text: str, details: Details, points: Sequence[Point]) -> str:
    """Render a critique with its risks, questions and settled points. `points` holds the ids of the
    questions."""
    risks = [
        f"{one.id}, "
        + (f"{one.idea}, " if one.idea else "")
        + f"{one.severity}: {one.risk}"
        + (f" (what helps: {one.mitigation})" if one.mitigation else "")
        for one in details.risks
    ]
    asked = [f"{point.id}: {point.text}" for point in points if point.text in details.open_questions]
    lists = [("Risks", risks), ("Open questions", asked), ("Settled", [*map(_settled, details.settled)])]
    parts = [text] if text else []
    return "\n\n".join([*parts, *(part for title, items in lists for part in _list(title, items))])


def _settled(one: Settled) -> str:
    return f"{one.point}{f': {one.how}' if one.how else ''}"


def told_implementation(text: str, details: Details) -> str:
    steps = [
        (f"{one.idea}: " if one.idea else "") + one.step + (f" ({one.effort})" if one.effort else "")
        for one in details.next_steps
    ]
    return "\n\n".join([*([text] if text else []), *_list("Next steps", steps)])


def told_evaluations(ideas: Sequence[Idea]) -> str:
    """Render the moderator's scores."""
    return "\n".join(_evaluation(idea) for idea in ideas)


def _evaluation(idea: Idea) -> str:
    if idea.criteria is None or idea.score is None:
        return f"- **{idea.id}. {idea.title}**: not scored"
    scores = ", ".join(f"{name} {idea.criteria[name]:g}" for name in CRITERIA)
    told = [f"- **{idea.id}. {idea.title}**: {score_text(idea.score)}/10 ({scores})"]
    told += [f"  - For it: {'; '.join(idea.pros)}"] if idea.pros else []
    told += [f"  - Against it: {'; '.join(idea.cons)}"] if idea.cons else []
    told += [f"  - {idea.feedback}"] if idea.feedback else []
    return "\n".join(told)


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
    results: list[dict[str, Any]] = []
    tools = [
        {"name": one.name, "description": one.description, "parameters": one.parameters}
        for one in table.tools
    ]
    while True:
        left = MAX_TOOL_CALLS - len(results) if tools else 0
        answer = await table.ask(
            RESEARCHER, "research", returns=Research, round=table.round, rounds=table.terms.rounds,
            tools=tools, results=results, calls_left=left,
        )  # fmt: skip
        wanted = answer.tool_calls[:left]
        if not wanted:
            break
        results += [await _look_up(table, call) for call in wanted]
    found = [result for result in results if result["ok"]]
    details = Details(
        evidence=evidence_cards(answer.evidence, [result["text"] for result in found]),
        settled=_settled_points(table, RESEARCHER, answer.settled),
        sources=", ".join(dict.fromkeys(result["tool"] for result in found)) or "model",
    )
    if not answer.text and not details.evidence:
        return False
    await table.say(RESEARCHER, "researcher", told_research(answer.text, details), details)
    return True


async def _look_up(table: Table, call: ToolCall) -> dict[str, Any]:
    """Run one tool call and return a result even if it fails."""
    result = await table.run.step("look_up", table.toolbox.call, call.tool, call.args, returns=ToolResult)
    return {"tool": call.tool, "args": call.args, "ok": result.ok, "text": result.text, "error": result.error}


@optional(IDEATION)
async def ideate(table: Table, *, first: bool, missing: int = 0) -> bool:
    """Ask for new ideas and give them ids; ideas over the limit are dropped. Once there are ideas, old ones
    may be revised, unless ideas are missing: then only new ones are requested."""
    known, draft = table.discussion.own_ideas, table.discussion.draft_idea
    returns = MoreIdeas if known and not missing else Ideas
    answer = await table.ask(
        IDEATION, "ideate", returns=returns, first=first, known=bool(known), missing=missing,
        round=table.round, rounds=table.terms.rounds, needed=missing_ideas(len(known), table.terms),
        draft="" if draft is None else draft.id,
    )  # fmt: skip
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
    await table.say(IDEATION, "ideation", told_revisions(told_ideas(ideas), revised), details)
    table.revise(revised)
    table.add(ideas)
    return True


def _revisions(table: Table, notes: Sequence[RevisionNote]) -> list[Idea]:
    """Return the revised ideas of an answer. A revision of an unknown idea causes a warning."""
    ideas, unknown = revise_ideas(table.discussion.ideas, [one.model_dump() for one in notes], table.round)
    if unknown:
        table.warn(f"The {NAMES[IDEATION]} revised ideas that do not exist: {', '.join(unknown)}.", IDEATION)
    return ideas


def _settled_points(table: Table, role: str, notes: Sequence[SettledNote]) -> list[Settled]:
    """Return the open points that an answer settles. An unknown point causes a warning."""
    points = points_of(table.discussion.spoken)
    found = [(find_point(note.point, points), note) for note in notes]
    unknown = [note.point[:60] for name, note in found if name is None]
    if unknown:
        table.warn(f"The {NAMES[role]} settled points that do not exist: {', '.join(unknown)}.", role)
    return [Settled(point=name, how=note.how) for name, note in found if name is not None]


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
    content = told_critique(answer.text, details, points_after(spoken, details, table.round))
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
    content = told_implementation(answer.text, details)
    if content:
        await table.say(IMPLEMENTER, "implementer", content, details)
    return bool(content)


@optional(IDEATION)
async def rebut(table: Table) -> bool:
    """Deep dive: ideation answers the criticism idea by idea and revises ideas where needed."""
    answer = await table.ask(
        IDEATION, "rebut", returns=Rebuttal, critic=CRITIC in table.terms,
        last=table.discussion.rounds_held + 1 >= table.terms.rounds,
    )  # fmt: skip
    text, revised = answer.text, _revisions(table, answer.revisions)
    if not text and not revised:
        return False
    details = Details(revised=[idea.id for idea in revised], own=len(text))
    to = "critic" if CRITIC in table.terms else "team"
    await table.say(IDEATION, "ideation", told_revisions(text, revised), details, to=to)
    table.revise(revised)
    return True


@optional(LEADER)
async def synthesize(table: Table) -> bool:
    reply = await table.ask(LEADER, "synthesize", round=table.round, rounds=table.terms.rounds)
    text = table.run.marked(reply)
    if text:
        await table.say(LEADER, "synthesis", text)
    return bool(text)
