"""Result of a studio run: its output, its quality, and the artifacts that it leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from podium.report.markdown import cell
from podium.report.words import cut_note, model_name
from podium.workflows.delivery.contracts import Delivered
from podium.workflows.delivery.events import Compared, check_lines
from podium.workflows.studio import events
from podium.workflows.studio.context import Conflict, Studio, ended
from podium.workflows.studio.contracts import DepartmentReport
from podium.workflows.studio.policy import LISTED_ONLY, fate_of_conflict, grade_of_department, overall_quality
from podium.workflows.studio.record import (
    Record,
    deliverable_page,
    departments_text,
    integrated_text,
    names_of,
    record_page,
    record_text,
    title_and_body,
    with_title,
)
from podium.workflows.studio.routing import Route


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
        return [conflict for conflict in self.conflicts if conflict.status != "resolved"]

    @property
    def quality(self) -> float | None:
        """Quality of the team's text. `None` if the direct draft is the result, because it has no grades."""
        return None if self.delivered.replaced else self.team_quality

    @property
    def team_quality(self) -> float | None:
        """Quality from the grades, reduced by failed departments and open conflicts; None if no department
        completed."""
        if not any(report.status == "completed" for report in self.reports):
            return None
        grades = [(self.studio.route.relevance(report.key), _grade(report)) for report in self.reports]
        return overall_quality(grades, [conflict.severity for conflict in self.open_conflicts])

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
        return [
            report.department_name
            for report in self.reports
            if report.status != "completed" or report.stand_in
        ]

    @property
    def missing(self) -> list[str]:
        """Missing departments, and parts of the request that the editor found unanswered."""
        return [*self.gaps, *self.delivered.missing]

    @property
    def known_gaps(self) -> list[str]:
        """Gaps for the editor's prompt: open conflicts, and failed or partial departments."""
        names = names_of(self.reports)
        return [
            f"{' and '.join(names.get(key, key) for key in conflict.departments)} contradict each other: "
            f"{conflict.description} ({conflict.severity}). The whole text must keep to one version."
            for conflict in self.open_conflicts
        ] + [
            f"{report.department_name}: only the work of one specialist is in it."
            if report.stand_in
            else f"{report.department_name}: {report.error or 'nothing was delivered'}"
            for report in self.reports
            if report.status != "completed" or report.stand_in
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
        entries: list[dict[str, str]] = []
        for report in self.reports:
            if report.error:
                entries.append(_error(report.key, "head", report.error, report.status))
            entries += [_error(report.key, "synthesis", flag, report.status) for flag in report.flags]
            entries += [
                _error(report.key, result.agent_id, result.error, result.review_status)
                for result in report.specialist_results
                if result.error
            ]
        return entries

    def shown(self) -> dict[str, Any]:
        route = self.studio.route
        return {
            "routing": {
                "primary": route.primary,
                "supporting": list(route.supporting),
                "mode": route.mode,
                "scores": scores_shown(route),
                "router": route.router,
                "doubt": route.doubt or None,
            },
            "departments": [report.shown() for report in self.reports],
            "conflicts": [conflict.shown() for conflict in self.conflicts],
            "overall_quality": self.quality,
            "deliverable": self.deliverable,
            "missing": self.missing,
            "comparison": self.delivered.shown(),
            "errors": self.errors,
        }


def _grade(report: DepartmentReport) -> float:
    if report.status != "completed":
        return 0.0
    results = report.specialist_results
    some = any(result.is_accepted for result in results)
    used = [result.agent_id == report.stand_in if report.stand_in else some for result in results]
    return grade_of_department([result.quality_score for result in results], used)


def _error(department: str, where: str, error: str, status: str) -> dict[str, str]:
    return {"department": department, "where": where, "error": error, "status": status}


def scores_shown(route: Route) -> list[dict[str, Any]]:
    return [
        {
            "department": score.department,
            "relevance": score.relevance,
            "priority": score.priority,
            "reason": score.reason,
        }
        for score in route.scores
    ]


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


def emit_aggregated(result: Result) -> None:
    """Emit that the departments' texts were aggregated."""
    failed = sum(report.status != "completed" for report in result.reports)
    result.studio.run.emit(
        events.Aggregated(
            quality=result.team_quality,
            departments=len(result.reports),
            failed=failed,
            unresolved=len(result.open_conflicts),
        )
    )


async def hand_over(result: Result) -> None:
    """Save the deliverable and, separately, the record."""
    studio, run, delivered = result.studio, result.studio.run, result.delivered
    result.deliverable = write_deliverable(result)
    for conflict in result.open_conflicts:
        conflict.in_result = fate_of_conflict(checked=delivered.checked, replaced=bool(delivered.replaced))
    record = Record(
        request=studio.request,
        reports=result.reports,
        conflicts=result.conflicts,
        quality=result.team_quality,
        route=studio.route,
        team=studio.team.name,
        run_id=run.id,
        rehearsal=bool(run.config.get("rehearsal")),
        checks=result.checks,
        replaced=bool(delivered.replaced),
        missing=delivered.missing,
        model=", ".join(dict.fromkeys(map(model_name, run.config.get("models") or []))),
    )
    await run.artifact("deliverable.md", result.deliverable, "text/markdown")
    await run.artifact("deliverable.html", deliverable_page(result.deliverable, record), "text/html")
    await run.artifact("record.md", record_text(record), "text/markdown")
    await run.artifact("record.html", record_page(record), "text/html")
    for report in result.reports:
        if report.status == "failed":
            run.warn(f"{report.department_name} failed: {report.error}")
    for conflict in result.open_conflicts:
        fate = conflict.in_result
        if conflict.severity in LISTED_ONLY and delivered.checked:  # the master and the editor settle these
            continue
        text = f"{ended(conflict.description)} {fate}" if fate else conflict.description
        run.warn(f"Unresolved conflict ({conflict.severity}): {text}")
