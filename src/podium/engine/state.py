"""`Fold`, the base of folds over a log, and `RunState`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

import msgspec

from podium.engine.budget import Budget
from podium.engine.events import (
    NOTHING,
    ArtifactCreated,
    BudgetExhausted,
    BudgetRaised,
    BudgetReserved,
    Charge,
    ChargedData,
    Event,
    RunAnswered,
    RunCancelled,
    RunCompleted,
    RunCreated,
    RunEnded,
    RunFailed,
    RunForked,
    RunPartial,
    RunPaused,
    RunResumed,
    RunStarted,
    RunWaiting,
    RunWarned,
    SavedData,
    StepCompleted,
    StepFailed,
    StepRetried,
    StepStale,
    StepStarted,
)


class Fold(ABC):
    """State computed from a log up to the last applied event: the same for a finished run and a live one."""

    @classmethod
    def of(cls, log: Iterable[Event]) -> Self:
        """Apply a whole log."""
        state = cls()
        for event in log:
            state.apply(event)
        return state

    @abstractmethod
    def apply(self, event: Event) -> None:
        """Apply the next event of the log."""


class StepState(msgspec.Struct):
    """State of one step, from the log."""

    path: str
    kind: str = "step"
    about: dict[str, Any] = {}
    status: str = "running"
    """`running`, `completed`, `failed`, `stale` (it will run again) or `interrupted`."""
    started: datetime | None = None
    ended: datetime | None = None
    started_seq: int = 0
    charge: Charge = NOTHING
    saved: Charge = NOTHING
    """Cost that cached replies saved."""
    retries: int = 0
    runs: int = 0
    """Number of starts, over all stretches."""
    error: str = ""
    inherited: bool = False
    edited: bool = False
    cut: bool = False
    """The result ends where a model's reply was cut off."""
    result: bytes | None = None
    """JSON, if it is small enough to be in the log itself."""
    blob: str = ""

    @property
    def duration_s(self) -> float | None:
        if self.started is None or self.ended is None:
            return None
        return (self.ended - self.started).total_seconds()


