"""The record of a studio: open conflicts, gaps, scores, reviews, texts; and the HTML pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import Environment
from markdown_it import MarkdownIt
from markupsafe import Markup

from podium.report.frame import templates_of
from podium.report.markdown import cell
from podium.report.prose import prose
from podium.report.words import count, one_line, safe
from podium.workflows.studio.canon import CANON
from podium.workflows.studio.contracts import DepartmentReport, FoundContradiction, SpecialistResult
from podium.workflows.studio.deliverable import demoted, title_and_body
from podium.workflows.studio.policy import REPLACED, TEAM_QUALITY
from podium.workflows.studio.routing import Route
from podium.workflows.studio.working import Conflict

SIGNS = {"completed": "✓", "failed": "✗", "unfinished": "■"}
CONTRADICTIONS = "Contradictions between specialists, decided by the head"
DETAIL = "a conflict of low severity costs no round of resolution"
REVIEWS = {"approved": "✓", "revision-needed": "~", "rejected": "✗"}


@dataclass(frozen=True, kw_only=True)
class Record:
    """Everything about a run that is not part of the deliverable."""

    request: str
    reports: Sequence[DepartmentReport]
    conflicts: Sequence[Conflict]
    quality: float | None
    route: Route
    team: str
    model: str
    run_id: str
    rehearsal: bool
    checks: Sequence[str] = ()
    """How the result was checked, a line each."""
    missing: Sequence[str] = ()
    """Parts of the request that the editor found unanswered."""
    replaced: bool = False
    """The direct draft is the result; the scores here are of the team's text."""

    @property
    def open_conflicts(self) -> list[Conflict]:
        return [one for one in self.conflicts if one.status != "resolved"]

    @property
    def settled_conflicts(self) -> list[Conflict]:
        return [one for one in self.conflicts if one.status == "resolved"]

    @property
    def gaps(self) -> list[DepartmentReport]:
        return [one for one in self.reports if one.status != "completed"]


