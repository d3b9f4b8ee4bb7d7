"""Event types of `research`."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from podium.engine.events import EventData


class ResearchEvent(EventData, frozen=True, kw_only=True):
    """Something that happened in a research run."""

    iteration: int
    """1 for the first execution, at most 3."""


class PhaseChanged(ResearchEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.phase"
    from_: str = msgspec.field(name="from")
    """Empty for the first phase."""
    to: str
    time: str
    """Recorded time, so that a replay emits the same."""
    reason: str = ""


# ── plans ────────────────────────────────────────────────────────────────────────────────────────


class PlanCreated(ResearchEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.plan_created"
    plan: dict[str, Any]
    """The plan as JSON data, see `contracts.Plan`."""
    answers: list[str]
    """Feedback of the last evaluation that it addresses. Empty for the first plan."""
    kept: list[str]
    """Workers whose earlier results are reused."""


class PlanOptimized(ResearchEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.plan_optimized"
    plan: dict[str, Any]
    removed: list[str]
    """Optional workers that were removed, in order of removal."""
    cheaper: list[str]
    """Workers that were given the fast profile."""
    changes: list[str]
    """One sentence per change. Empty if the plan was left as it was."""
    time_saved: float
    """Seconds."""
    cost_saved: float
    """US dollars."""


# ── workers ──────────────────────────────────────────────────────────────────────────────────────


class WorkerEvent(ResearchEvent, frozen=True, kw_only=True):
    """Every event of a worker names it."""

    worker: str


class WorkerStarted(WorkerEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.worker_started"
    task_id: str
    step: int
    """Index of the plan's step, from 0."""
    category: str
    priority: int


class WorkerCompleted(WorkerEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.worker_completed"
    task_id: str
    step: int
    category: str
    attempts: int
    result: dict[str, Any]
    """Short result: counts, scores, ids of sources and artifacts."""
    kept: bool = False
    """The result of an earlier iteration was reused."""
    fallback: str = ""
    """The worker or result that was used instead."""


class WorkerRetried(WorkerEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.worker_retried"
    attempt: int
    """Number of the attempt that starts after the wait."""
    most: int
    wait_s: float
    error: str


class WorkerSkipped(WorkerEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.worker_skipped"
    task_id: str
    step: int
    attempts: int
    error: str
    warning: str
    """The warning in the result."""


class WorkerFailed(WorkerEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.worker_failed"
    task_id: str
    step: int
    attempts: int
    error: str
    error_type: str


# ── evaluation and result ────────────────────────────────────────────────────────────────────────


class Evaluated(ResearchEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.evaluated"
    quality: float
    """Unrounded, as compared with the threshold."""
    threshold: float
    components: dict[str, float]
    """`article`, `source`, `factual`, `writing`: those that had workers."""
    parts: dict[str, dict[str, float]]
    """The parts that each component is the mean of."""
    decision: str
    """`complete`, `continue` or `force_complete`."""
    should_continue: bool
    feedback: list[str]
    """Improvements for the next plan."""
    issues: list[str]
    """The same as keys of `policy.ANSWERS`."""


class Merged(ResearchEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.merged"
    status: str
    """`completed` or `partial`."""
    quality: float | None
    sources: int
    word_count: int
    improvement: str
    """`+23 points (0.65 → 0.88)`. Empty after one iteration."""
    warnings: list[str]
