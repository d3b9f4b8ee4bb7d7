"""The deliverable: one text from the whole studio, one section for each department, with its scores and what
was rejected and why. As Markdown, and as a page of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from podium.report.frame import templates_of
from podium.report.markdown import cell
from podium.report.prose import prose
from podium.report.words import count, one_line, safe
from podium.workflows.studio.canon import CANON
from podium.workflows.studio.contracts import DepartmentReport, SpecialistResult
from podium.workflows.studio.routing import Route
from podium.workflows.studio.working import Conflict

SIGNS = {"completed": "✓", "failed": "✗", "unfinished": "■"}
REVIEWS = {"approved": "✓", "revision-needed": "~", "rejected": "✗"}


def to_markdown(
    request: str,
    opening: str,
    reports: Sequence[DepartmentReport],
    conflicts: Sequence[Conflict],
    quality: float | None,
    incomplete: str = "",
) -> str:
    """What a person reads first."""
    parts = [f"# {one_line(request, 200)}"]
    if incomplete:
        parts.append(f"> **Not complete.** {cell(incomplete, 800)}")
    if opening:
        parts.append(demoted(opening.strip()))
    if quality is not None:
        parts.append(f"**Overall quality {quality:g}** · {_figures(reports)}")
    parts += [_section(one) for one in reports]
    if conflicts:
        lines = [_conflict(one, names_of(reports)) for one in conflicts]
        parts.append(f"## {conflicts_title(conflicts)}\n\n" + "\n".join(lines))
    missing = [one for one in reports if one.status != "completed"]
    if missing:
        lines = [f"- {one.department_name} ({one.status}): {cell(one.error, 400)}" for one in missing]
        parts.append("## What is missing\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


_HEADING = re.compile(r"^(#{1,6})(?= )")
_FENCE = re.compile(r"^ {0,3}(```|~~~)")
OWN_LEVEL = 3
"""The highest heading inside a department's section, which is itself of level 2."""


def demoted(text: str) -> str:
    """A text whose headings stand below the one of its section, as far below each other as before."""
    fenced, headings = False, list[int]()
    lines = text.splitlines()
    for number, line in enumerate(lines):
        fenced ^= bool(_FENCE.match(line))
        if not fenced and _HEADING.match(line):
            headings.append(number)
    levels = [len(lines[number]) - len(lines[number].lstrip("#")) for number in headings]
    down = OWN_LEVEL - min(levels, default=OWN_LEVEL)
    for number, level in zip(headings, levels, strict=True):
        if down > 0:
            lines[number] = "#" * min(level + down, 6) + lines[number][level:]
    return "\n".join(lines)


def _figures(reports: Sequence[DepartmentReport]) -> str:
    done = sum(one.status == "completed" for one in reports)
    told = [f"{done} of {count(len(reports), 'department')}"]
    results = [result for one in reports for result in one.specialist_results]
    if results:
        told.append(f"{sum(one.is_accepted for one in results)} of {len(results)} specialists accepted")
    return " · ".join(told)


def _section(report: DepartmentReport) -> str:
    """A department: its text, its score, who contributed, what was rejected and why."""
    parts = [f"## {report.department_name}"]
    if report.status == "failed":
        parts.append(f"*Failed: {cell(report.error, 400)}*")
    elif report.output:
        parts.append(demoted(report.output))
    if report.status != "failed":
        parts.append(f"*{score_line(report)}*")
    if report.specialist_results:
        parts.append("\n".join(_contribution(one) for one in report.specialist_results))
    if report.decisions:
        parts.append(
            "Decided by the head:\n\n" + "\n".join(f"- {cell(one, 400)}" for one in report.decisions)
        )
    return "\n\n".join(parts)


def score_line(report: DepartmentReport) -> str:
    """How a department's score came about, in one line."""
    told = [f"Score {report.quality_score:g}" if report.status == "completed" else "Unfinished"]
    passed, all_of_them = report.metadata.successful_specialists, len(report.specialist_results)
    if not all_of_them:
        told.append("written by the head")
    elif passed:
        told.append(f"{passed} of {count(all_of_them, 'specialist')} accepted")
    else:
        told.append(
            f"written by the head, because no specialist passed (their own figure: {report.formula_score:g})"
        )
    if report.flags:
        told.append(", ".join(report.flags))
    return " · ".join(told)


def _contribution(result: SpecialistResult) -> str:
    why = f": {cell(result.review_notes, 300)}" if result.review_status != "approved" else ""
    tries = f" in {count(result.attempts, 'attempt')}" if result.attempts > 1 else ""
    said = (
        f" ({cell(result.feedback[-1], 300)})"
        if result.review_status == "rejected" and result.feedback
        else ""
    )
    mark = REVIEWS[result.review_status]
    return f"- {mark} {result.agent_name} {result.quality_score:g}{tries}, {result.review_status}{why}{said}"


def conflicts_title(conflicts: Sequence[Conflict]) -> str:
    """Who contradicted whom."""
    named = [set(one.departments) for one in conflicts]
    found = ["between departments"] if any(CANON not in one for one in named) else []
    found += ["with the project's canon"] if any(CANON in one for one in named) else []
    return f"Conflicts {' and '.join(found)}"


def names_of(reports: Sequence[DepartmentReport]) -> dict[str, str]:
    """What those who can be part of a conflict are called."""
    return {one.key: one.department_name for one in reports} | {CANON: "the project's canon"}


def _conflict(conflict: Conflict, names: dict[str, str]) -> str:
    who = cell(" and ".join(names.get(key, key) for key in conflict.departments), 200)
    head = f"- **{who}** ({conflict.kind}, {conflict.severity}): {cell(conflict.description, 400)}"
    if conflict.status == "resolved":
        by = cell(names.get(conflict.yielded, conflict.yielded), 100)
        return f"{head} Resolved: {by} yielded, because {cell(conflict.reason, 300)}"
    said = " ".join(cell(one, 300) for one in dict.fromkeys(conflict.said))
    return f"{head} **Unresolved.** {said}".rstrip()


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────────


def _prose(text: str) -> Markup:
    return prose(demoted(text))


def to_page(
    request: str,
    opening: str,
    reports: Sequence[DepartmentReport],
    conflicts: Sequence[Conflict],
    quality: float | None,
    incomplete: str,
    route: Route,
    *,
    rehearsal: bool,
    run_id: str,
    team: str,
    model: str,
) -> str:
    """A self-contained page: no script, nothing remote, light, dark and on paper."""
    templates = templates_of("podium.workflows.studio")
    own: dict[str, Any] = {"prose": _prose}
    templates.filters.update(own)
    return templates.get_template("deliverable.html").render(
        title=one_line(request, 120), request=safe(request), opening=opening, reports=reports,
        conflicts=conflicts, quality=quality, figures=_figures(reports), signs=SIGNS,
        reviews=REVIEWS, score_line=score_line, conflicts_title=conflicts_title(conflicts),
        names=names_of(reports), team=team, model=model,
        relevance={one.department: one.relevance for one in route.scores}, primary=route.primary,
        rehearsal=rehearsal, run_id=run_id, incomplete=incomplete,
    )  # fmt: skip
