"""The ui_creator's page and the report artifacts of `council`."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
import nh3
from markupsafe import Markup

from podium.engine.events import Charge
from podium.errors import StepFailedError
from podium.report.data import ReportData
from podium.report.html import prose, templates_of, to_html
from podium.report.words import cut_note, one_line, safe
from podium.workflows.council import events
from podium.workflows.council.agents import AGENTS
from podium.workflows.council.deliverable import answer_of
from podium.workflows.council.policy import NAMES, UI_CREATOR, score_text
from podium.workflows.council.report import sections_of, summary_of
from podium.workflows.council.table import Table

_FENCE = re.compile(r"```[\w+-]*[ \t]*\n(.*?)(?:\n[ \t]*```|\Z)", re.DOTALL)
_BODY = re.compile(r"<body\b[^>]*>(.*?)(?:</body\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(?:[a-z][a-z0-9]*)(?:\s[^<>]*)?/?>", re.IGNORECASE)
_TAGS = set(
    """
    a abbr article aside b blockquote br caption cite code col colgroup dd del details div dl dt em
    figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i ins kbd li main mark ol p pre q s section
    small span strong sub summary sup table tbody td tfoot th thead tr u ul
    """.split()
)
_STYLES = {
    "background-color",
    "border-radius",
    "color",
    "font-size",
    "font-style",
    "font-weight",
    "margin",
    "margin-bottom",
    "margin-top",
    "padding",
    "text-align",
    "text-decoration",
}
"""Style properties that can neither load anything nor cover other elements."""
_ATTRIBUTES = {
    "*": {"style", "title"},
    "a": {"href"},
    "td": {"colspan", "rowspan"},
    "ol": {"start"},
    "th": {"colspan", "rowspan", "scope"},
    "details": {"open"},
}
_DROPPED = {"script", "style", "template", "noscript", "iframe", "object", "svg", "math", "head", "title"}
"""Elements that are removed together with their content."""


def made_safe(reply: str, title: str, *, rehearsal: bool = False) -> str:
    """Return a standalone page from a model's reply, or an empty string if nothing is left after
    sanitizing."""
    body = _body_of(reply)
    if not nh3.clean(body, tags=set()).strip():
        return ""
    page = templates_of("podium.workflows.council").get_template("page.html")
    return page.render(title=one_line(title, 120), body=Markup(body), rehearsal=rehearsal)


def _body_of(reply: str) -> str:
    """Return the sanitized content. A reply without HTML is read as Markdown."""
    text = safe(reply)
    fence = _FENCE.search(text)
    if fence and _TAG.search(fence[1]):
        text = fence[1]
    if not _TAG.search(text):
        return str(prose(text))
    body = _BODY.search(text)
    return nh3.clean(
        body[1] if body else text,
        tags=_TAGS,
        clean_content_tags=_DROPPED,
        attributes=_ATTRIBUTES,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
        filter_style_properties=_STYLES,
    )


RESULT, REPORT, PAGE = "recommendation.md", "report.html", "ui-creator.html"


class Spent(msgspec.Struct, frozen=True):
    """Usage of the discussion at the time of its report. Recorded, so that a replay produces the same
    report."""

    usage: Charge
    seconds: float
    models: list[str]
    rehearsal: bool


async def visualize(table: Table) -> None:
    """Ask the ui_creator for a page about the discussion. If it fails, only the report is published."""
    if UI_CREATOR not in table.terms:
        return
    table.phase("visualization", table.terms.rounds + 1)
    final = table.discussion.final_idea
    shown = None
    if final is not None:
        delivered = table.discussion.delivered
        replaced = delivered is not None and delivered.replaced
        shown = {
            "id": "" if replaced else final.id,
            "title": final.title,
            "document": (answer_of(table.discussion) or "")[: table.windows[UI_CREATOR]],
            "score": None if final.score is None else score_text(final.score),
        }
    try:
        reply = await table.ask(UI_CREATOR, "visualize", final=shown)
    except StepFailedError as error:
        table.warn(f"The {NAMES[UI_CREATOR]} failed: {error.reason}", UI_CREATOR)
        return
    made_up = bool(table.run.config.get("rehearsal"))
    page = made_safe(reply, table.discussion.topic, rehearsal=made_up)
    if not page:
        table.warn(f"The {NAMES[UI_CREATOR]}'s page was empty after it was sanitized.", UI_CREATOR)
        return
    artifact = await table.run.artifact(PAGE, page, "text/html")
    table.discussion.page = artifact.id
    await table.say(UI_CREATOR, "visualization", page)


async def publish(table: Table, missing: Sequence[str] = (), *, accepted: bool = True) -> None:
    """Save the recommendation and the report with the record of the discussion. `missing` lists what the
    budget did not allow."""
    status = "partial" if missing or not accepted else "completed"
    facts = _facts(table, await _spent(table), status, list(missing))
    page = to_html(facts, sections_of(table.discussion))
    result = ""
    if answer := answer_of(table.discussion):
        title = "" if answer.startswith("# ") else f"# {one_line(table.discussion.topic, 200)}\n\n"
        artifact = await table.run.artifact(RESULT, f"{title}{answer}\n", "text/markdown")
        result = artifact.id
    report = await table.run.artifact(REPORT, page, "text/html")
    table.run.emit(
        events.ReportReady(
            report=report.id, page=table.discussion.page, result=result, round=table.terms.rounds + 1
        )
    )


async def _spent(table: Table) -> Spent:
    run = table.run

    async def look(contributions: int) -> Spent:
        names = dict.fromkeys(run.models.name_for(AGENTS[role], run.config) for role in table.terms.team)
        return Spent(run.spent, round(run.driven_s, 3), list(names), bool(run.config.get("rehearsal")))

    return await run.step("spent", look, len(table.discussion.spoken), returns=Spent)


def _facts(table: Table, spent: Spent, status: str, missing: list[str]) -> ReportData:
    discussion, run = table.discussion, table.run
    return ReportData(
        run_id=run.id,
        workflow=run.workflow,
        request=discussion.topic,
        status=status,
        missing=missing,
        duration_s=spent.seconds,
        models=spent.models,
        rehearsal=spent.rehearsal,
        deliverable=answer_of(discussion),
        summary=summary_of(discussion),
        warnings=list(dict.fromkeys(run.warnings)),
        incomplete=cut_note(run.cut_steps),
        usage=spent.usage,
        budget=run.budget.to_dict(),
        options=run.options,
    )
