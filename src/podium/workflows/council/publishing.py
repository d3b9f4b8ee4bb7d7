"""Phase 4: the ui_creator's page, and the report from our own template, which is always made."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from podium.engine.events import Charge
from podium.errors import StepFailedError
from podium.report.cuts import cut_note
from podium.report.facts import Facts
from podium.report.html import to_html
from podium.report.words import one_line
from podium.workflows.council import events
from podium.workflows.council.deliverable import answer_of
from podium.workflows.council.page import made_safe
from podium.workflows.council.policy import NAMES, UI_CREATOR, score_text
from podium.workflows.council.report import sections_of, summary_of
from podium.workflows.council.roles import AGENTS
from podium.workflows.council.table import Table

RESULT, REPORT, PAGE = "recommendation.md", "report.html", "ui-creator.html"


class Spent(msgspec.Struct, frozen=True):
    """What the discussion has taken when its report is made: recorded, so that a replay makes the same."""

    usage: Charge
    seconds: float
    models: list[str]
    rehearsal: bool


async def visualize(table: Table) -> None:
    """The ui_creator's own view of the discussion; without it there is still the report."""
    if UI_CREATOR not in table.terms:
        return
    table.phase("visualization", table.terms.rounds + 1)
    final = table.discussion.final_idea
    shown = None
    if final is not None:
        delivered = table.discussion.delivered
        replaced = delivered is not None and delivered.replaced
        shown = {
            "id": "" if replaced else final.id, "title": final.title,
            "document": (answer_of(table.discussion) or "")[: table.windows[UI_CREATOR]],
            "score": None if final.score is None else score_text(final.score),
        }  # fmt: skip
    try:
        reply = await table.ask(UI_CREATOR, "visualize", final=shown)
    except StepFailedError as error:
        table.warn(f"The {NAMES[UI_CREATOR]} failed: {error.reason}", UI_CREATOR)
        return
    made_up = bool(table.run.config.get("rehearsal"))
    page = made_safe(reply, table.discussion.topic, rehearsal=made_up)
    if not page:
        table.warn(f"Nothing was left of the {NAMES[UI_CREATOR]}'s page after it was made safe.", UI_CREATOR)
        return
    kept = await table.run.artifact(PAGE, page, "text/html")
    table.discussion.page = kept.id
    await table.say(UI_CREATOR, "visualization", page)


async def publish(table: Table, missing: Sequence[str] = (), *, accepted: bool = True) -> None:
    """Keep the recommendation alone, and the report with the record of the discussion. `missing` is what a
    budget did not allow."""
    status = "partial" if missing or not accepted else "completed"
    facts = _facts(table, await _spent(table), status, list(missing))
    page = to_html(facts, sections_of(table.discussion))
    result = ""
    if answer := answer_of(table.discussion):
        title = "" if answer.startswith("# ") else f"# {one_line(table.discussion.topic, 200)}\n\n"
        kept = await table.run.artifact(RESULT, f"{title}{answer}\n", "text/markdown")
        result = kept.id
    report = await table.run.artifact(REPORT, page, "text/html")
    table.run.emit(
        events.ReportReady(
            report=report.id, page=table.discussion.page, result=result, round=table.terms.rounds + 1
        )
    )


async def _spent(table: Table) -> Spent:
    run = table.run

    async def look(said: int) -> Spent:
        names = dict.fromkeys(run.models.name_for(AGENTS[role], run.config) for role in table.terms.team)
        return Spent(run.spent, round(run.driven_s, 3), list(names), bool(run.config.get("rehearsal")))

    return await run.step("spent", look, len(table.discussion.spoken), returns=Spent)


def _facts(table: Table, spent: Spent, status: str, missing: list[str]) -> Facts:
    held, run = table.discussion, table.run
    return Facts(
        run_id=run.id, workflow=run.workflow, request=held.topic,
        status=status, missing=missing, duration_s=spent.seconds,
        models=spent.models, rehearsal=spent.rehearsal, deliverable=answer_of(held), summary=summary_of(held),
        warnings=list(dict.fromkeys(run.warnings)), incomplete=cut_note(run.cut_steps),
        usage=spent.usage, budget=run.budget.to_dict(), options=run.options,
    )  # fmt: skip
