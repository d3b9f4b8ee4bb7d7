"""The floor of a run: one direct draft before the orchestration; an editor and a blind comparison after it.

The draft is the checklist of what the answer must contain, another version for the editor, and the measure: a
text that is worse than the draft is never handed over silently.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from podium.agents.agent import Agent
from podium.agents.ask import Run
from podium.engine.branch import Failed, Ok
from podium.engine.effect import Effect
from podium.engine.events import Charge
from podium.errors import BudgetExhaustedError, StepFailedError
from podium.models.model import Call
from podium.models.window import context_window
from podium.workflows.delivery import agents, events
from podium.workflows.delivery import rehearsal as rehearsal
from podium.workflows.delivery.contracts import Comparison, Delivered, Draft, Edit, Judgement
from podium.workflows.delivery.policy import (
    affords,
    affords_floor,
    decided,
    edit_problem,
    edited,
    may_rewrite,
    room_for,
    unseen,
    within,
)

UseFloor = Annotated[bool, Meta(description="Write a direct draft first and compare the result with it.")]
UseEditor = Annotated[bool, Meta(description="Let an editor check the result against the request.")]

DRAFT_FILE, RESULT_FILE, TEAM_FILE = "direct-draft.md", "result.md", "team-version.md"
NO_NEW_FACTS = (
    "Add nothing that neither the request nor the texts above support, unless it is common knowledge; "
    "call an estimate an estimate."
)
Revise = Callable[[list[str]], Awaitable[str]]
"""Gives the authors the editor's remarks and returns their new text."""


@dataclass(frozen=True)
class Desk:
    """What drafter, editor and judge of one run are told about the task."""

    run: Run
    request: str
    form: str = ""
    """What kind of text is wanted, where the request does not say it itself."""
    rule: str = NO_NEW_FACTS
    """What the editor may not do."""
    judged_by: str = ""
    """What else counts when two texts are compared."""
    floor: bool = True
    editor: bool = True


# ── before the orchestration ─────────────────────────────────────────────────────────────────────


async def direct_draft(desk: Desk, material: Sequence[tuple[str, str]] = ()) -> Draft | None:
    """Return one direct answer to the request; None without a floor, or where the budget is too small."""
    run = desk.run
    if not desk.floor:
        return None
    async with run.branch("floor"):
        if not await _floor_fits(desk):
            return None
        try:
            draft = await run.ask(
                agents.DRAFTER, "draft", returns=Draft, request=desk.request, form=desk.form,
                material=within(material, await room_of(run, agents.DRAFTER)),
            )  # fmt: skip
        except StepFailedError as error:
            run.warn(f"There is no direct draft to compare with: {error.reason}")
            return None
        kept = await run.artifact(DRAFT_FILE, draft.document.strip() + "\n", "text/markdown")
        run.emit(events.Drafted(artifact=kept.id, points=draft.points))
        return draft


async def _floor_fits(desk: Desk) -> bool:
    """Decide once whether the budget allows a floor. Recorded, because a resume with a larger budget must not
    ask everyone again only because of that."""
    run = desk.run

    async def fits(effect: Effect) -> bool:
        return affords_floor(run.budget, worst_case(run, agents.DRAFTER, desk.request))

    fitting = await run.perform("fits", fits, inputs=None, returns=bool, kind="clock")
    if not fitting:
        run.emit(events.Skipped(reason="it would take too much of this budget"))
    return fitting


# ── after the orchestration ──────────────────────────────────────────────────────────────────────


async def deliver(
    desk: Desk,
    document: str,
    draft: Draft | None,
    *,
    material: Sequence[tuple[str, str]] = (),
    gaps: Sequence[str] = (),
    revise: Revise | None = None,
) -> Delivered:
    """Let the editor finish a document, compare it with the draft, and return what is handed over.

    `revise` is how the authors work in the editor's remarks; by default one author does, who has all the
    material.
    """
    run = desk.run
    async with run.branch("delivery"), run.closing():
        delivered = Delivered(document)
        if desk.editor and document.strip():
            delivered = await _edit(desk, delivered, draft, material, list(gaps), revise)
        if draft is not None and document.strip():
            delivered.comparison = await _compare(desk, delivered.document, draft.document)
        if draft is not None and delivered.comparison is not None:
            await _settle(run, delivered, draft, delivered.comparison)
    for gap in delivered.missing:
        run.warn(f"Missing: {gap}")
    return delivered


async def _edit(
    desk: Desk,
    delivered: Delivered,
    draft: Draft | None,
    material: Sequence[tuple[str, str]],
    gaps: list[str],
    revise: Revise | None,
) -> Delivered:
    """Ask the editor; once, the document may go back to its authors. An editor who fails changes nothing."""
    remarks: list[str] = []

    async def rework(given: list[str]) -> str:
        return await _rework(desk, delivered.document, draft, material, given)

    while True:
        try:
            edit = await _ask_editor(desk, delivered.document, draft, material, gaps, remarks)
        except (StepFailedError, BudgetExhaustedError) as error:
            reason = error.reason if isinstance(error, StepFailedError) else error
            desk.run.warn(f"The editor did not check the result: {reason}")
            return delivered
        if edit is None:
            return delivered
        desk.run.emit(
            events.Edited(
                parts=len(edit.parts), missing=edit.still_missing, sent_back=edit.send_back,
                changes=len(edit.changes), rewritten=edit.document is not None,
            )
        )  # fmt: skip
        if not edit.send_back:
            return Delivered(edited(edit, delivered.document), checked=True, missing=edit.still_missing)
        remarks = list(edit.send_back)
        try:
            delivered = Delivered(await (revise or rework)(remarks))
        except (StepFailedError, BudgetExhaustedError) as error:
            desk.run.warn(f"The editor's remarks could not be worked in: {error}")


