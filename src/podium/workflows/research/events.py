"""What a research run tells while it works."""

from __future__ import annotations

from typing import Any, ClassVar

import msgspec

from podium.engine.events import EventData


class ResearchEvent(EventData, frozen=True, kw_only=True):
    """Something that happened in a research run."""

    iteration: int
    """1 for the first execution; at most 3."""


class PhaseChanged(ResearchEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.phase"
    from_: str = msgspec.field(name="from")
    """Empty for the first one."""
    to: str
    time: str
    """When, as the run recorded it: a replay tells the same."""
    reason: str = ""


# ── plans ────────────────────────────────────────────────────────────────────────────────────────


class PlanCreated(ResearchEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.plan_created"
    plan: dict[str, Any]
    """The plan in its JSON form, see `contracts.Plan`."""
    answers: list[str]
    """What of the last evaluation it answers; empty for the first plan."""
    kept: list[str]
    """Workers whose earlier work is used as it is."""


class PlanOptimized(ResearchEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.plan_optimized"
    plan: dict[str, Any]
    removed: list[str]
    """Optional workers that were left out, in the order in which they were."""
    cheaper: list[str]
    """Workers that were given the fast profile."""
    changes: list[str]
    """Everything that was done, each in a sentence; empty: the plan was good as it was."""
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
    """What it gave, in short: counts, scores, ids of sources and artifacts."""
    kept: bool = False
    """The work of an earlier iteration was used as it was."""
    fallback: str = ""
    """Who, or what, stood in for it."""


class WorkerRetried(WorkerEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.worker_retried"
    attempt: int
    """The attempt that begins after the wait."""
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
    """What the result says of it."""


class WorkerFailed(WorkerEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.worker_failed"
    task_id: str
    step: int
    attempts: int
    error: str
    error_type: str


# ── the end of an iteration, and of the run ──────────────────────────────────────────────────────


class Evaluated(ResearchEvent, frozen=True, kw_only=True):
    type: ClassVar[str] = "research.evaluated"
    quality: float
    """Unrounded, as it was compared."""
    threshold: float
    components: dict[str, float]
    """`article`, `source`, `factual`, `writing`: those that somebody worked on."""
    parts: dict[str, dict[str, float]]
    """What each component is the mean of."""
    decision: str
    """`complete`, `continue` or `force_complete`."""
    should_continue: bool
    feedback: list[str]
    """What is to be improved; for the next plan."""
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
    """`+23 points (0.65 → 0.88)`; empty after one iteration."""
    warnings: list[str]
