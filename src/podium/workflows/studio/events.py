"""Event types of `studio`."""

from __future__ import annotations

from typing import Any, ClassVar

from podium.engine.events import EventData


class StudioEvent(EventData, frozen=True, kw_only=True):
    """Something that happened in a studio."""


class Routed(StudioEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.routed"
    team: str
    primary: str
    supporting: list[str]
    mode: str
    complexity: str
    scores: list[dict[str, Any]]
    names: dict[str, str]
    """Names of the chosen departments by key."""
    needs: dict[str, list[str]]
    """The chosen departments that each of them waits for."""
    router: str = "keywords"
    """Source of the decision: `keywords`, `model` or `fixed`."""
    doubt: str = ""
    """Reason why keywords alone were not enough. Empty if they were."""


# ── departments ──────────────────────────────────────────────────────────────────────────────────


class DepartmentEvent(StudioEvent, frozen=True, kw_only=True):
    """Every event of a department names it."""

    department: str


class DepartmentStarted(DepartmentEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.department_started"
    name: str
    complexity: str
    specialists: int
    """Number of specialists wanted. 0 means that the head works alone."""
    missing: list[str]
    """Dependencies that delivered nothing, with the reason."""


class DepartmentCompleted(DepartmentEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.department_completed"
    name: str
    score: float
    formula_score: float | None
    accepted: int
    specialists: int
    flags: list[str]


class DepartmentFailed(DepartmentEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.department_failed"
    name: str
    error: str
    reason: str
    """`error`, or `budget`: a larger budget lets it continue."""


class Synthesized(DepartmentEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.synthesized"
    inputs: int
    rounds: int
    fallback: str
    """The specialist whose output is used because the head could not write one."""
    contradictions: list[str]
    decisions: list[str]


# ── specialists ──────────────────────────────────────────────────────────────────────────────────


class SpecialistEvent(DepartmentEvent, frozen=True, kw_only=True):
    """Every event of a specialist names it as well."""

    specialist: str


class SpecialistStarted(SpecialistEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.specialist_started"
    name: str
    threshold: float
    configured: float
    """The threshold of the team file, which differs if another one was learnt."""


class SpecialistGraded(SpecialistEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.specialist_graded"
    attempt: int
    score: float | None
    """`None` if it could not be graded."""
    threshold: float
    decision: str
    feedback: str


class SpecialistRetried(SpecialistEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.specialist_retried"
    attempt: int
    """Number of the attempt that starts now."""
    most: int
    afresh: bool
    """The last output was discarded."""


class SpecialistReviewed(SpecialistEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.specialist_reviewed"
    team: str
    agent_id: str
    score: float
    threshold: float
    status: str
    notes: str
    attempts: int
    error: str


# ── master ───────────────────────────────────────────────────────────────────────────────────────


class Validated(StudioEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.validated"
    round: int
    conflicts: int
    """Number of open conflicts."""
    low: int = 0
    """Those of low severity, which are listed but not resolved."""
    error: str = ""


class ConflictFound(StudioEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.conflict_found"
    id: str
    round: int
    kind: str
    severity: str
    departments: list[str]
    description: str


class ConflictResolved(StudioEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.conflict_resolved"
    id: str
    round: int
    by: str
    """The department that yielded."""
    reason: str


class Aggregated(StudioEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.aggregated"
    quality: float | None
    departments: int
    failed: int
    unresolved: int
