"""State of a research run, folded from its events."""

from __future__ import annotations

from typing import Any, cast

import msgspec

from podium.engine.events import NOTHING, Charge, ChargedData, Event, RunCreated, RunFailed, RunResumed
from podium.engine.state import Fold
from podium.workflows.research import events
from podium.workflows.research.policy import FINAL, MAX_ITERATIONS, MIN_SOURCES, WORKERS, Phase


class Action(msgspec.Struct, frozen=True):
    """One action of an agent."""

    agent: str
    action: str
    time: str
    details: dict[str, Any] = {}


class TaskState(msgspec.Struct):
    """State of a worker in a plan."""

    task_id: str
    worker: str
    iteration: int
    step: int
    category: str
    priority: int
    status: str = "running"
    """`pending`, `running`, `completed`, `skipped` or `failed`."""
    attempts: int = 1
    kept: bool = False
    fallback: str = ""
    error: str = ""
    result: dict[str, Any] = {}
    charge: Charge = NOTHING
    """Cost of its calls."""


class Evaluation(msgspec.Struct, frozen=True):
    """The supervisor's evaluation of one iteration."""

    iteration: int
    quality: float
    threshold: float
    components: dict[str, float]
    parts: dict[str, dict[str, float]]
    decision: str
    feedback: list[str]


