"""State of a studio run, folded from its events, for the live view, the reports and the web page."""

from __future__ import annotations

from typing import Any

import msgspec

from podium.engine.events import NOTHING, Charge, ChargedData, Event, RunResumed, StepCompleted, StepStarted
from podium.engine.state import Fold
from podium.workflows.delivery.events import Compared, Drafted, Edited, check_lines
from podium.workflows.studio import events
from podium.workflows.studio.policy import fate_of_conflict


class Tried(msgspec.Struct):
    """One graded attempt."""

    attempt: int
    score: float | None
    decision: str
    feedback: str


class SpecialistState(msgspec.Struct):
    """State of a specialist."""

    key: str
    name: str
    threshold: float
    configured: float
    tried: list[Tried] = []
    score: float | None = None
    status: str = ""
    """Status of the review. Empty while the specialist works."""
    notes: str = ""
    attempts: int = 0
    error: str = ""


class DepartmentState(msgspec.Struct):
    """State of a department."""

    key: str
    name: str
    needs: list[str] = []
    relevance: float = 0.0
    status: str = "waiting"
    """`waiting, working, completed, failed` or `unfinished`."""
    task: str = ""
    """The current task of its head."""
    specialists: dict[str, SpecialistState] = {}
    wanted: int = 0
    missing: list[str] = []
    score: float | None = None
    formula_score: float | None = None
    flags: list[str] = []
    error: str = ""
    fallback: str = ""
    contradictions: list[str] = []
    decisions: list[str] = []
    charge: Charge = NOTHING


class ConflictState(msgspec.Struct):
    """A conflict between departments."""

    id: str
    kind: str
    severity: str
    departments: list[str]
    description: str
    yielded: str = ""
    reason: str = ""


class StudioState(Fold):
    """State of all departments of a run, up to the last event applied."""

    def __init__(self) -> None:
        self.routed: events.Routed | None = None
        self.departments: dict[str, DepartmentState] = {}
        """The chosen departments, dependencies first."""
        self.conflicts: dict[str, ConflictState] = {}
        self.rounds = 0
        self.aggregated: events.Aggregated | None = None
        self.points = 0
        """Number of points in the direct draft."""
        self.edited: Edited | None = None
        self.compared: Compared | None = None
        self.master = ""
        """The current task of the master."""

    @property
    def replaced(self) -> bool:
        """True if the direct draft is the result."""
        return self.compared is not None and self.compared.preferred == "draft"

    def apply(self, event: Event) -> None:
        """Apply one event."""
        data = event.data
        department = self.departments.get(event.path.split("/")[0])
        match data:
            case events.Routed():
                self._route(data)
            case events.ConflictFound():
                self.conflicts[data.id] = ConflictState(
                    data.id, data.kind, data.severity, data.departments, data.description
                )
            case events.ConflictResolved() if data.id in self.conflicts:
                self.conflicts[data.id].yielded, self.conflicts[data.id].reason = data.by, data.reason
            case events.Validated():
                self.rounds = data.round
            case events.Aggregated():
                self.aggregated, self.master = data, ""
                self.edited = self.compared = None
            case Drafted():
                self.points = len(data.points)
            case Edited():
                self.edited = data
            case Compared():
                self.compared = data
            case events.DepartmentEvent() if data.department in self.departments:
                _apply_to_department(self.departments[data.department], data)
            case RunResumed():
                self._reopen()
            case StepStarted() if data.kind == "ask":
                self._asked(event.path, department)
            case StepCompleted():
                self._answered(event.path, department)
            case _:
                pass
        if isinstance(data, ChargedData) and not data.inherited and department is not None:
            department.charge += data.charge

    def _route(self, data: events.Routed) -> None:
        strength = {str(score["department"]): float(score["relevance"]) for score in data.scores}
        self.routed = data
        self.departments = {
            key: self.departments.get(key)
            or DepartmentState(key, data.names.get(key, key), data.needs.get(key, []), strength.get(key, 0.0))
            for key in in_order([data.primary, *data.supporting], data.needs)
        }

    def _reopen(self) -> None:
        """Reopen departments that a budget stopped when a run is resumed; their start is not emitted again. A
        failed department stays failed unless an event says otherwise."""
        self.aggregated = None
        for department in self.departments.values():
            if department.status == "unfinished":
                department.status, department.error = "working", ""

    def _asked(self, path: str, department: DepartmentState | None) -> None:
        task = path.rpartition("/")[2].partition("#")[0]
        if department is None:
            self.master = task
        elif path.count("/") == 1:
            department.task = task

    def _answered(self, path: str, department: DepartmentState | None) -> None:
        task = path.rpartition("/")[2].partition("#")[0]
        if department is None:
            self.master = "" if self.master == task else self.master
        elif department.task == task and path.count("/") == 1:
            department.task = ""


