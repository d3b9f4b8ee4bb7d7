"""Result and record of a studio run: conflicts, scores, reviews, and their artifacts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from jinja2 import Environment
from markdown_it import MarkdownIt
from markupsafe import Markup

from podium.report.html import prose, templates_of
from podium.report.markdown import cell
from podium.report.words import count, cut_note, model_name, one_line, safe, scored
from podium.workflows.delivery.contracts import Delivered
from podium.workflows.delivery.events import Compared, check_lines
from podium.workflows.studio import events
from podium.workflows.studio.context import CANON, Conflict, Studio, ended
from podium.workflows.studio.contracts import DepartmentReport, FoundContradiction, SpecialistResult
from podium.workflows.studio.deliverable import (
    demoted,
    departments_text,
    integrated_text,
    title_and_body,
    with_title,
)
from podium.workflows.studio.policy import (
    LISTED_ONLY,
    REPLACED,
    TEAM_QUALITY,
    fate_of_conflict,
    grade_of_department,
    overall_quality,
)
from podium.workflows.studio.routing import Route

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
        return [one for one in self.conflicts if one.status != "resolved"]

    @property
    def settled_conflicts(self) -> list[Conflict]:
        return [one for one in self.conflicts if one.status == "resolved"]

    @property
    def gaps(self) -> list[DepartmentReport]:
        return [one for one in self.reports if one.status != "completed"]


def record_text(record: Record) -> str:
    """Return the record as Markdown, open conflicts and missing parts first."""
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
        quality = scored(f"{quality_title(record)} {record.quality:g}", record.rehearsal)
        parts.append(f"**{quality}** · {figures_of(record.reports)}")
    if record.checks:
        lines = [f"- {cell(one, 600)}" for one in record.checks]
        parts.append("## How the result was checked\n\n" + "\n".join(lines))
    parts.append(_routing(record.route))
    parts += [_section(one, record.rehearsal) for one in record.reports]
    if record.settled_conflicts:
        lines = [_conflict(one, names) for one in record.settled_conflicts]
        parts.append("## Settled conflicts\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def quality_title(record: Record) -> str:
    """Return the label of the overall quality."""
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
    """Return the number of departments and specialists that delivered."""
    done = sum(one.status == "completed" for one in reports)
    parts = [f"{done} of {count(len(reports), 'department')}"]
    results = [result for one in reports for result in one.specialist_results]
    if results:
        parts.append(f"{sum(one.is_accepted for one in results)} of {len(results)} specialists accepted")
    return " · ".join(parts)


def _section(report: DepartmentReport, rehearsal: bool) -> str:
    """Render a department: score, contributors, rejections with reasons, and text."""
    parts = [f"## {report.department_name}"]
    if report.status == "failed":
        parts.append(f"*Failed: {cell(report.error, 400)}*")
    else:
        parts.append(f"*{score_line(report, rehearsal)}*")
    if report.specialist_results:
        parts.append("\n".join(_contribution(one, rehearsal) for one in report.specialist_results))
    if report.found_contradictions:
        lines = [f"- {_decision(one)}" for one in report.found_contradictions]
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


def _contribution(result: SpecialistResult, rehearsal: bool) -> str:
    why = f": {cell(result.review_notes, 300)}" if result.review_status != "approved" else ""
    tries = f" in {count(result.attempts, 'attempt')}" if result.attempts > 1 else ""
    said = f" ({cell(quoted_feedback(result), 300)})" if quoted_feedback(result) else ""
    score = f"{result.quality_score:g}"
    score = scored(score, rehearsal) if result.graded else f"{score} (not graded)"
    mark = REVIEWS[result.review_status]
    return f"- {mark} {result.agent_name} {score}{tries}, {result.review_status}{why}{said}"


def _decision(one: FoundContradiction) -> str:
    if not one.what:
        return cell(one.decision, 400)
    said = f": {cell(one.said, 400)}" if one.said else ""
    return f"**{cell(one.what, 100)}**{said} Decided: {cell(one.decision, 400)}"


def quoted_feedback(result: SpecialistResult) -> str:
    """Return the head's feedback on the counted attempt if it was rejected, else an empty string."""
    if result.review_status != "rejected" or not result.counted_feedback:
        return ""
    which = f"attempt {result.counted_attempt}: " if result.attempts > 1 else ""
    return f"{which}{result.counted_feedback}"


