"""Terminal lines and lane drawing of `studio`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.engine.events import EventData
from podium.report.presentation import Line, Weight
from podium.report.words import count, money, needs, one_line
from podium.workflows.studio import events
from podium.workflows.studio.fold import DepartmentState, SpecialistState, StudioState
from podium.workflows.studio.policy import DRAFT_IS_RESULT, MAX_CONFLICT_ROUNDS

REVIEWS: dict[str, tuple[str, Weight]] = {
    "approved": ("✓", "result"),
    "revision-needed": ("~", "result"),
    "rejected": ("✗", "warning"),
}
STATUSES: dict[str, tuple[str, Weight]] = {
    "waiting": ("○", "routine"),
    "working": ("●", "result"),
    "completed": ("✓", "result"),
    "failed": ("✗", "failure"),
    "unfinished": ("■", "warning"),
}
DECISIONS = {
    "revise": "to be revised",
    "discard": "discarded",
    "accept": "accepted",
    "ungraded": "not graded",
}


def spent(department: DepartmentState) -> tuple[str, ...]:
    """Return the cost of a department, or its number of calls if it is free."""
    if not department.charge.calls:
        return ()
    return (
        money(department.charge.usd) if department.charge.usd else count(department.charge.calls, "call"),
    )


def figure(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"


# ── lines ────────────────────────────────────────────────────────────────────────────────────────


def _routed(data: events.Routed, state: StudioState) -> Line:
    scores = {str(score["department"]): score["relevance"] for score in data.scores}
    chosen = [f"{key} {scores.get(key, 0):g}" for key in (data.primary, *data.supporting)]
    by_model = (f"by a model, because {data.doubt}" if data.doubt else "by a model",)
    notes = (data.mode, data.complexity, *(by_model if data.router == "model" else ()))
    return Line(f"routed to {', '.join(chosen)}", "result", notes, "▸")


def _started(data: events.DepartmentStarted, state: StudioState) -> Line:
    who = count(data.specialists, "specialist") if data.specialists else "the head alone"
    without = f", without {'; '.join(data.missing)}" if data.missing else ""
    weight: Weight = "warning" if data.missing else "routine"
    return Line(one_line(f"{data.name}: {who}{without}"), weight, mark="○")


def _completed(data: events.DepartmentCompleted, state: StudioState) -> Line:
    passed = f"{data.accepted} of {count(data.specialists, 'specialist')} accepted"
    how = passed if data.specialists else "written by the head"
    flags = f", {', '.join(data.flags)}" if data.flags else ""
    weight: Weight = "warning" if data.flags else "result"
    figures = (f"score {data.score:g}", *spent(state.departments[data.department]))
    return Line(f"{data.name}: {how}{flags}", weight, figures, "~" if data.flags else "✓", score_in="notes")


def _failed(data: events.DepartmentFailed, state: StudioState) -> Line:
    if data.reason == "budget":
        return Line(one_line(f"{data.name} stopped: {data.error}"), "warning", mark="■")
    return Line(one_line(f"{data.name} failed: {data.error}"), "failure", mark="✗")


def _graded(data: events.SpecialistGraded, state: StudioState) -> Line:
    said = f": {one_line(data.feedback, 140)}" if data.feedback else ""
    what = f"{_name(state, data)} {DECISIONS.get(data.decision, data.decision)}{said}"
    figures = (needs(figure(data.score), f"{data.threshold:g}"),)
    return Line(what, notes=figures, mark="·", indent=1, score_in="notes")


def _retried(data: events.SpecialistRetried, state: StudioState) -> Line:
    how = "starts afresh" if data.afresh else "tries again"
    return Line(f"{_name(state, data)} {how}, attempt {data.attempt} of {data.most}", mark="↻", indent=1)


def _reviewed(data: events.SpecialistReviewed, state: StudioState) -> Line:
    mark, weight = REVIEWS.get(data.status, ("·", "routine"))
    why = f": {one_line(data.error or data.notes, 200)}" if data.status == "rejected" else ""
    figures = (needs(f"{data.score:g}", f"{data.threshold:g}"),)
    said = "accepted with remarks" if data.status == "revision-needed" else data.status
    return Line(f"{_name(state, data)} {said}{why}", weight, figures, mark, 1, score_in="notes")


def _synthesized(data: events.Synthesized, state: StudioState) -> Line | None:
    if data.fallback:
        what = f"no synthesis: the work of the {data.fallback} stands in"
        return Line(one_line(what), "warning", mark="!", indent=1)
    decided = f", {count(len(data.decisions), 'contradiction')} decided" if data.decisions else ""
    rounds = f" in {data.rounds} rounds" if data.rounds > 1 else ""
    return Line(f"synthesis of {count(data.inputs, 'part')}{rounds}{decided}", mark="─", indent=1)


def _validated(data: events.Validated, state: StudioState) -> Line:
    if data.error:
        return Line(one_line(f"not checked across departments: {data.error}"), "warning", mark="!")
    if data.conflicts and data.round > MAX_CONFLICT_ROUNDS:
        return Line(f"{count(data.conflicts, 'conflict')} left open", "warning", mark="!")
    if data.conflicts == data.low > 0:
        return Line(f"{count(data.low, 'conflict')} of low severity listed", mark="▸")
    if data.conflicts:
        listed = f"; {data.low} of low severity listed" if data.low else ""
        settled = count(data.conflicts - data.low, "conflict")
        return Line(f"{settled} to settle, round {data.round}{listed}", mark="▸")
    return Line("no conflicts" + (" left" if state.conflicts else " between departments"), mark="✓")


def _conflict(data: events.ConflictFound, state: StudioState) -> Line:
    what = f"{' and '.join(data.departments)}: {one_line(data.description, 200)}"
    return Line(what, "warning", (data.severity, data.kind), "!", 1)


def _resolved(data: events.ConflictResolved, state: StudioState) -> Line:
    return Line(f"{data.by} yields: {one_line(data.reason, 200)}", "result", mark="✓", indent=1)


def _aggregated(data: events.Aggregated, state: StudioState) -> Line:
    done = f"{data.departments - data.failed} of {count(data.departments, 'department')}"
    left = f", {count(data.unresolved, 'conflict')} unresolved" if data.unresolved else ""
    figures = () if data.quality is None else (f"the team's quality {data.quality:g}",)
    weight: Weight = "warning" if data.failed or data.unresolved else "result"
    mark = "✓" if weight == "result" else "~"
    return Line(f"brought together: {done}{left}", weight, figures, mark, score_in="notes" if figures else "")


def _name(state: StudioState, data: events.SpecialistEvent) -> str:
    department = state.departments.get(data.department)
    specialist: SpecialistState | None = department.specialists.get(data.specialist) if department else None
    return specialist.name if specialist else data.specialist


LINES: dict[type[EventData], Callable[[Any, StudioState], Line | None]] = {
    events.Routed: _routed,
    events.DepartmentStarted: _started,
    events.DepartmentCompleted: _completed,
    events.DepartmentFailed: _failed,
    events.SpecialistGraded: _graded,
    events.SpecialistRetried: _retried,
    events.SpecialistReviewed: _reviewed,
    events.Synthesized: _synthesized,
    events.Validated: _validated,
    events.ConflictFound: _conflict,
    events.ConflictResolved: _resolved,
    events.Aggregated: _aggregated,
}


CHIPS = {"approved": "✓", "revision-needed": "~", "rejected": "✗"}
TASKS = {
    "brief": "brief",
    "head_execute": "the head writes",
    "synthesize": "synthesis",
    "recall": "recalling",
}

LAST = {
    "draft": "direct draft",
    "edit_result": "editor",
    "rework": "author works in the editor's remarks",
    "compare": "blind comparison with the direct draft",
}
"""Labels of tasks that belong neither to a department nor to the master."""


def draw(state: StudioState, most: int, *, alive: bool) -> list[Line]:
    """Draw at most `most` lines. Active, failed and blocked lanes take precedence over finished ones."""
    lanes = [_lane(department, alive=alive) for department in state.departments.values()]
    if alive and state.master and lanes:
        lanes.append(Line(LAST.get(state.master, f"master: {state.master}"), "result", mark="●"))
    if state.replaced and lanes:
        lanes.append(
            Line(f"{DRAFT_IS_RESULT.capitalize()}; these scores are the team's", "warning", mark="!")
        )
    if len(lanes) <= most:
        return lanes
    if most < 1:
        return []
    moving = [line for line in lanes if line.mark in "●✗■!"]
    kept = [*moving, *(line for line in lanes if line not in moving)][: max(most - 1, 0)]
    shown = [line for line in lanes if line in kept]
    return [*shown, Line(f"… {len(lanes) - len(shown)} more", mark=" ")]


def _lane(department: DepartmentState, *, alive: bool) -> Line:
    mark, weight = STATUSES.get(department.status, ("·", "routine"))
    if not alive and department.status in ("waiting", "working"):
        mark, weight = "■", "routine"
    chips = "  ".join(chip(each) for each in department.specialists.values())
    return Line(
        f"{department.name}  {chips or _doing(department, alive)}".rstrip(),
        weight,
        department_notes(department, alive),
        mark,
    )


def _doing(department: DepartmentState, alive: bool) -> str:
    if department.status == "waiting" and alive:
        return f"waits for {', '.join(department.needs)}" if department.needs else ""
    return one_line(department.error, 80) if department.status in ("failed", "unfinished") else ""


def department_notes(department: DepartmentState, alive: bool) -> tuple[str, ...]:
    """Return what a department does or its score, and its cost."""
    if department.status == "completed":
        return f"score {figure(department.score)}", *spent(department)
    if department.status == "working" and not alive:
        return "interrupted", *spent(department)
    if department.status == "working" and department.task:
        return TASKS.get(department.task, department.task), *spent(department)
    return department.status, *spent(department)


def chip(specialist: SpecialistState) -> str:
    """Return `Plot ~82/80 ·`: name, review sign, score against threshold, a dot for each retry."""
    name = specialist.name.removesuffix(" Specialist")
    retries = max(specialist.attempts or len(specialist.tried), 1) - 1
    dots = "·" * retries
    if specialist.score is None and not specialist.status:
        return f"{name} …"
    return (
        f"{name} {CHIPS.get(specialist.status, '')}{figure(specialist.score)}/{specialist.threshold:g}{dots}"
    )
