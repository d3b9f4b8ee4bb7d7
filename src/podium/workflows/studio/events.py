"""What a studio tells while it works."""

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
    """What the chosen departments are called."""
    needs: dict[str, list[str]]
    """Which of the chosen each of them waits for."""
    router: str = "keywords"
    """Who decided: `keywords`, `model` or `fixed`."""
    doubt: str = ""
    """Why keywords alone were not enough."""


# ── departments ──────────────────────────────────────────────────────────────────────────────────


class DepartmentEvent(StudioEvent, frozen=True, kw_only=True):
    """Every event of a department names it."""

    department: str


class DepartmentStarted(DepartmentEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.department_started"
    name: str
    complexity: str
    specialists: int
    """How many are wanted; 0: the head works alone."""
    missing: list[str]
    """What it needs and will not get, with the reason."""


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
    """`error`, or `budget`: then it can go on with a larger one."""


class Synthesized(DepartmentEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.synthesized"
    inputs: int
    rounds: int
    fallback: str
    """The specialist whose output stands in, if the head could not write one."""
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
    """The threshold of the team file, where another one was learnt."""


class SpecialistGraded(SpecialistEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.specialist_graded"
    attempt: int
    score: float | None
    """`None`: nobody could grade it."""
    threshold: float
    decision: str
    feedback: str


class SpecialistRetried(SpecialistEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.specialist_retried"
    attempt: int
    """The attempt that begins now."""
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


# ── the master ───────────────────────────────────────────────────────────────────────────────────


class Validated(StudioEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "studio.validated"
    round: int
    conflicts: int
    """All that are open."""
    low: int = 0
    """Those of low severity, which are listed and not settled."""
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