def record_text(record: Record) -> str:
    """Return the record as Markdown: what is open and what is missing first."""
    names = names_of(record.reports)
    parts = [f"# Record: {one_line(record.request, 200)}"]
    if record.replaced:
        parts.append(f"**{REPLACED}**")
    if record.open_conflicts:
        lines = [_conflict(one, names) for one in record.open_conflicts]
        parts.append("## Open conflicts\n\n" + "\n".join(lines))
    if record.gaps or record.missing:
        lines = [f"- {one.department_name} ({one.status}): {cell(one.error, 400)}" for one in record.gaps]
        lines += [f"- {cell(one, 400)}" for one in record.missing]
        parts.append("## What is missing\n\n" + "\n".join(lines))
    if record.quality is not None:
        parts.append(f"**{quality_title(record)} {record.quality:g}** · {figures_of(record.reports)}")
    if record.checks:
        lines = [f"- {cell(one, 600)}" for one in record.checks]
        parts.append("## How the result was checked\n\n" + "\n".join(lines))
    parts.append(_routing(record.route))
    parts += [_section(one) for one in record.reports]
    if record.settled_conflicts:
        lines = [_conflict(one, names) for one in record.settled_conflicts]
        parts.append("## Settled conflicts\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def quality_title(record: Record) -> str:
    """Return what the overall figure is about."""
    return TEAM_QUALITY if record.replaced else "Overall quality"


def _routing(route: Route) -> str:
    how = {"model": "a model", "fixed": "you"}.get(route.router, "keywords")
    doubt = f" Keywords alone were in doubt: {cell(route.doubt, 200)}." if route.doubt else ""
    rows = [
        f"| {'**' if one.department in route.chosen else ''}{one.department}"
        f"{'**' if one.department in route.chosen else ''} | {one.relevance:g} | {cell(one.reason, 200)} |"
        for one in route.scores
    ]
    head = f"## Routing\n\nDecided by {how}.{doubt}\n\n| department | relevance | why |\n|---|--:|---|\n"
    return head + "\n".join(rows)


def figures_of(reports: Sequence[DepartmentReport]) -> str:
    """Return how many departments and specialists delivered."""
    done = sum(one.status == "completed" for one in reports)
    parts = [f"{done} of {count(len(reports), 'department')}"]
    results = [result for one in reports for result in one.specialist_results]
    if results:
        parts.append(f"{sum(one.is_accepted for one in results)} of {len(results)} specialists accepted")
    return " · ".join(parts)


def _section(report: DepartmentReport) -> str:
    """A department: its score, who contributed, what was rejected and why, and its text."""
    parts = [f"## {report.department_name}"]
    if report.status == "failed":
        parts.append(f"*Failed: {cell(report.error, 400)}*")
    else:
        parts.append(f"*{score_line(report)}*")
    if report.specialist_results:
        parts.append("\n".join(_contribution(one) for one in report.specialist_results))
    if report.found_contradictions:
        lines = [f"- {_decision(one)}" for one in report.found_contradictions]
        parts.append(f"{CONTRADICTIONS}:\n\n" + "\n".join(lines))
    if report.output:
        parts.append(f"### Text\n\n{demoted(report.output, 4)}")
    return "\n\n".join(parts)


def score_line(report: DepartmentReport) -> str:
    """Return how a department's score came about, in one line."""
    parts = [f"Score {report.quality_score:g}" if report.status == "completed" else "Unfinished"]
    passed, everyone = report.metadata.successful_specialists, len(report.specialist_results)
    if not everyone:
        parts.append("written by the head")
    elif report.stand_in:
        used = next(one for one in report.specialist_results if one.agent_id == report.stand_in)
        parts.append(f"the synthesis failed; only the work of the {used.agent_name} is in it")
    elif passed:
        parts.append(f"{passed} of {count(everyone, 'specialist')} accepted")
    else:
        parts.append(
            f"written by the head, because no specialist passed (their own figure: {report.formula_score:g})"
        )
    if report.flags:
        parts.append(", ".join(report.flags))
    return " · ".join(parts)


def _contribution(result: SpecialistResult) -> str:
    why = f": {cell(result.review_notes, 300)}" if result.review_status != "approved" else ""
    tries = f" in {count(result.attempts, 'attempt')}" if result.attempts > 1 else ""
    said = f" ({cell(quoted_feedback(result), 300)})" if quoted_feedback(result) else ""
    score = f"{result.quality_score:g}" if result.graded else f"{result.quality_score:g} (not graded)"
    mark = REVIEWS[result.review_status]
    return f"- {mark} {result.agent_name} {score}{tries}, {result.review_status}{why}{said}"


def _decision(one: FoundContradiction) -> str:
    if not one.what:
        return cell(one.decision, 400)
    said = f": {cell(one.said, 400)}" if one.said else ""
    return f"**{cell(one.what, 100)}**{said} Decided: {cell(one.decision, 400)}"


def quoted_feedback(result: SpecialistResult) -> str:
    """Return what the head said about the attempt that counts, where it was rejected."""
    if result.review_status != "rejected" or not result.counted_feedback:
        return ""
    which = f"attempt {result.counted_attempt}: " if result.attempts > 1 else ""
    return f"{which}{result.counted_feedback}"


def names_of(reports: Sequence[DepartmentReport]) -> dict[str, str]:
    """Return the names of those that can be part of a conflict, by key."""
    return {one.key: one.department_name for one in reports} | {CANON: "the project's canon"}


def _conflict(conflict: Conflict, names: dict[str, str]) -> str:
    who = cell(" and ".join(names.get(key, key) for key in conflict.departments), 200)
    head = f"- **{who}** ({conflict.kind}, {conflict.severity}): {cell(conflict.description, 400)}"
    if conflict.status == "resolved":
        by = cell(names.get(conflict.yielded, conflict.yielded), 100)
        return f"{head} Resolved: {by} yielded, because {cell(conflict.reason, 300)}"
    said = " ".join(cell(one, 300) for one in dict.fromkeys(conflict.said))
    status = f"**Listed only**: {DETAIL}." if conflict.is_listed_only else "**Unresolved.**"
    return " ".join(part for part in (head, status, conflict.in_result, said) if part)


# ── pages ────────────────────────────────────────────────────────────────────────────────────────


def _line_breaks(parser: MarkdownIt) -> None:
    """Keep line breaks: lines of dialogue and verse stand below each other."""
    parser.options["breaks"] = True


def _body(text: str) -> Markup:
    return prose(demoted(text, 2), _line_breaks)


def _prose(text: str) -> Markup:
    return prose(demoted(text), _line_breaks)


def _templates() -> Environment:
    templates = templates_of("podium.workflows.studio")
    own: dict[str, Any] = {"prose": _prose, "body": _body}
    templates.filters.update(own)
    return templates


def deliverable_page(text: str, record: Record) -> str:
    """Return the deliverable as a self-contained page: no script, nothing remote."""
    title, body = title_and_body(text)
    return _templates().get_template("deliverable.html").render(
        title=one_line(title or record.request, 200), body=body, request=safe(record.request), record=record,
        rehearsal=record.rehearsal, run_id=record.run_id,
    )  # fmt: skip


def record_page(record: Record) -> str:
    """Return the record as a self-contained page."""
    route = record.route
    return _templates().get_template("record.html").render(
        title=f"Record: {one_line(record.request, 120)}", record=record, reports=record.reports,
        quality=record.quality, quality_title=quality_title(record), replaced=REPLACED,
        figures=figures_of(record.reports), signs=SIGNS, reviews=REVIEWS, detail=DETAIL,
        contradictions=CONTRADICTIONS,
        score_line=score_line, quoted_feedback=quoted_feedback, names=names_of(record.reports),
        relevance={one.department: one.relevance for one in route.scores}, primary=route.primary,
        chosen=route.chosen, route=route, rehearsal=record.rehearsal, run_id=record.run_id,
    )  # fmt: skip
