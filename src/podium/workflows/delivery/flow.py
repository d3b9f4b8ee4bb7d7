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
from podium.engine.process import offload
from podium.errors import BudgetExhaustedError, StepFailedError
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
"""Gives the authors the editor's remarks and returns their new text."""


def _plain(text: str, title: str) -> str:
    return text


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
    rewrites: bool = True
    """Whether the editor may write the whole text anew."""
    shows_draft: bool = True
    """Whether the editor and the author read the draft's text, or only its points."""
    seal: Callable[[str, str], str] = _plain
    """Puts a text between marks that its authors cannot write; given the text and its title."""
    rendered: Callable[[str], str] = str
    """The text as the reader sees it; so it is compared with the draft."""
    noted: Callable[[str, bool], None] | None = None
    """Is told every warning, and whether it comes before the others."""

    def warn(self, message: str, *, first: bool = False) -> None:
        """Warn the reader of the result."""
        if self.noted is not None:
            self.noted(message, first)
        self.run.warn(message, first=first)


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
            desk.warn(f"There is no direct draft to compare with: {error.reason}")
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
    accept: Accept | None = None,
    settle: Callable[[str], Awaitable[str]] | None = None,
    replace: bool = True,
) -> Delivered:
    """Let the editor finish a document, compare it with the draft, and return what is handed over.

    `revise` is how the authors work in the editor's remarks; by default one author does, who has all the
    material. It may change the lists `material` and `gaps`: they are read anew for each ask. `accept` looks
    at what the editor changed; what it objects to is not taken over. `settle` puts right what the editor
    left, before the comparison. With `replace=False` a draft that is judged better does not take the
    document's place; a warning that comes first says so.
    """
    run = desk.run
    async with run.branch("delivery"), run.closing():
        delivered = Delivered(document)
        try:
            if desk.editor and document.strip():
                delivered = await _edit(desk, delivered, draft, material, gaps, revise, accept)
            if settle is not None and delivered.checked:
                delivered.document = await settle(delivered.document)
            if draft is not None and document.strip():
                delivered.comparison = await _compare(desk, desk.rendered(delivered.document), draft.document)
        except BudgetExhaustedError as error:
            desk.warn(f"The result was not checked to the end: {error}")
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
    """Ask the editor; once, the document may go back to its authors. An editor who fails changes nothing."""
    remarks: list[str] = []

    async def rework(given: list[str]) -> str:
        return await _rework(desk, delivered.document, draft, material, given)

    while True:
        try:
            edit = await _ask_editor(desk, delivered.document, draft, material, gaps, remarks)
        except (StepFailedError, BudgetExhaustedError) as error:
            reason = error.reason if isinstance(error, StepFailedError) else error
            desk.warn(f"The editor did not check the result: {reason}")
            return delivered
        if edit is None:
            return delivered
        told = events.Edited(
            parts=len(edit.parts), missing=edit.still_missing, sent_back=edit.send_back,
            changes=len(edit.changes), rewritten=edit.document is not None,
        )  # fmt: skip
        desk.run.emit(told)
        text, refused = await offload(accepted, edit, delivered.document, accept)
        if not edit.send_back:
            if refused:
                whole = "The editor's version was" if edit.document is not None else _counted(refused, edit)
                desk.warn(f"{whole} not taken over: {' '.join(dict.fromkeys(refused))}")
            return Delivered(text, checked=True, missing=edit.still_missing, edited=told)
        remarks, delivered.document = list(edit.send_back), text
        try:
            delivered = Delivered(await (revise or rework)(remarks))
        except (StepFailedError, BudgetExhaustedError) as error:
            desk.warn(f"The editor's remarks could not be worked in: {error}")


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
    if not await affordable(run, agents.EDITOR, document, *(str(one) for one in (draft, shown))):
        desk.warn("The editor did not check the result: the budget does not allow it.")
        return None

    def check(edit: Edit) -> str:
        return edit_problem(edit, document, may_rewrite=whole, may_send_back=may_send_back)

    return await run.ask(
        agents.EDITOR, "edit_result", returns=Edit, check=check, request=desk.request, form=desk.form,
        document=desk.seal(document, "the document"), draft=draft, material=shown, known_gaps=list(gaps),
        sent_back=remarks, rule=desk.rule, may_rewrite=whole, may_send_back=may_send_back,
    )  # fmt: skip


async def _rework(
    desk: Desk, document: str, draft: Draft | None, material: Sequence[tuple[str, str]], remarks: list[str]
) -> str:
    """Let an author work the editor's remarks into the document."""
    room = await room_of(desk.run, agents.AUTHOR) - len(document)
    text = await desk.run.ask(
        agents.AUTHOR, "rework", request=desk.request, form=desk.form, remarks=remarks, rule=desk.rule,
        document=desk.seal(document, "the document"), draft=_readable(desk, draft),
        material=within(material, room, desk.seal),
    )  # fmt: skip
    return desk.run.marked(text) + "\n" if text.strip() else document


def _readable(desk: Desk, draft: Draft | None) -> Draft | None:
    """Return the draft as the editor sees it."""
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
    """Compare two texts blind, in both orders; `names` is what readers know them by."""
    run = desk.run
    if document.strip() == other.strip():
        return Comparison("equal", ["Both texts are the same."])
    if not await affordable(run, agents.JUDGE, document, other, times=2):
        desk.warn(f"The result was not compared with {names[1]}: the budget does not allow it.")
        return None

    async def judge(a: str, b: str) -> Judgement:
        async with run.closing():
            return await run.ask(
                agents.JUDGE, "compare", returns=Judgement, request=desk.request, form=desk.form,
                a=desk.seal(a, "answer A"), b=desk.seal(b, "answer B"), rule=desk.judged_by,
            )  # fmt: skip

    both = await run.gather({"team-first": judge(document, other), "draft-first": judge(other, document)})
    for outcome in both.values():
        if isinstance(outcome, Failed):
            desk.warn(f"One comparison with {names[1]} failed: {outcome.error}")
    first, second = (one.value if isinstance(one, Ok) else None for one in both.values())
    return decided(first, second, names)


async def _settle(
    desk: Desk, delivered: Delivered, draft: Draft, comparison: Comparison, *, replace: bool
) -> None:
    """Hand over the better text, and say so when it is not the team's."""
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
