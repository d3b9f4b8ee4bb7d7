"""Floor of a run: one direct draft before the orchestration; an editor and a blind comparison after it.

The draft is a checklist for the answer, an alternative version for the editor, and a lower bound: a text that
is worse than the draft is never delivered without a warning.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from msgspec import Meta

from podium.agents.agent import Agent
from podium.agents.ask import Run
from podium.engine.branch import Failed, Ok
from podium.engine.effect import Effect
from podium.engine.events import Charge
from podium.engine.process import offload
from podium.errors import StepFailedError
from podium.models.model import Call
from podium.models.registry import context_window
from podium.report.words import count
from podium.workflows.delivery import agents, events
from podium.workflows.delivery import rehearsal as rehearsal
from podium.workflows.delivery.contracts import Comparison, Delivered, Draft, Edit, Judgement
from podium.workflows.delivery.policy import (
    Accept,
    accepted,
    affords,
    affords_floor,
    decided,
    edit_problem,
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
"""Gives the editor's remarks to the authors and returns their new text."""


def _plain(text: str, title: str) -> str:
    return text


@dataclass(frozen=True)
class Desk:
    """Task description for the drafter, the editor and the judge of one run."""

    run: Run
    request: str
    form: str = ""
    """Kind of text that is wanted, if the request does not say so itself."""
    rule: str = NO_NEW_FACTS
    """Constraints for the editor."""
    judged_by: str = ""
    """Further criteria for comparing two texts."""
    floor: bool = True
    editor: bool = True
    rewrites: bool = True
    """The editor may rewrite the whole text."""
    shows_draft: bool = True
    """The editor and the author see the draft's text. If false, they see only its points."""
    seal: Callable[[str, str], str] = _plain
    """Wraps a text and its title in markers that its authors cannot forge."""
    rendered: Callable[[str], str] = str
    """Renders the text as the reader sees it, for the comparison with the draft."""
    noted: Callable[[str, bool], None] | None = None
    """Callback for every warning, with a flag that says whether it comes first."""

    def warn(self, message: str, *, first: bool = False) -> None:
        """Add a warning for the reader of the result."""
        if self.noted is not None:
            self.noted(message, first)
        self.run.warn(message, first=first)


# ── before the orchestration ─────────────────────────────────────────────────────────────────────


async def direct_draft(desk: Desk, material: Sequence[tuple[str, str]] = ()) -> Draft | None:
    """Return a direct answer to the request. None if the floor is off, the budget is too small, or the
    drafter fails."""
    run = desk.run
    if not desk.floor:
        return None
    async with run.branch("floor"):
        if not await _floor_fits(desk):
            return None
        try:
            draft = await run.ask(
                agents.DRAFTER,
                "draft",
                returns=Draft,
                request=desk.request,
                form=desk.form,
                material=within(material, await room_of(run, agents.DRAFTER)),
            )
        except StepFailedError as error:
            desk.warn(f"There is no direct draft to compare with: {error.reason}")
            return None
        artifact = await run.artifact(DRAFT_FILE, draft.document.strip() + "\n", "text/markdown")
        run.emit(events.Drafted(artifact=artifact.id, points=draft.points))
        return draft


async def _floor_fits(desk: Desk) -> bool:
    """Decide once whether the budget allows a floor. Recorded, so that a resume with a larger budget does not
    repeat model calls."""
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
    accept: Accept | None = None,
    settle: Callable[[str], Awaitable[str]] | None = None,
    replace: bool = True,
) -> Delivered:
    """Let the editor finish a document, compare it with the draft, and return the text to deliver.

    `revise` lets the authors apply the editor's remarks; by default one author does, with all the material.
    It may change the lists `material` and `gaps`, which are read again for each call. `accept` checks the
    editor's changes; changes that it rejects are dropped. `settle` corrects the edited text before the
    comparison. With `replace=False` a better draft does not replace the document; a warning that comes first
    says so.
    """
    run = desk.run
    async with run.branch("delivery"), run.closing():
        delivered = Delivered(document)
        async with run.until_exhausted("The result was not checked to the end", warn=desk.warn):
            if desk.editor and document.strip():
                delivered = await _edit(desk, delivered, draft, material, gaps, revise, accept)
            if settle is not None and delivered.checked:
                delivered.document = await settle(delivered.document)
            if draft is not None and document.strip():
                delivered.comparison = await _compare(desk, desk.rendered(delivered.document), draft.document)
        if draft is not None and delivered.comparison is not None:
            await _settle(desk, delivered, draft, delivered.comparison, replace=replace)
    for gap in delivered.missing:
        desk.warn(f"Missing: {gap}")
    return delivered


