"""What a studio has made: its output, its figures, and the files that it leaves behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.report.cuts import cut_note
from podium.report.words import model_name
from podium.workflows.studio import events
from podium.workflows.studio.contracts import DepartmentReport
from podium.workflows.studio.deliverable import to_markdown, to_page
from podium.workflows.studio.policy import overall_quality
from podium.workflows.studio.routing import Route
from podium.workflows.studio.working import Conflict, Studio


@dataclass
class Result:
    """What the studio has made, as far as it came."""

    studio: Studio
    reports: list[DepartmentReport]
    conflicts: list[Conflict]
    opening: str = ""
    deliverable: str = ""

    @property
    def quality(self) -> float | None:
        done = [one for one in self.reports if one.status == "completed"]
        return overall_quality([(self.studio.route.relevance(one.key), one.quality_score) for one in done])

    @property
    def incomplete(self) -> str:
        """A sentence that names the texts that were cut off; empty if none was."""
        return cut_note(self.studio.run.cut_steps)

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
                "scores": scores_shown(route),
            },
            "departments": [one.shown() for one in self.reports],
            "conflicts": [one.shown() for one in self.conflicts],
            "overall_quality": self.quality,
            "deliverable": self.deliverable,
            "errors": self.errors,
        }  # fmt: skip


def _error(department: str, where: str, error: str, status: str) -> dict[str, str]:
    return {"department": department, "where": where, "error": error, "status": status}


def scores_shown(route: Route) -> list[dict[str, Any]]:
    return [
        {"department": one.department, "relevance": one.relevance, "priority": one.priority,
         "reason": one.reason}
        for one in route.scores
    ]  # fmt: skip


async def hand_over(result: Result) -> None:
    """The deliverable, as text and as a page."""
    studio, run = result.studio, result.studio.run
    told = (
        studio.request, result.opening, result.reports, result.conflicts, result.quality, result.incomplete
    )  # fmt: skip
    result.deliverable = to_markdown(*told)
    rehearsed = bool(run.config.get("rehearsal"))
    models = list(dict.fromkeys(map(model_name, run.config.get("models") or [])))
    page = to_page(
        *told,
        studio.route,
        rehearsal=rehearsed,
        run_id=run.id,
        team=studio.team.name,
        model=", ".join(models),
    )
    await run.artifact("deliverable.md", result.deliverable, "text/markdown")
    await run.artifact("deliverable.html", page, "text/html")
    for one in result.reports:
        if one.status == "failed":
            run.warn(f"{one.department_name} failed: {one.error}")
    unresolved = [one for one in result.conflicts if one.status != "resolved"]
    for conflict in unresolved:
        run.warn(f"Unresolved conflict ({conflict.severity}): {conflict.description}")
    failed = sum(one.status != "completed" for one in result.reports)
    run.emit(
        events.Aggregated(
            quality=result.quality, departments=len(result.reports), failed=failed, unresolved=len(unresolved)
        )
    )
