"""Baseline comparison: the best of several direct drafts with about the same tokens as the run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta

from podium.agents.ask import Run
from podium.engine.branch import Ok
from podium.engine.effect import Effect
from podium.workflows.delivery import agents, events
from podium.workflows.delivery.contracts import Draft, Pick
from podium.workflows.delivery.flow import Desk, blind_comparison, room_of, worst_case
from podium.workflows.delivery.policy import FEWEST_DRAFTS, affords, best_of, draft_tokens, within

UseBaseline = Annotated[
    bool, Meta(description="Compare the result with the best of several direct drafts for as many tokens.")
]

BASELINE_FILE = "baseline.md"
_PREFERRED = {"team": "result", "draft": "baseline", "equal": "equal"}
DRAFT_PROMPT = 3_000
"""Characters of a drafter's prompt besides the request and the form, including the schema."""


async def baseline(desk: Desk, document: str) -> events.BaselineCompared | None:
    """Compare a document blind with the best of several direct drafts. The document is never replaced: the
    preference is returned, and a warning is added if it is the baseline. None if no baseline was made."""
    run = desk.run
    if not document.strip():
        return None
    async with run.branch("baseline"), run.closing():
        before = await _tokens_spent(run)
        number = await _affordable_number(desk, document, before)
        if number < FEWEST_DRAFTS:
            run.warn("No baseline was made: the budget does not allow it.")
            return None
        drafts = await _drafts(desk, number)
        best = await _best(desk, drafts)
        if best is None:
            return None
        artifact = await run.artifact(BASELINE_FILE, best.strip() + "\n", "text/markdown")
        comparison = await blind_comparison(desk, document, best, ("the result", "the baseline"))
        preferred = "" if comparison is None else _PREFERRED[comparison.preferred]
        outcome = events.BaselineCompared(
            n=len(drafts),
            preferred=preferred,
            why=[] if comparison is None else comparison.why,
            tokens=await _tokens_spent(run) - before,
            artifact=artifact.id,
        )
        run.emit(outcome)
        if outcome.preferred == "baseline":
            run.warn(
                f"The baseline, the best of {outcome.n} direct drafts for about as many tokens, was judged "
                f"better than the result; it is in {BASELINE_FILE}. {' '.join(outcome.why)}"
            )
        return outcome


async def _drafts(desk: Desk, number: int) -> list[str]:
    """Let several drafters answer the request in parallel and independently."""
    run = desk.run

    async def draft() -> Draft:
        return await run.ask(
            agents.DRAFTER, "draft", returns=Draft, request=desk.request, form=desk.form, material=[]
        )

    made = await run.gather({f"draft-{nth}": draft() for nth in range(1, number + 1)})
    failed = [outcome.error for outcome in made.values() if not isinstance(outcome, Ok)]
    if failed:
        run.warn(f"{len(failed)} of {number} drafts of the baseline failed: {failed[0]}")
    return [outcome.value.document for outcome in made.values() if isinstance(outcome, Ok)]


async def _best(desk: Desk, drafts: Sequence[str]) -> str | None:
    """Let the judge pick the best draft. None if there is none or the judge fails."""
    if len(drafts) < FEWEST_DRAFTS:
        return drafts[0] if drafts else None
    room = await room_of(desk.run, agents.JUDGE)
    answers = within([(f"{nth}", text) for nth, text in enumerate(drafts, 1)], room)

    def check(pick: Pick) -> str:
        return "" if pick.best <= len(drafts) else f"best must be a number from 1 to {len(drafts)}"

    warning = "There is no baseline, because the best draft could not be picked"
    async with desk.run.until_exhausted(warning, or_failed=True):
        pick = await desk.run.ask(
            agents.JUDGE,
            "pick",
            returns=Pick,
            check=check,
            request=desk.request,
            form=desk.form,
            answers=answers,
            rule=desk.judged_by,
        )
        return drafts[pick.best - 1]
    return None


async def _tokens_spent(run: Run) -> int:
    async def spent(effect: Effect) -> int:
        return run.spent.tokens

    return await run.perform("spent", spent, inputs=None, returns=int, kind="clock")


async def _affordable_number(desk: Desk, document: str, tokens: int) -> int:
    """Return the number of drafts: as many as take the same tokens, fewer if the budget is smaller, 0 if it
    does not allow a baseline."""
    run = desk.run

    async def number(effect: Effect) -> int:
        prompt = desk.request + desk.form + " " * DRAFT_PROMPT
        for wanted in range(best_of(tokens, draft_tokens(prompt, document)), FEWEST_DRAFTS - 1, -1):
            calls = [worst_case(run, agents.DRAFTER, desk.request + desk.form)] * wanted
            calls += [worst_case(run, agents.JUDGE, document * wanted)]
            calls += [worst_case(run, agents.JUDGE, document * 2)] * 2
            if affords(run.budget, sum(calls, run.spent)):
                return wanted
        return 0

    return await run.perform("number", number, inputs=[run.budget.to_dict()], returns=int, kind="clock")