async def _edit(
    desk: Desk,
    delivered: Delivered,
    draft: Draft | None,
    material: Sequence[tuple[str, str]],
    gaps: Sequence[str],
    revise: Revise | None,
    accept: Accept | None,
) -> Delivered:
    """Ask the editor. The document may go back to its authors once. If the editor fails, nothing changes."""
    remarks: list[str] = []
    ending_early = partial(desk.run.until_exhausted, warn=desk.warn, or_failed=True)

    async def rework(new: list[str]) -> str:
        return await _rework(desk, delivered.document, draft, material, new)

    while True:
        edit: Edit | None = None
        async with ending_early("The editor did not check the result"):
            edit = await _ask_editor(desk, delivered.document, draft, material, gaps, remarks)
        if edit is None:
            return delivered
        event = events.Edited(
            parts=len(edit.parts),
            missing=edit.still_missing,
            sent_back=edit.send_back,
            changes=len(edit.changes),
            rewritten=edit.document is not None,
        )
        desk.run.emit(event)
        text, refused = await offload(accepted, edit, delivered.document, accept)
        if not edit.send_back:
            if refused:
                whole = "The editor's version was" if edit.document is not None else _counted(refused, edit)
                desk.warn(f"{whole} not applied: {' '.join(dict.fromkeys(refused))}")
            return Delivered(text, checked=True, missing=edit.still_missing, edited=event)
        remarks, delivered.document = list(edit.send_back), text
        async with ending_early("The editor's remarks could not be worked in"):
            delivered = Delivered(await (revise or rework)(remarks))


def _counted(refused: list[str], edit: Edit) -> str:
    verb = "was" if len(refused) == 1 else "were"
    return f"{len(refused)} of the editor's {count(len(edit.changes), 'change')} {verb}"


async def _ask_editor(
    desk: Desk,
    document: str,
    draft: Draft | None,
    material: Sequence[tuple[str, str]],
    gaps: Sequence[str],
    remarks: list[str],
) -> Edit | None:
    run, may_send_back, draft = desk.run, not remarks, _readable(desk, draft)
    whole = desk.rewrites and may_rewrite(document, agents.EDITOR.max_tokens)
    room = await room_of(run, agents.EDITOR) - len(document) - (0 if draft is None else len(draft.document))
    shown = within(unseen(material, document), room, desk.seal)
    if not await affordable(run, agents.EDITOR, document, str(draft), str(shown)):
        desk.warn("The editor did not check the result: the budget does not allow it.")
        return None

    def check(edit: Edit) -> str:
        return edit_problem(edit, document, may_rewrite=whole, may_send_back=may_send_back)

    return await run.ask(
        agents.EDITOR,
        "edit_result",
        returns=Edit,
        check=check,
        request=desk.request,
        form=desk.form,
        document=desk.seal(document, "the document"),
        draft=draft,
        material=shown,
        known_gaps=list(gaps),
        sent_back=remarks,
        rule=desk.rule,
        may_rewrite=whole,
        may_send_back=may_send_back,
    )


async def _rework(
    desk: Desk, document: str, draft: Draft | None, material: Sequence[tuple[str, str]], remarks: list[str]
) -> str:
    """Let an author work the editor's remarks into the document."""
    room = await room_of(desk.run, agents.AUTHOR) - len(document)
    text = await desk.run.ask(
        agents.AUTHOR,
        "rework",
        request=desk.request,
        form=desk.form,
        remarks=remarks,
        rule=desk.rule,
        document=desk.seal(document, "the document"),
        draft=_readable(desk, draft),
        material=within(material, room, desk.seal),
    )
    return desk.run.marked(text) + "\n" if text.strip() else document


