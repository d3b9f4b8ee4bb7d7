"""What a studio has made: its output, its figures, and the files that it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from podium.report.cuts import cut_note
from podium.report.markdown import cell
from podium.report.words import model_name
from podium.workflows.delivery.contracts import Delivered
from podium.workflows.delivery.events import Compared, check_lines
from podium.workflows.studio import events
from podium.workflows.studio.contracts import DepartmentReport
from podium.workflows.studio.deliverable import (
    departments_text,
    integrated_text,
    title_and_body,
    with_title,
)
from podium.workflows.studio.policy import fate_of_conflict, grade_of_department, overall_quality
from podium.workflows.studio.record import Record, deliverable_page, names_of, record_page, record_text
from podium.workflows.studio.routing import Route
from podium.workflows.studio.working import Conflict, Studio, ended


@dataclass
class Result:
    """What the studio has made, as far as it came."""

    studio: Studio
    reports: list[DepartmentReport]
    conflicts: list[Conflict]
    integrated: str = ""
    """The master's text, or that of the only department; empty: the departments' texts stand in."""
    delivered: Delivered = field(default_factory=lambda: Delivered(""))
    """The text after the editor's pass and the comparison with the direct draft."""
    deliverable: str = ""

    @property
    def open_conflicts(self) -> list[Conflict]:
        return [one for one in self.conflicts if one.status != "resolved"]

    @property
    def quality(self) -> float | None:
        """The quality of the team's text; `None` where the direct draft is the result: it has no grades."""
        return None if self.delivered.replaced else self.team_quality

    @property
    def team_quality(self) -> float | None:
        """What the grades say, less what is missing and what is contradictory."""
        if not any(one.status == "completed" for one in self.reports):
            return None
        grades = [(self.studio.route.relevance(one.key), _grade(one)) for one in self.reports]
        return overall_quality(grades, [one.severity for one in self.open_conflicts])

    @property
    def sole_text(self) -> str:
        """The text of the only department, where its head wrote all of it and nothing contradicts it: the
        master could only repeat it. Otherwise empty."""
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
        """What the result lacks: departments, and parts of the request that the editor found unanswered."""
        return [*self.gaps, *self.delivered.missing]

    @property
    def known_gaps(self) -> list[str]:
        """What the editor is told of: open conflicts, and what departments did not deliver."""
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
        """How the result was checked, a line each."""
        draft, comparison = self.studio.draft, self.delivered.comparison
        compared = comparison and Compared(preferred=comparison.preferred, why=comparison.why)
        return check_lines(0 if draft is None else len(draft.points), self.delivered.edited, compared)

    @property
    def incomplete(self) -> str:
        """A sentence that names the texts that were cut off; empty if none was."""
        return "" if self.delivered.replaced else cut_note(self.studio.run.cut_steps)

    @property
    def errors(self) -> list[dict[str, str]]:
        """Everything that went wrong, by department and by whom."""
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
    """Return the master's text, or the departments' texts where there is none."""
    request = result.studio.request
    if result.integrated:
        return with_title(request, result.integrated)
    return departments_text(request, result.reports)


def write_deliverable(result: Result) -> str:
    """Return the text that is handed over. A notice on top says that a text was cut off."""
    text = integrated_text(result.studio.request, result.delivered.document or team_text(result))
    if not result.incomplete:
        return text
    title, body = title_and_body(text)
    return f"# {title}\n\n> **Not complete.** {cell(result.incomplete, 800)}\n\n{body}"


def tell_aggregated(result: Result) -> None:
    """Record that the departments' texts were brought together."""
    failed = sum(one.status != "completed" for one in result.reports)
    result.studio.run.emit(
        events.Aggregated(
            quality=result.team_quality, departments=len(result.reports), failed=failed,
            unresolved=len(result.open_conflicts),
        )
    )  # fmt: skip


async def hand_over(result: Result) -> None:
    """Write the deliverable and, apart from it, the record of how it came about."""
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
        said = f"{ended(conflict.description)} {fate}" if fate else conflict.description
        run.warn(f"Unresolved conflict ({conflict.severity}): {said}")
