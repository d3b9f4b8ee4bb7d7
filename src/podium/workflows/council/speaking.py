"""The turns of a round: each asks one member and puts what it said on the table.

A member that fails is a warning, and the round goes on; whether anything was said is told to the caller.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from podium.errors import StepFailedError
from podium.tools.tool import ToolResult
from podium.workflows.council.contracts import Critique, Ideas, Implementation, Research, ToolCall
from podium.workflows.council.discussion import Details, NextStep, Risk
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
)
from podium.workflows.council.table import Table
from podium.workflows.council.wording import (
    evidence_cards,
    told_critique,
    told_ideas,
    told_implementation,
    told_research,
)

Turn = Callable[..., Awaitable[bool]]


def optional(role: str) -> Callable[[Turn], Turn]:
    """A turn whose failure does not stop the others."""

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
    """Facts before ideas. With tools, the researcher may look things up before it writes its brief."""
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
        sources=", ".join(dict.fromkeys(result["tool"] for result in found)) or "model",
    )
    if not answer.text and not details.evidence:
        return False
    await table.say(RESEARCHER, "researcher", told_research(answer.text, details), details)
    return True


async def _look_up(table: Table, call: ToolCall) -> dict[str, Any]:
    """One tool call: a result whatever happens."""
    result = await table.run.step("look_up", table.toolbox.call, call.tool, call.args, returns=ToolResult)
    return {"tool": call.tool, "args": call.args, "ok": result.ok, "text": result.text, "error": result.error}


@optional(IDEATION)
async def ideate(table: Table, *, first: bool, missing: int = 0) -> bool:
    """New ideas get their ids; what is beyond the most that are taken at once is dropped."""
    answer = await table.ask(
        IDEATION, "ideate", returns=Ideas, first=first, missing=missing, round=table.round,
        rounds=table.terms.rounds, needed=missing_ideas(len(table.discussion.ideas), table.terms),
    )  # fmt: skip
    drafts = [draft.model_dump() for draft in answer.ideas]
    ideas, dropped = add_ideas(table.discussion.ideas, drafts, table.round)
    if dropped:
        table.warn(
            f"The {NAMES[IDEATION]} brought {len(drafts)} ideas at once; the first {MAX_IDEAS_PER_ASK} "
            f"count, {dropped} were dropped.",
            IDEATION,
        )
    if not ideas:
        return False
    await table.say(IDEATION, "ideation", told_ideas(ideas))
    table.add(ideas)
    return True


@optional(CRITIC)
async def critique(table: Table, *, reply: bool = False) -> bool:
    """What could go wrong; as a reply, what still could after the defence."""
    answer = await table.ask(CRITIC, "critique", returns=Critique, reply=reply)
    ideas = table.discussion.ideas
    details = Details(
        risks=[
            Risk(
                risk=note.risk,
                idea=resolve(note.idea, ideas),
                severity=note.severity,
                mitigation=note.mitigation,
            )
            for note in answer.risks
        ],
        open_questions=[question for question in answer.open_questions if question.strip()],
    )
    content = told_critique(answer.text, details)
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
    """The deep dive: ideation answers idea by idea."""
    text = table.run.marked(await table.ask(IDEATION, "rebut"))
    if text:
        await table.say(IDEATION, "ideation", text, to="critic" if CRITIC in table.terms else "team")
    return bool(text)


@optional(LEADER)
async def synthesize(table: Table) -> bool:
    reply = await table.ask(LEADER, "synthesize", round=table.round, rounds=table.terms.rounds)
    text = table.run.marked(reply)
    if text:
        await table.say(LEADER, "synthesis", text)
    return bool(text)