def _readable(desk: Desk, draft: Draft | None) -> Draft | None:
    """Return the draft as the editor sees it, without its text if `shows_draft` is off."""
    if draft is None or desk.shows_draft:
        return draft
    return draft.model_copy(update={"document": ""})


async def _compare(desk: Desk, document: str, draft: str) -> Comparison | None:
    """Compare the team's text with the direct draft."""
    comparison = await blind_comparison(desk, document, draft, ("the team's text", "the direct draft"))
    if comparison is not None:
        desk.run.emit(events.Compared(preferred=comparison.preferred, why=comparison.why))
    return comparison


async def blind_comparison(
    desk: Desk, document: str, other: str, names: tuple[str, str]
) -> Comparison | None:
    """Compare two texts blind, in both orders. `names` are the texts' names for readers. None if the budget
    is too small or both judgements fail."""
    run = desk.run
    if document.strip() == other.strip():
        return Comparison("equal", ["Both texts are the same."])
    if not await affordable(run, agents.JUDGE, document, other, times=2):
        desk.warn(f"The result was not compared with {names[1]}: the budget does not allow it.")
        return None

    async def judge(a: str, b: str) -> Judgement:
        async with run.closing():
            return await run.ask(
                agents.JUDGE,
                "compare",
                returns=Judgement,
                request=desk.request,
                form=desk.form,
                a=desk.seal(a, "answer A"),
                b=desk.seal(b, "answer B"),
                rule=desk.judged_by,
            )

    both = await run.gather({"team-first": judge(document, other), "draft-first": judge(other, document)})
    for outcome in both.values():
        if isinstance(outcome, Failed):
            desk.warn(f"One comparison with {names[1]} failed: {outcome.error}")
    first, second = (outcome.value if isinstance(outcome, Ok) else None for outcome in both.values())
    return decided(first, second, names)


async def _settle(
    desk: Desk, delivered: Delivered, draft: Draft, comparison: Comparison, *, replace: bool
) -> None:
    """Deliver the better text, with a warning if it is not the team's."""
    if comparison.preferred != "draft":
        return
    why = " ".join(comparison.why)
    if not replace:
        desk.warn(
            f"A direct draft without the team's work was judged better than this text. It is in "
            f"{DRAFT_FILE}. {why}",
            first=True,
        )
        return
    await desk.run.artifact(TEAM_FILE, delivered.document, "text/markdown")
    desk.warn(
        f"The direct draft was judged better than the team's text and is the result; the team's text is in "
        f"{TEAM_FILE}. {why}",
        first=True,
    )
    delivered.replaced, delivered.document = delivered.document, draft.document.strip() + "\n"
    delivered.missing = ()


# ── limits ───────────────────────────────────────────────────────────────────────────────────────


async def room_of(run: Run, agent: Agent) -> int:
    """Return the characters of text that fit into the agent's prompt. Recorded, like everything that a prompt
    depends on."""

    async def window(effect: Effect) -> int:
        return room_for(context_window(run.models.name_for(agent, run.config)))

    return await run.perform("room", window, inputs=agent.role, returns=int, kind="clock")


async def affordable(run: Run, agent: Agent, *texts: str, times: int = 1) -> bool:
    """Return whether the remaining budget allows this many calls. A finished run must not end as out of
    budget only because its result could not be checked."""

    async def fits(effect: Effect) -> bool:
        worst = [worst_case(run, agent, "".join(texts))] * times
        return affords(run.budget, sum(worst, run.spent))

    inputs = [agent.role, run.budget.to_dict()]
    return await run.perform("affordable", fits, inputs=inputs, returns=bool, kind="clock")


def worst_case(run: Run, agent: Agent, texts: str) -> Charge:
    """Return the maximum cost of a call with these texts."""
    call = Call(
        run_id=run.id,
        workflow=run.workflow,
        path="",
        agent=agent.name,
        role=agent.role,
        task="",
        system=agent.system,
        prompt=texts + " " * PROMPT,
        max_tokens=agent.max_tokens,
    )
    return run.models.worst_case(run.models.for_agent(agent, run.config), call)


PROMPT = 6_000
"""Characters of a prompt besides its texts, including the schema."""