class RunState(Fold):
    """State of a run, from the log up to the last applied event."""

    def __init__(self, run_id: str = "") -> None:
        self.run_id = run_id
        self.workflow = ""
        self.request: Any = None
        self.options: dict[str, Any] = {}
        self.config: dict[str, Any] = {}
        self.budget = Budget()
        self.status = "queued"
        self.stop_reason = ""
        self.created: datetime | None = None
        self.updated: datetime | None = None
        self.last_seq = 0
        self.usage = NOTHING
        self.saved = NOTHING
        """Cost that cached replies saved."""
        self.forfeited = NOTHING
        """Logs of earlier versions: possible cost of calls whose process died."""
        self.reserved: dict[str, Charge] = {}
        """Worst case of calls in flight, by path. If the process died: of calls whose outcome is unknown."""
        self.driven_s = 0.0
        self.steps: dict[str, StepState] = {}
        self.questions: dict[str, RunWaiting] = {}
        """Open questions by path."""
        self.warnings: list[str] = []
        self.first_warnings: list[str] = []
        """Warnings among them that are shown before the result."""
        self.artifacts: dict[str, ArtifactCreated] = {}
        self.output: Any = None
        self.output_blob = ""
        self.quality: float | None = None
        self.missing: list[str] = []
        self.error = ""
        self.hint = ""
        self.forked_from: RunForked | None = None
        self.exhausted: BudgetExhausted | None = None
        self.resumes = 0
        self._running: set[str] = set()
        self._stretch: datetime | None = None
        self._driven_before = 0.0

    @property
    def lost(self) -> Charge:
        """Worst case of the calls of unknown outcome, for a run without a driver."""
        total = NOTHING
        for worst in self.reserved.values():
            total += msgspec.structs.replace(worst, unknown_calls=worst.calls)
        return total

    @property
    def in_flight(self) -> list[StepState]:
        """Steps that are under way."""
        return [self.steps[path] for path in self._running]

    @property
    def can_go_on(self) -> bool:
        """True if resuming a `partial` run makes progress, that is, if a budget ran out. If the workflow
        itself returned a partial result, failures and rejections are part of that result."""
        return self.exhausted is not None or self.stop_reason in ("budget", "time")

    def apply(self, event: Event) -> None:
        """Apply the next event."""
        self.run_id = event.run_id
        self.last_seq = event.seq
        self.updated = event.time
        data = event.data
        if isinstance(data, ChargedData) and not data.inherited:
            self.reserved.pop(event.path, None)
            self._charge(event.path, data.charge)
        elif isinstance(data, SavedData) and not data.inherited:
            self._save(event.path, data.saved)
        if event.type.startswith("step."):
            self._apply_step(event)
        elif event.type.startswith("run."):
            self._apply_run(event)
        elif isinstance(data, ArtifactCreated):
            self.artifacts[event.path] = data
        elif isinstance(data, BudgetExhausted) and (not data.scope or self.exhausted is None):
            self.exhausted = data  # the run's own ceiling takes precedence over a branch's
        elif isinstance(data, BudgetReserved):
            self.reserved[event.path] = data.reserved
        elif isinstance(data, BudgetRaised):
            self.budget = self.budget.merged(Budget.shown(data.budget))
        if self.status in {"running", "waiting"}:
            self.status = "waiting" if self.questions and not self._running else "running"

    def _charge(self, path: str, charge: Charge) -> None:
        self.usage += charge
        step = self.steps.get(path)
        if step is not None:
            step.charge += charge

    def _save(self, path: str, saved: Charge) -> None:
        self.saved += saved
        step = self.steps.get(path)
        if step is not None:
            step.saved += saved

    def _apply_step(self, event: Event) -> None:
        data = event.data
        step = self.steps.get(event.path)
        if step is None:
            step = self.steps[event.path] = StepState(event.path)
        if isinstance(data, StepStarted):
            step.kind, step.about, step.status, step.error = data.kind, data.about, "running", ""
            step.started, step.ended, step.started_seq = event.time, None, event.seq
            step.runs += 1
            step.inherited = bool(data.inherited)
            self._running.add(event.path)
        elif isinstance(data, StepCompleted):
            step.status, step.ended = "completed", event.time
            self._running.discard(event.path)
            step.inherited, step.edited, step.cut = bool(data.inherited), data.edited, data.cut
            step.result, step.blob = (None, data.blob) if data.blob else (bytes(data.result), "")
        elif isinstance(data, StepFailed):
            step.status, step.ended, step.error = "failed", event.time, data.error
            self._running.discard(event.path)
            step.inherited = bool(data.inherited)
        elif isinstance(data, StepRetried):
            step.retries += 1
        elif isinstance(data, StepStale):
            step.status = "stale"

    def _apply_run(self, event: Event) -> None:
        data = event.data
        if isinstance(data, RunCreated):
            self.workflow, self.request, self.options = data.workflow, data.request, dict(data.options)
            self.config, self.created = dict(data.config), event.time
            self.budget = Budget.shown(data.budget)
        elif isinstance(data, (RunStarted, RunResumed)):
            self._begin(event, data)
        elif isinstance(data, RunWaiting):
            self.questions[event.path] = data
        elif isinstance(data, RunAnswered):
            self.questions.pop(event.path, None)
        elif isinstance(data, RunWarned):
            self.warnings.insert(0 if data.first else len(self.warnings), data.message)
            self.first_warnings += [data.message] if data.first else []
        elif isinstance(data, RunForked):
            self.forked_from = data
        elif isinstance(data, RunEnded):
            self._end(data)
        if self.status in {"running", "waiting"} and self._stretch is not None:
            self.driven_s = self._driven_before + (event.time - self._stretch).total_seconds()

    def _begin(self, event: Event, data: RunStarted | RunResumed) -> None:
        self.status, self.stop_reason, self.error, self.hint = "running", "", "", ""
        self.exhausted = None
        self._driven_before, self._stretch = self.driven_s, event.time
        for step in self.in_flight:
            step.status = "interrupted"
        self._running.clear()
        self.config |= data.config
        if isinstance(data, RunResumed):
            self.resumes += 1
            self.budget = self.budget.merged(Budget.shown(data.budget))
            self.forfeited += data.forfeited.get("", NOTHING)

    def _end(self, data: RunEnded) -> None:
        self.driven_s = data.driven_s
        if isinstance(data, RunCompleted):
            self.status, self.output, self.output_blob = "completed", data.output, data.blob
            self.quality = data.quality
        elif isinstance(data, RunPartial):
            self.status, self.stop_reason = "partial", data.stop_reason
            self.output, self.output_blob, self.quality = data.output, data.blob, data.quality
            self.missing, self.error = data.missing, data.error
        elif isinstance(data, RunFailed):
            self.status, self.error, self.hint = "failed", data.error, data.hint
            self.output, self.output_blob = data.output, data.blob
        elif isinstance(data, RunCancelled):
            self.status, self.stop_reason = "cancelled", data.reason
        elif isinstance(data, RunPaused):
            self.status, self.stop_reason = "paused", data.reason