def in_order(keys: list[str], needs: dict[str, list[str]]) -> list[str]:
    """Sort departments by their dependencies, otherwise keep the order."""
    placed: list[str] = []
    while len(placed) < len(keys):
        free = [
            key for key in keys if key not in placed and all(need in placed for need in needs.get(key, []))
        ]
        placed += free or [key for key in keys if key not in placed]
    return placed


def _apply_to_department(department: DepartmentState, data: events.DepartmentEvent) -> None:
    """Apply one event to its department."""
    match data:
        case events.DepartmentStarted():
            department.status, department.wanted = "working", data.specialists
            department.missing = data.missing
        case events.DepartmentCompleted():
            department.status, department.error, department.task = "completed", "", ""
            department.score, department.formula_score = data.score, data.formula_score
            department.flags = data.flags
        case events.DepartmentFailed():
            department.status = "unfinished" if data.reason == "budget" else "failed"
            department.error, department.task = data.error, ""
        case events.Synthesized():
            department.fallback = data.fallback
            department.contradictions, department.decisions = data.contradictions, data.decisions
        case events.SpecialistStarted():
            department.specialists[data.specialist] = SpecialistState(
                data.specialist, data.name, data.threshold, data.configured
            )
        case events.SpecialistEvent() if data.specialist in department.specialists:
            _apply_to_specialist(department.specialists[data.specialist], data)
        case _:
            pass


def _apply_to_specialist(specialist: SpecialistState, data: events.SpecialistEvent) -> None:
    match data:
        case events.SpecialistGraded():
            specialist.tried = [
                *specialist.tried,
                Tried(data.attempt, data.score, data.decision, data.feedback),
            ]
            specialist.score = data.score
        case events.SpecialistReviewed():
            specialist.status, specialist.notes, specialist.score = data.status, data.notes, data.score
            specialist.attempts, specialist.error = data.attempts, data.error
        case _:
            pass


def as_data(state: StudioState) -> dict[str, Any]:
    """Return the state as plain data, for the reports."""
    routed = state.routed
    checked = state.edited is not None and not state.edited.sent_back
    fate = fate_of_conflict(checked=checked, replaced=state.replaced)
    return {
        "team": routed.team if routed else "",
        "mode": routed.mode if routed else "",
        "complexity": routed.complexity if routed else "",
        "primary": routed.primary if routed else "",
        "scores": routed.scores if routed else [],
        "quality": state.aggregated.quality if state.aggregated else None,
        "departments": [_department_data(department) for department in state.departments.values()],
        "conflicts": [
            {**msgspec.structs.asdict(conflict), "in_result": "" if conflict.yielded else fate}
            for conflict in state.conflicts.values()
        ],
        "checks": check_lines(state.points, state.edited, state.compared),
        "replaced": state.replaced,
        "rounds": state.rounds,
    }


def _department_data(department: DepartmentState) -> dict[str, Any]:
    plain = msgspec.structs.asdict(department)
    plain["specialists"] = [
        {**msgspec.structs.asdict(each), "tried": [msgspec.structs.asdict(tried) for tried in each.tried]}
        for each in department.specialists.values()
    ]
    charge = plain.pop("charge")
    return {**plain, "calls": charge.calls, "cost_usd": round(charge.usd, 9)}