class AgentState(Fold):
    """State of a run up to the last event applied."""

    def __init__(self) -> None:
        self.execution_id = ""
        self.brief: dict[str, Any] = {}
        self.current_phase: Phase | None = None
        self.phase_history: list[dict[str, str]] = []
        """`from`, `to` and `timestamp` of every transition."""
        self.phases: list[events.PhaseChanged] = []
        self.agent_actions: list[Action] = []
        self.iteration_count = 1
        self.max_iterations = MAX_ITERATIONS
        self.current_plan: dict[str, Any] | None = None
        self.optimized: events.PlanOptimized | None = None
        self.current_step_index = 0
        """Number of completed steps of the current plan."""
        self.plan_history: list[dict[str, Any]] = []
        """Every plan with its quality, which is `None` until it is evaluated."""
        self.all_tasks: list[TaskState] = []
        self.evaluations: list[Evaluation] = []
        self.quality_score: float | None = None
        self.completeness_score: float | None = None
        self.should_continue: bool | None = None
        self.feedback: list[str] = []
        self.warnings: list[str] = []
        self.merged: events.Merged | None = None
        self.sources: dict[str, dict[str, Any]] = {}
        """Sources that workers found, by URL."""
        self.paths: dict[tuple[int, str], str] = {}
        """Path of the steps of each worker, by iteration and name."""
        self.charge = NOTHING
        self.started_at = ""
        self.completed_at = ""
        self._before_end: Phase | None = None
        """The phase before a failure, a budget or a person ended the run early."""

    @property
    def wanted_sources(self) -> int:
        """Number of sources that the article should have."""
        wanted: Any = self.brief.get("min_sources")
        return wanted if isinstance(wanted, int) and wanted > 0 else MIN_SOURCES

    @property
    def total_cost(self) -> float:
        return self.charge.usd

    @property
    def total_tokens(self) -> int:
        return self.charge.tokens

    def results_of(self, category: str) -> list[dict[str, Any]]:
        """Return the latest result of each worker of a category, for `research_results` and the like."""
        latest = {
            task.worker: {"worker": task.worker, **task.result}
            for task in self.all_tasks
            if task.status == "completed" and task.category == category
        }
        return list(latest.values())

    def apply(self, event: Event) -> None:
        """Apply one event."""
        data, at = event.data, event.time.isoformat()
        match data:
            case RunCreated():
                self.brief = {"topic": data.request, **data.options}
            case RunResumed():
                self._reopen()
            case RunFailed() if self.current_phase is not None and self.current_phase not in FINAL:
                self._before_end, self.current_phase = self.current_phase, Phase.FAILED
            case events.PhaseChanged():
                self._enter(data)
            case events.PlanCreated():
                self._plan(data, at)
            case events.PlanOptimized():
                self._optimize(data, at)
            case events.WorkerEvent():
                self._work(data, at, event.path)
            case events.Evaluated():
                self._evaluate(data, at)
            case events.Merged():
                self.merged, self.warnings = data, list(data.warnings)
                self._act("Merger", "create_output", at, {"status": data.status, "quality": data.quality})
            case _:
                pass
        if isinstance(data, ChargedData) and not data.inherited:
            self._charge(event.path, data.charge)

    # ── phases ──

    def _enter(self, data: events.PhaseChanged) -> None:
        new = Phase(data.to)
        if data.reason and self._before_end is None:
            self._before_end = self.current_phase
        if new is Phase.INITIALIZED:
            self.started_at = data.time
            digits = "".join(char for char in data.time[:19] if char.isdigit())
            self.execution_id = f"exec_{digits[:8]}_{digits[8:14]}"
            self._act("Controller", "initialize", data.time)
        if new is Phase.RE_PLANNING:
            self.iteration_count = data.iteration + 1
            details = {"iteration": self.iteration_count, "reason": "quality_low"}
            self._act("Supervisor", "re_plan", data.time, details)
        self.completed_at = data.time if new in FINAL else ""
        self.current_phase = new
        self.phases.append(data)
        self.phase_history.append({"from": data.from_, "to": data.to, "timestamp": data.time})
        self._act("StateManager", "transition_phase", data.time, {"from": data.from_, "to": data.to})

    def _reopen(self) -> None:
        """Return to the phase in which the run ended when it is resumed, and reopen its failed tasks."""
        if self._before_end is not None:
            self.current_phase, self._before_end = self._before_end, None
        self.merged, self.completed_at = None, ""
        for task in self.all_tasks:
            if task.status == "failed":
                task.status, task.error = "running", ""

    # ── plans ──

    def _plan(self, data: events.PlanCreated, at: str) -> None:
        self.current_plan, self.current_step_index, self.optimized = data.plan, 0, None
        self.plan_history.append({"plan": data.plan, "quality": None, "feedback": []})
        details = {"steps": len(data.plan["steps"]), "cost": data.plan["estimated_cost"]}
        self._act("Planner", "create_plan", at, details)

    def _optimize(self, data: events.PlanOptimized, at: str) -> None:
        self.current_plan, self.optimized = data.plan, data
        if self.plan_history:
            self.plan_history[-1]["plan"] = data.plan
        details = {"time_saved": data.time_saved, "cost_saved": data.cost_saved}
        self._act("Strategy", "optimize_plan", at, details)

    # ── workers ──

    def _work(self, data: events.WorkerEvent, at: str, path: str) -> None:
        task = next(
            (
                task
                for task in reversed(self.all_tasks)
                if task.worker == data.worker and task.iteration == data.iteration
            ),
            None,
        )
        self.paths.setdefault((data.iteration, data.worker), path)
        match data:
            case events.WorkerStarted() if task is None:
                self.all_tasks.append(
                    TaskState(
                        data.task_id, data.worker, data.iteration, data.step, data.category, data.priority
                    )
                )
            case events.WorkerCompleted():
                self._complete(task, data)
                details = {"worker": data.worker, "attempts": data.attempts, "kept": data.kept}
                self._act("Orchestrator", "complete_worker", at, details)
            case events.WorkerRetried() if task is not None:
                task.attempts, task.error = data.attempt, data.error
            case events.WorkerSkipped() if task is not None:
                task.status, task.error, task.attempts = "skipped", data.error, data.attempts
                self._act("Orchestrator", "skip_worker", at, {"worker": data.worker})
            case events.WorkerFailed() if task is not None:
                task.status, task.error, task.attempts = "failed", data.error, data.attempts
                self._act("Orchestrator", "abort", at, {"worker": data.worker})
            case _:
                pass
        self._count_steps(data.iteration)

    def _complete(self, task: TaskState | None, data: events.WorkerCompleted) -> None:
        if task is None:
            row = WORKERS.get(data.worker)
            task = TaskState(
                data.task_id,
                data.worker,
                data.iteration,
                data.step,
                data.category,
                row.priority if row else 0,
            )
            self.all_tasks.append(task)
        task.status, task.error = "completed", ""
        task.attempts, task.kept, task.fallback = data.attempts, data.kept, data.fallback
        task.result = data.result
        sources: Any = data.result.get("sources")
        for source in cast("list[Any]", sources) if isinstance(sources, list) else []:
            if isinstance(source, dict):
                fields = cast("dict[str, Any]", source)
                self.sources.setdefault(str(fields.get("url") or fields), fields)

    def _count_steps(self, iteration: int) -> None:
        done = {
            task.worker
            for task in self.all_tasks
            if task.iteration == iteration and task.status in ("completed", "skipped")
        }
        steps: list[dict[str, Any]] = self.current_plan["steps"] if self.current_plan else []
        index = 0
        while index < len(steps) and set(steps[index]["workers"]) <= done:
            index += 1
        self.current_step_index = index

    # ── evaluations ──

    def _evaluate(self, data: events.Evaluated, at: str) -> None:
        self.evaluations = [
            evaluation for evaluation in self.evaluations if evaluation.iteration != data.iteration
        ]
        self.evaluations.append(
            Evaluation(
                data.iteration,
                data.quality,
                data.threshold,
                data.components,
                data.parts,
                data.decision,
                data.feedback,
            )
        )
        self.quality_score, self.completeness_score = data.quality, data.components.get("article")
        self.should_continue, self.feedback = data.should_continue, list(data.feedback)
        if self.plan_history:
            self.plan_history[-1] |= {"quality": data.quality, "feedback": list(data.feedback)}
        details = {"quality": data.quality, "decision": data.decision.upper()}
        self._act("Supervisor", "evaluate", at, details)

    def _act(self, agent: str, action: str, at: str, details: dict[str, Any] | None = None) -> None:
        self.agent_actions.append(Action(agent, action, at, details or {}))

    def _charge(self, path: str, charge: Charge) -> None:
        self.charge += charge
        parts = path.split("/")
        worker = parts[1] if len(parts) > 1 and parts[0].startswith("iteration[") else ""
        for task in reversed(self.all_tasks):
            if task.worker == worker and f"iteration[{task.iteration}]" == parts[0]:
                task.charge += charge
                return


def as_data(state: AgentState) -> dict[str, Any]:
    """Return the state as plain data."""
    return {
        "execution_id": state.execution_id,
        "brief": state.brief,
        "current_phase": str(state.current_phase or ""),
        "phase_history": state.phase_history,
        "agent_actions": [msgspec.structs.asdict(action) for action in state.agent_actions],
        "iteration_count": state.iteration_count,
        "max_iterations": state.max_iterations,
        "current_plan": state.current_plan,
        "current_step_index": state.current_step_index,
        "plan_history": state.plan_history,
        "all_tasks": [msgspec.to_builtins(task) for task in state.all_tasks],
        **{
            f"{kind}_results": state.results_of(kind)
            for kind in ("research", "analysis", "writing", "quality")
        },
        "quality_score": state.quality_score,
        "completeness_score": state.completeness_score,
        "should_continue": state.should_continue,
        "feedback": state.feedback,
        "warnings": state.warnings,
        "total_cost": round(state.total_cost, 9),
        "total_tokens": state.total_tokens,
        "started_at": state.started_at,
        "completed_at": state.completed_at,
    }