def names_of(reports: Sequence[DepartmentReport]) -> dict[str, str]:
    """Return the names of all possible parties of a conflict by key."""
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


@dataclass
class Result:
    """Results of a studio run so far."""

    studio: Studio
    reports: list[DepartmentReport]
    conflicts: list[Conflict]
    integrated: str = ""
    """The master's text, or that of the only department. If empty, the departments' texts are used."""
    delivered: Delivered = field(default_factory=lambda: Delivered(""))
    """The text after the editor's pass and the comparison with the direct draft."""
    deliverable: str = ""

    @property
    def open_conflicts(self) -> list[Conflict]:
        return [one for one in self.conflicts if one.status != "resolved"]

    @property
    def quality(self) -> float | None:
        """Quality of the team's text. `None` if the direct draft is the result, because it has no grades."""
        return None if self.delivered.replaced else self.team_quality

    @property
    def team_quality(self) -> float | None:
        """Quality from the grades, reduced by failed departments and open conflicts; None if no department
        completed."""
        if not any(one.status == "completed" for one in self.reports):
            return None
        grades = [(self.studio.route.relevance(one.key), _grade(one)) for one in self.reports]
        return overall_quality(grades, [one.severity for one in self.open_conflicts])

    @property
    def sole_text(self) -> str:
        """Text of the only department, if its head wrote it and nothing contradicts it: the master could only
        repeat it. Otherwise empty."""
        if len(self.reports) != 1 or self.open_conflicts:
            return ""
        (report,) = self.reports
        return report.output if report.status == "completed" and not report.stand_in else ""

    @property
    def gaps(self) -> list[str]:
        """Departments that delivered nothing, or only the work of one specialist."""
        return [one.department_name for one in self.reports if one.status != "completed" or one.stand_in]

    @property
    def missing(self) -> list[str]:
        """Missing departments, and parts of the request that the editor found unanswered."""
        return [*self.gaps, *self.delivered.missing]

    @property
    def known_gaps(self) -> list[str]:
        """Gaps for the editor's prompt: open conflicts, and failed or partial departments."""
        names = names_of(self.reports)
        return [
            f"{' and '.join(names.get(key, key) for key in one.departments)} contradict each other: "
            f"{one.description} ({one.severity}). The whole text must keep to one version."
            for one in self.open_conflicts
        ] + [
            f"{one.department_name}: only the work of one specialist is in it."
            if one.stand_in
            else f"{one.department_name}: {one.error or 'nothing was delivered'}"
            for one in self.reports
            if one.status != "completed" or one.stand_in
        ]

    @property
    def checks(self) -> list[str]:
        """Lines that describe the checks of the result."""
        draft, comparison = self.studio.draft, self.delivered.comparison
        compared = comparison and Compared(preferred=comparison.preferred, why=comparison.why)
        return check_lines(0 if draft is None else len(draft.points), self.delivered.edited, compared)

    @property
    def incomplete(self) -> str:
        """A sentence that names the truncated texts. Empty if there are none."""
        return "" if self.delivered.replaced else cut_note(self.studio.run.cut_steps)

    @property
    def errors(self) -> list[dict[str, str]]:
        """All errors, by department and role."""
        found: list[dict[str, str]] = []
        for one in self.reports:
            if one.error:
                found.append(_error(one.key, "head", one.error, one.status))
            found += [_error(one.key, "synthesis", flag, one.status) for flag in one.flags]
            found += [
                _error(one.key, result.agent_id, result.error, result.review_status)
                for result in one.specialist_results
                if result.error
            ]
        return found

    def shown(self) -> dict[str, Any]:
        route = self.studio.route
        return {
            "routing": {
                "primary": route.primary, "supporting": list(route.supporting), "mode": route.mode,
                "scores": scores_shown(route), "router": route.router, "doubt": route.doubt or None,
            },
            "departments": [one.shown() for one in self.reports],
            "conflicts": [one.shown() for one in self.conflicts],
            "overall_quality": self.quality,
            "deliverable": self.deliverable,
            "missing": self.missing,
            "comparison": self.delivered.shown(),
            "errors": self.errors,
        }  # fmt: skip


