"""The deliverable of a studio run, and the record of its routing, conflicts and scores."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from jinja2 import Environment
from markdown_it import MarkdownIt
from markupsafe import Markup

from podium.report.html import prose, templates_of
from podium.report.markdown import cell
from podium.report.words import count, one_line, safe, scored
from podium.workflows.studio.context import CANON, Conflict
from podium.workflows.studio.contracts import DepartmentReport, FoundContradiction, SpecialistResult
from podium.workflows.studio.policy import REPLACED, TEAM_QUALITY
from podium.workflows.studio.routing import Route

_HEADING = re.compile(r"^(#{1,6})(?= )")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
_BLOCK = re.compile(
    r"\s*$|#{1,6} |\s*(?:[-*+]|\d+[.)]) |\s*[|>]| {4}|\t|\s*(?:-{2,}|={2,}|\*{3,}|_{3,})\s*$|\s*(?:```|~~~)"
)
"""Lines that are empty or belong to a heading, list, table, quotation, rule or code."""
_TITLE = re.compile(r"\A\s*# +(.+?)[ #]*\n")
OWN_LEVEL = 3
"""The highest heading inside a section, which is itself of level 2."""


def integrated_text(request: str, text: str) -> str:
    """Return a text ready for delivery: with a title, and with line breaks in dialogue."""
    return with_line_breaks(with_title(request, text)) + "\n"


def with_title(request: str, text: str) -> str:
    """Return a text with a title. If the text has none, the request becomes the title."""
    text = text.strip()
    if _TITLE.match(f"{text}\n"):
        return f"{text}\n"
    return f"# {one_line(request, 200)}\n\n{demoted(text, 2)}\n"


def with_line_breaks(text: str) -> str:
    """Keep lines of dialogue and verse apart in every Markdown renderer: append two spaces to lines inside a
    paragraph."""
    lines, fenced = text.splitlines(), False
    for number, (line, following) in enumerate(pairwise(lines)):
        fenced ^= bool(_FENCE.match(line))
        quoted = line.startswith(">") and following.startswith(">")
        if not fenced and (quoted or not (_BLOCK.match(line) or _BLOCK.match(following))):
            lines[number] = f"{line.rstrip()}  "
    return "\n".join(lines)


def departments_text(request: str, reports: Sequence[DepartmentReport]) -> str:
    """Return the departments' texts one after the other, for a run in which the master wrote nothing."""
    parts = [f"# {one_line(request, 200)}"]
    written = [report for report in reports if report.output]
    if written:
        parts.append("*These are the departments' texts as they are; they were not brought together.*")
    parts += [f"## {report.department_name}\n\n{demoted(report.output)}" for report in written]
    missing = [report.department_name for report in reports if not report.output]
    if missing:
        parts.append(f"*Missing: the work of {', '.join(missing)}.*")
    return "\n\n".join(parts) + "\n"


def title_and_body(text: str) -> tuple[str, str]:
    """Return the title of a deliverable and the text below it."""
    match = _TITLE.match(text)
    return (match[1], text[match.end() :].strip()) if match else ("", text.strip())


def demoted(text: str, top: int = OWN_LEVEL) -> str:
    """Shift headings down so that the highest is of level `top`, and keep their relative levels."""
    fenced, headings = False, list[int]()
    lines = text.splitlines()
    for number, line in enumerate(lines):
        fenced ^= bool(_FENCE.match(line))
        if not fenced and _HEADING.match(line):
            headings.append(number)
    levels = [len(lines[number]) - len(lines[number].lstrip("#")) for number in headings]
    down = top - min(levels, default=top)
    for number, level in zip(headings, levels, strict=True):
        if down > 0:
            lines[number] = "#" * min(level + down, 6) + lines[number][level:]
    return "\n".join(lines)


SIGNS = {"completed": "✓", "failed": "✗", "unfinished": "■"}
CONTRADICTIONS = "Contradictions between specialists, decided by the head"
DETAIL = "a conflict of low severity costs no round of resolution"
REVIEWS = {"approved": "✓", "revision-needed": "~", "rejected": "✗"}