async def _ask_editor(
    desk: Desk,
    document: str,
    draft: Draft | None,
    material: Sequence[tuple[str, str]],
    gaps: list[str],
    remarks: list[str],
) -> Edit | None:
    run, may_send_back = desk.run, not remarks
    whole = may_rewrite(document, agents.EDITOR.max_tokens)
    room = await room_of(run, agents.EDITOR) - len(document) - (0 if draft is None else len(draft.document))
    shown = within(unseen(material, document), room)
    if not await affordable(run, agents.EDITOR, document, *(str(one) for one in (draft, shown))):
        run.warn("The editor did not check the result: the budget does not allow it.")
        return None

    def check(edit: Edit) -> str:
        return edit_problem(edit, document, may_rewrite=whole, may_send_back=may_send_back)

    return await run.ask(
        agents.EDITOR, "edit_result", returns=Edit, check=check, request=desk.request, form=desk.form,
        document=document, draft=draft, material=shown, known_gaps=gaps, sent_back=remarks, rule=desk.rule,
        may_rewrite=whole, may_send_back=may_send_back,
    )  # fmt: skip


async def _rework(
    desk: Desk, document: str, draft: Draft | None, material: Sequence[tuple[str, str]], remarks: list[str]
) -> str:
    """Let an author work the editor's remarks into the document."""
    room = await room_of(desk.run, agents.AUTHOR) - len(document)
    text = await desk.run.ask(
        agents.AUTHOR, "rework", request=desk.request, form=desk.form, document=document, remarks=remarks,
        draft=draft, material=within(material, room), rule=desk.rule,
    )  # fmt: skip
    return desk.run.marked(text) + "\n" if text.strip() else document


async def _compare(desk: Desk, document: str, draft: str) -> Comparison | None:
    """Compare the team's text with the direct draft."""
    comparison = await blind_comparison(desk, document, draft, ("the team's text", "the direct draft"))
    if comparison is not None:
        desk.run.emit(events.Compared(preferred=comparison.preferred, why=comparison.why))
    return comparison


async def blind_comparison(
    desk: Desk, document: str, other: str, names: tuple[str, str]
) -> Comparison | None:
    """Compare two texts blind, in both orders; `names` is what readers know them by."""
    run = desk.run
    if document.strip() == other.strip():
        return Comparison("equal", ["Both texts are the same."])
    if not await affordable(run, agents.JUDGE, document, other, times=2):
        run.warn(f"The result was not compared with {names[1]}: the budget does not allow it.")
        return None

    async def judge(a: str, b: str) -> Judgement:
        async with run.closing():
            return await run.ask(
                agents.JUDGE, "compare", returns=Judgement, request=desk.request, form=desk.form, a=a, b=b,
                rule=desk.judged_by,
            )  # fmt: skip

    both = await run.gather({"team-first": judge(document, other), "draft-first": judge(other, document)})
    for outcome in both.values():
        if isinstance(outcome, Failed):
            run.warn(f"One comparison with {names[1]} failed: {outcome.error}")
    first, second = (one.value if isinstance(one, Ok) else None for one in both.values())
    return decided(first, second, names)


async def _settle(run: Run, delivered: Delivered, draft: Draft, comparison: Comparison) -> None:
    """Hand over the better text, and say so when it is not the team's."""
    if comparison.preferred != "draft":
        return
    await run.artifact(TEAM_FILE, delivered.document, "text/markdown")
    why = " ".join(comparison.why)
    run.warn(
        f"The direct draft was judged better than the team's text and is the result; the team's text is in "
        f"{TEAM_FILE}. {why}"
    )
    delivered.replaced, delivered.document = delivered.document, draft.document.strip() + "\n"
    delivered.missing = ()


# ── what fits ────────────────────────────────────────────────────────────────────────────────────


async def room_of(run: Run, agent: Agent) -> int:
    """Return the characters of texts that the agent's prompt has room for. Recorded, like everything that a
    prompt depends on."""

    async def window(effect: Effect) -> int:
        return room_for(context_window(run.models.name_for(agent, run.config)))

    return await run.perform("room", window, inputs=agent.role, returns=int, kind="clock")


async def affordable(run: Run, agent: Agent, *texts: str, times: int = 1) -> bool:
    """Return whether what is left of the budget allows so many calls. A run that has its result must not end
    as out of budget only because it could not be checked."""

    async def fits(effect: Effect) -> bool:
        worst = [worst_case(run, agent, "".join(texts))] * times
        return affords(run.budget, sum(worst, run.spent))

    inputs = [agent.role, run.budget.to_dict()]
    return await run.perform("affordable", fits, inputs=inputs, returns=bool, kind="clock")


def worst_case(run: Run, agent: Agent, texts: str) -> Charge:
    """Return the most that a call with these texts can cost."""
    call = Call(
        run_id=run.id, workflow=run.workflow, path="", agent=agent.name, role=agent.role, task="",
        system=agent.system, prompt=texts + " " * PROMPT, max_tokens=agent.max_tokens,
    )  # fmt: skip
    return run.models.worst_case(run.models.for_agent(agent, run.config), call)


PROMPT = 6_000
"""Characters of a prompt besides the texts that it shows, its schema included."""