def _grade(report: DepartmentReport) -> float:
    if report.status != "completed":
        return 0.0
    results = report.specialist_results
    some = any(one.is_accepted for one in results)
    used = [one.agent_id == report.stand_in if report.stand_in else some for one in results]
    return grade_of_department([one.quality_score for one in results], used)


def _error(department: str, where: str, error: str, status: str) -> dict[str, str]:
    return {"department": department, "where": where, "error": error, "status": status}


def scores_shown(route: Route) -> list[dict[str, Any]]:
    return [
        {"department": one.department, "relevance": one.relevance, "priority": one.priority,
         "reason": one.reason}
        for one in route.scores
    ]  # fmt: skip


def team_text(result: Result) -> str:
    """Return the master's text, or the departments' texts if there is none."""
    request = result.studio.request
    if result.integrated:
        return with_title(request, result.integrated)
    return departments_text(request, result.reports)


def write_deliverable(result: Result) -> str:
    """Return the text to deliver. If a text was truncated, a notice at the top says so."""
    text = integrated_text(result.studio.request, result.delivered.document or team_text(result))
    if not result.incomplete:
        return text
    title, body = title_and_body(text)
    return f"# {title}\n\n> **Not complete.** {cell(result.incomplete, 800)}\n\n{body}"


def tell_aggregated(result: Result) -> None:
    """Emit that the departments' texts were aggregated."""
    failed = sum(one.status != "completed" for one in result.reports)
    result.studio.run.emit(
        events.Aggregated(
            quality=result.team_quality, departments=len(result.reports), failed=failed,
            unresolved=len(result.open_conflicts),
        )
    )  # fmt: skip


async def hand_over(result: Result) -> None:
    """Save the deliverable and, separately, the record."""
    studio, run, delivered = result.studio, result.studio.run, result.delivered
    result.deliverable = write_deliverable(result)
    for conflict in result.open_conflicts:
        conflict.in_result = fate_of_conflict(checked=delivered.checked, replaced=bool(delivered.replaced))
    record = Record(
        request=studio.request, reports=result.reports, conflicts=result.conflicts,
        quality=result.team_quality, route=studio.route, team=studio.team.name, run_id=run.id,
        rehearsal=bool(run.config.get("rehearsal")), checks=result.checks,
        replaced=bool(delivered.replaced), missing=delivered.missing,
        model=", ".join(dict.fromkeys(map(model_name, run.config.get("models") or []))),
    )  # fmt: skip
    await run.artifact("deliverable.md", result.deliverable, "text/markdown")
    await run.artifact("deliverable.html", deliverable_page(result.deliverable, record), "text/html")
    await run.artifact("record.md", record_text(record), "text/markdown")
    await run.artifact("record.html", record_page(record), "text/html")
    for one in result.reports:
        if one.status == "failed":
            run.warn(f"{one.department_name} failed: {one.error}")
    for conflict in result.open_conflicts:
        fate = conflict.in_result
        if conflict.severity in LISTED_ONLY and delivered.checked:  # the master and the editor settle these
            continue
        said = f"{ended(conflict.description)} {fate}" if fate else conflict.description
        run.warn(f"Unresolved conflict ({conflict.severity}): {said}")