@dataclass(frozen=True, kw_only=True)
class Record:
    """Data about a run that is not part of the deliverable."""

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
    """Lines that describe the checks of the result."""
    missing: Sequence[str] = ()
    """Parts of the request that the editor found unanswered."""
    replaced: bool = False
    """The direct draft is the result. The scores belong to the team's text."""

    @property
    def open_conflicts(self) -> list[Conflict]:
        return [conflict for conflict in self.conflicts if conflict.status != "resolved"]

    @property
    def settled_conflicts(self) -> list[Conflict]:
        return [conflict for conflict in self.conflicts if conflict.status == "resolved"]

    @property
    def gaps(self) -> list[DepartmentReport]:
        return [report for report in self.reports if report.status != "completed"]


def record_text(record: Record) -> str:
    """Return the record as Markdown, open conflicts and missing parts first."""
    names = names_of(record.reports)
    parts = [f"# Record: {one_line(record.request, 200)}"]
    if record.replaced:
        parts.append(f"**{REPLACED}**")
    if record.open_conflicts:
        lines = [_conflict(conflict, names) for conflict in record.open_conflicts]
        parts.append("## Open conflicts\n\n" + "\n".join(lines))
    if record.gaps or record.missing:
        lines = [f"- {gap.department_name} ({gap.status}): {cell(gap.error, 400)}" for gap in record.gaps]
        lines += [f"- {cell(part, 400)}" for part in record.missing]
        parts.append("## What is missing\n\n" + "\n".join(lines))
    if record.quality is not None:
        quality = scored(f"{quality_title(record)} {record.quality:g}", record.rehearsal)
        parts.append(f"**{quality}** · {figures_of(record.reports)}")
    if record.checks:
        lines = [f"- {cell(line, 600)}" for line in record.checks]
        parts.append("## How the result was checked\n\n" + "\n".join(lines))
    parts.append(_routing(record.route))
    parts += [_section(report, record.rehearsal) for report in record.reports]
    if record.settled_conflicts:
        lines = [_conflict(conflict, names) for conflict in record.settled_conflicts]
        parts.append("## Settled conflicts\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def quality_title(record: Record) -> str:
    """Return the label of the overall quality."""
    return TEAM_QUALITY if record.replaced else "Overall quality"


def _routing(route: Route) -> str:
    how = {"model": "a model", "fixed": "you"}.get(route.router, "keywords")
    doubt = f" Keywords alone were in doubt: {cell(route.doubt, 200)}." if route.doubt else ""
    marks = dict.fromkeys(route.chosen, "**")
    rows = [
        f"| {(mark := marks.get(score.department, ''))}{score.department}{mark} "
        f"| {score.relevance:g} | {cell(score.reason, 200)} |"
        for score in route.scores
    ]
    head = f"## Routing\n\nDecided by {how}.{doubt}\n\n| department | relevance | why |\n|---|--:|---|\n"
    return head + "\n".join(rows)


def figures_of(reports: Sequence[DepartmentReport]) -> str:
    """Return the number of departments and specialists that delivered."""
    done = sum(report.status == "completed" for report in reports)
    parts = [f"{done} of {count(len(reports), 'department')}"]
    results = [result for report in reports for result in report.specialist_results]
    if results:
        parts.append(
            f"{sum(result.is_accepted for result in results)} of {len(results)} specialists accepted"
        )
    return " · ".join(parts)


def _section(report: DepartmentReport, rehearsal: bool) -> str:
    """Render a department: score, contributors, rejections with reasons, and text."""
    parts = [f"## {report.department_name}"]
    if report.status == "failed":
        parts.append(f"*Failed: {cell(report.error, 400)}*")
    else:
        parts.append(f"*{score_line(report, rehearsal)}*")
    if report.specialist_results:
        parts.append("\n".join(_contribution(result, rehearsal) for result in report.specialist_results))
    if report.found_contradictions:
        lines = [f"- {_decision(contradiction)}" for contradiction in report.found_contradictions]
        parts.append(f"{CONTRADICTIONS}:\n\n" + "\n".join(lines))
    if report.output:
        parts.append(f"### Text\n\n{demoted(report.output, 4)}")
    return "\n\n".join(parts)


def score_line(report: DepartmentReport, rehearsal: bool) -> str:
    """Describe a department's score in one line."""
    score = scored(f"Score {report.quality_score:g}", rehearsal)
    parts = [score if report.status == "completed" else "Unfinished"]
    passed, everyone = report.metadata.successful_specialists, len(report.specialist_results)
    if not everyone:
        parts.append("written by the head")
    elif report.stand_in:
        used = next(result for result in report.specialist_results if result.agent_id == report.stand_in)
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


def _contribution(result: SpecialistResult, rehearsal: bool) -> str:
    why = f": {cell(result.review_notes, 300)}" if result.review_status != "approved" else ""
    tries = f" in {count(result.attempts, 'attempt')}" if result.attempts > 1 else ""
    feedback = f" ({cell(quoted_feedback(result), 300)})" if quoted_feedback(result) else ""
    score = f"{result.quality_score:g}"
    score = scored(score, rehearsal) if result.graded else f"{score} (not graded)"
    mark = REVIEWS[result.review_status]
    return f"- {mark} {result.agent_name} {score}{tries}, {result.review_status}{why}{feedback}"


def _decision(contradiction: FoundContradiction) -> str:
    if not contradiction.what:
        return cell(contradiction.decision, 400)
    statements = f": {cell(contradiction.said, 400)}" if contradiction.said else ""
    return f"**{cell(contradiction.what, 100)}**{statements} Decided: {cell(contradiction.decision, 400)}"


def quoted_feedback(result: SpecialistResult) -> str:
    """Return the head's feedback on the counted attempt if it was rejected, else an empty string."""
    if result.review_status != "rejected" or not result.counted_feedback:
        return ""
    which = f"attempt {result.counted_attempt}: " if result.attempts > 1 else ""
    return f"{which}{result.counted_feedback}"


def names_of(reports: Sequence[DepartmentReport]) -> dict[str, str]:
    """Return the names of all possible parties of a conflict by key."""
    return {report.key: report.department_name for report in reports} | {CANON: "the project's canon"}


def _conflict(conflict: Conflict, names: dict[str, str]) -> str:
    who = cell(" and ".join(names.get(key, key) for key in conflict.departments), 200)
    head = f"- **{who}** ({conflict.kind}, {conflict.severity}): {cell(conflict.description, 400)}"
    if conflict.status == "resolved":
        by = cell(names.get(conflict.yielded, conflict.yielded), 100)
        return f"{head} Resolved: {by} yielded, because {cell(conflict.reason, 300)}"
    answers = " ".join(cell(answer, 300) for answer in dict.fromkeys(conflict.said))
    status = f"**Listed only**: {DETAIL}." if conflict.is_listed_only else "**Unresolved.**"
    return " ".join(part for part in (head, status, conflict.in_result, answers) if part)


# ── pages ────────────────────────────────────────────────────────────────────────────────────────


def _line_breaks(parser: MarkdownIt) -> None:
    """Keep line breaks, for dialogue and verse."""
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
    """Return the deliverable as a self-contained page, without scripts or remote resources."""
    title, body = title_and_body(text)
    return (
        _templates()
        .get_template("deliverable.html")
        .render(
            title=one_line(title or record.request, 200),
            body=body,
            request=safe(record.request),
            record=record,
            rehearsal=record.rehearsal,
            run_id=record.run_id,
        )
    )


def record_page(record: Record) -> str:
    """Return the record as a self-contained page."""
    route = record.route
    return (
        _templates()
        .get_template("record.html")
        .render(
            title=f"Record: {one_line(record.request, 120)}",
            record=record,
            reports=record.reports,
            quality=record.quality,
            quality_title=quality_title(record),
            replaced=REPLACED,
            figures=figures_of(record.reports),
            signs=SIGNS,
            reviews=REVIEWS,
            detail=DETAIL,
            contradictions=CONTRADICTIONS,
            score_line=score_line,
            quoted_feedback=quoted_feedback,
            names=names_of(record.reports),
            relevance={score.department: score.relevance for score in route.scores},
            primary=route.primary,
            chosen=route.chosen,
            route=route,
            rehearsal=record.rehearsal,
            run_id=record.run_id,
        )
    )
