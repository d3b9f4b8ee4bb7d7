"""The part of a run's view that is the studio's own: departments in lanes, specialists and conflicts."""

from __future__ import annotations

import msgspec

from podium.engine.events import Event
from podium.report.presentation import Detail, View, ViewGrade
from podium.report.words import count, needs, one_line
from podium.workflows.studio import events
from podium.workflows.studio.fold import ConflictState, DepartmentState, SpecialistState, StudioState
from podium.workflows.studio.policy import DRAFT_IS_RESULT
from podium.workflows.studio.view import DECISIONS, department_notes, figure


class StudioViewAttempt(View, frozen=True, kw_only=True):
    """One graded attempt."""

    decision: str
    feedback: str
    score: float | msgspec.UnsetType = msgspec.UNSET


class StudioViewSpecialist(View, frozen=True, kw_only=True):
    """A specialist with its grades."""

    order: int
    path: str
    name: str
    label: str
    """`running`, or the status of the review."""
    text: str
    """Score and threshold, or the label while there is no score."""
    threshold: float
    attempts: list[StudioViewAttempt]
    tone: str = ""
    """`good` or `low`: the score against the threshold."""
    score: float | msgspec.UnsetType = msgspec.UNSET


class StudioViewDepartment(View, frozen=True, kw_only=True):
    """A department and its specialists."""

    order: int
    path: str
    name: str
    status: str
    """`queued`, `running`, `completed`, `failed` or `paused`."""
    label: str
    needs: list[str]
    specialists: dict[str, StudioViewSpecialist]
    lead: bool = False
    score: float | msgspec.UnsetType = msgspec.UNSET
    score_text: str = ""
    error: str = ""
    note: str = ""
    """Inputs that were missing."""


class StudioViewConflict(View, frozen=True, kw_only=True):
    """A conflict between departments."""

    description: str
    severity: str
    departments: list[str]
    resolved_by: str = ""
    reason: str = ""


class StudioViewLane(View, frozen=True, kw_only=True):
    """Departments that work at the same time."""

    title: str
    departments: list[str]


class StudioViewDeliverable(View, frozen=True, kw_only=True):
    """The result of all departments."""

    path: str
    """Path of the step that wrote it."""
    status: str
    text: str
    warn: bool = False
    """The text is a sentence to notice, not a score."""


class StudioView(Detail, frozen=True, kw_only=True, tag="studio"):
    """The departments of a studio."""

    team: str
    mode: str
    lanes: list[StudioViewLane]
    departments: dict[str, StudioViewDepartment]
    conflicts: dict[str, StudioViewConflict]
    deliverable: StudioViewDeliverable
    conflicts_text: str = ""


GENERAL = {"waiting": "queued", "working": "running", "unfinished": "paused"}
"""Names of statuses that all workflows share; the others are the same."""


def detail_of(state: StudioState, *, alive: bool) -> StudioView:
    """Return the studio's part of the view."""
    routed, conflicts = state.routed, state.conflicts.values()
    resolved = sum(bool(conflict.yielded) for conflict in conflicts)
    counted = f"{count(len(conflicts), 'conflict')}, {resolved} resolved" if conflicts else ""
    return StudioView(
        team=routed.team if routed else "",
        mode=routed.mode if routed else "",
        lanes=_lanes(state),
        departments={
            key: _department(department, order, routed is not None and key == routed.primary, alive)
            for order, (key, department) in enumerate(state.departments.items())
        },
        conflicts={conflict.id: _conflict_view(conflict) for conflict in conflicts},
        conflicts_text=counted,
        deliverable=_deliverable(state),
    )


def _lanes(state: StudioState) -> list[StudioViewLane]:
    """Return the lanes: the departments of each wait only for those of earlier lanes."""
    lanes: list[StudioViewLane] = []
    waiting, placed = list(state.departments.values()), set[str]()
    while waiting:
        ready = [
            department
            for department in waiting
            if all(key in placed or key not in state.departments for key in department.needs)
        ]
        lane = ready or waiting  # a circle in a log: show all of it
        title = "Then, with what came before" if lanes else "First"
        lanes.append(StudioViewLane(title=title, departments=[department.key for department in lane]))
        placed |= {department.key for department in lane}
        waiting = [department for department in waiting if department.key not in placed]
    return lanes


def _department(department: DepartmentState, order: int, lead: bool, alive: bool) -> StudioViewDepartment:
    status = GENERAL.get(department.status, department.status)
    status = "paused" if status == "running" and not alive else status
    return StudioViewDepartment(
        order=order,
        path=department.key,
        name=department.name,
        status=status,
        label=department.status
        if department.status == "completed"
        else department_notes(department, alive)[0],
        needs=department.needs,
        specialists={
            key: _specialist(department.key, each, nth, alive)
            for nth, (key, each) in enumerate(department.specialists.items())
        },
        lead=lead,
        score=msgspec.UNSET if department.score is None else department.score,
        score_text="" if department.score is None else figure(department.score),
        error=one_line(department.error),
        note=one_line(f"Without {', '.join(department.missing)}") if department.missing else "",
    )


def _specialist(
    department: str, specialist: SpecialistState, order: int, alive: bool
) -> StudioViewSpecialist:
    label = specialist.status or ("running" if alive else "interrupted")
    graded = specialist.score is not None
    attempts = [
        StudioViewAttempt(
            decision=DECISIONS.get(tried.decision, tried.decision),
            feedback=tried.feedback,
            score=msgspec.UNSET if tried.score is None else tried.score,
        )
        for tried in specialist.tried
    ]
    waiting = "…" if label == "running" else label
    return StudioViewSpecialist(
        order=order,
        path=f"{department}/{specialist.key}",
        name=specialist.name,
        label=label,
        text=needs(figure(specialist.score), f"{specialist.threshold:g}") if graded else waiting,
        threshold=specialist.threshold,
        attempts=attempts,
        tone=""
        if specialist.score is None
        else "good"
        if specialist.score >= specialist.threshold
        else "low",
        score=msgspec.UNSET if specialist.score is None else specialist.score,
    )


def _conflict_view(conflict: ConflictState) -> StudioViewConflict:
    return StudioViewConflict(
        description=conflict.description,
        severity=conflict.severity,
        departments=conflict.departments,
        resolved_by=conflict.yielded,
        reason=conflict.reason,
    )


def _deliverable(state: StudioState) -> StudioViewDeliverable:
    """Return where the deliverable was written, and its quality. A single department's text is handed over as
    it is; a direct draft has no score."""
    quality = state.aggregated.quality if state.aggregated else None
    text = "" if quality is None else figure(quality)
    if state.replaced:
        text = DRAFT_IS_RESULT.capitalize() + (f"; the team's text: {text}" if text else "")
    return StudioViewDeliverable(
        path=next(iter(state.departments)) if len(state.departments) == 1 else "aggregate",
        status="completed" if state.aggregated else "queued",
        text=text,
        warn=state.replaced,
    )


def grade_of(event: Event) -> ViewGrade | None:
    """Return the grade of a specialist's attempt."""
    data = event.data
    if not isinstance(data, events.SpecialistGraded):
        return None
    return ViewGrade(
        what="Grade",
        passed=data.decision == "accept",
        decision=DECISIONS.get(data.decision, data.decision),
        feedback=[data.feedback] if data.feedback else [],
        score=msgspec.UNSET if data.score is None else data.score,
        threshold=data.threshold,
        text="" if data.score is None else needs(f"{data.score:g}", f"{data.threshold:g}"),
    )
