"""State of a build, folded from its events, for the flow, the live view and reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from podium.engine.events import Event, RunCreated, RunResumed
from podium.engine.state import Fold
from podium.workflows.build import events
from podium.workflows.build.state import ANSWERS, ExecutionPlan, OrchestrationState, PlanStep, TestResult

PHASES = {
    "initializing": "planning", "planning": "planning", "executing": "execution", "testing": "execution",
    "verifying": "verification",
}  # fmt: skip
"""The phase to which the time of each status counts."""
ENDED = frozenset({"completed", "failed", "aborted", "time_expired"})
LONGEST_LOG = 2000
"""Maximum messages in the state. The run's own log has all of them."""


class BuildState(Fold):
    """State of a build up to the last event applied."""

    def __init__(self) -> None:
        self.state = OrchestrationState()
        self.opened: events.Opened | None = None
        self.plans: list[ExecutionPlan] = []
        """The latest version of each iteration's plan, approved or not."""
        self.gates: list[events.Verified] = []
        self.escalations: list[events.Escalated] = []
        self.commits: list[events.Committed] = []
        """Unfinished work is listed only until another commit replaces it."""
        self.looked_up: list[events.LookedUp] = []
        self.caught: list[dict[str, Any]] = []
        """Findings of the inspection: `{step_id, attempt, cycle, what, refused}`."""
        self.tests: TestResult | None = None
        """The last test run."""
        self.suite: TestResult | None = None
        """The last run of the whole suite at the end of an iteration."""
        self.baseline: TestResult | None = None
        """The test run before any change."""
        self.finished: events.Finished | None = None
        self.paths: dict[str, str] = {}
        """Path of each step's branch, by step id."""
        self.test_runs: list[tuple[str, str, TestResult]] = []
        """Every test run: step id, path and result."""
        self.level = "NONE"
        self.issues = 0
        self.time_used = {"planning": 0.0, "execution": 0.0, "verification": 0.0}
        self._working = "initializing"
        self._since = 0.0

    def apply(self, event: Event) -> None:
        """Apply one event of the log."""
        data = event.data
        if isinstance(data, RunCreated):
            self.state.id, self.state.primary_goal = event.run_id, str(data.request)
        elif isinstance(data, RunResumed):
            self._reopen()
        elif isinstance(data, events.BuildEvent):
            self.tell(data)
            if isinstance(data, events.StepChanged):
                self.paths[data.step_id] = event.path
            elif isinstance(data, events.TestsRun):
                self._record_tests(data, event.path)

    def tell(self, data: events.BuildEvent) -> None:
        """Apply the data of one event."""
        match data:
            case events.Phase():
                self._phase(data)
            case events.Opened():
                self.opened = data
            case events.Message():
                self._message(data)
            case events.PlanCreated():
                self._planned(data)
            case events.StepChanged():
                self._step(data)
            case events.TestsRun():
                self._tested(data)
            case events.Baseline():
                self.baseline = data.result
            case events.Verified():
                self._verified(data)
            case events.Coded():
                self._coded(data)
            case events.LookedUp():
                self.looked_up.append(data)
            case events.Escalated():
                self.escalations.append(data)
                self.level, self.issues = data.level, data.issues
            case events.Committed():
                self.commits = [one for one in self.commits if one.complete] + [data]
            case events.Finished():
                self.finished = data
            case _:
                pass

    # ── queries ────────────

    def step(self, step_id: str) -> PlanStep | None:
        return next((step for step in self.all_steps() if step.id == step_id), None)

    def all_steps(self) -> Iterator[PlanStep]:
        """Return every step of every plan, sub-steps after their parent."""
        for plan in self.plans:
            yield from with_sub_steps(plan.steps)

    @property
    def current_step(self) -> PlanStep | None:
        """The innermost step in progress, or None."""
        under_way = [step for step in self.all_steps() if step.status == "in_progress"]
        return under_way[-1] if under_way else None

    # ── event handlers ──────────

    def _phase(self, data: events.Phase) -> None:
        state = self.state
        phase = PHASES.get(self._working)
        if phase is not None:
            self.time_used[phase] += max(data.driven_s - self._since, 0.0)
        self._since = data.driven_s
        state.status, state.iteration, state.time_limit = data.status, data.iteration, data.time_limit
        state.start_time = data.at_ms if state.start_time is None else state.start_time
        state.end_time = data.at_ms if data.status in ENDED else None
        if data.status in ENDED:
            self._rest()
        if data.status != "time_expired":
            self._working = data.status

    def _reopen(self) -> None:
        """Restore the status before the stop when a run is resumed."""
        if self.state.status == "time_expired":
            self.state.status, self.state.end_time = self._working, None  # pyright: ignore[reportAttributeAccessIssue]

    def _rest(self) -> None:
        self.state.current_agent = None
        for agent in self.state.agents.values():
            agent.status = "idle"

    def _message(self, data: events.Message) -> None:
        state = self.state
        entry = {"type": data.kind, "from": data.sender, "to": data.to, "correlationId": data.correlation_id}
        state.event_log = [
            *state.event_log[-LONGEST_LOG + 1 :],
            entry | ({"stepId": data.step_id} if data.step_id else {}),
        ]
        if data.kind in ANSWERS and data.to in state.agents:
            self._rest()
            state.current_agent = data.to
            agent = state.agents[data.to]
            agent.status = "working"
            agent.metrics = {**agent.metrics, "requests": agent.metrics.get("requests", 0) + 1}
        elif data.kind in ANSWERS.values() and data.sender in state.agents:
            agent = state.agents[data.sender]
            agent.status, agent.last_output = "idle", data.summary
            failed = bool(data.payload.get("error"))
            name = "errors" if failed else "responses"
            agent.metrics = {**agent.metrics, name: agent.metrics.get(name, 0) + 1}
        if data.kind == "REPLAN_REQUEST" or (data.kind == "PLAN_REQUEST" and data.payload.get("again")):
            state.metrics.replan_count += 1
        elif data.kind == "CODE_FIX_REQUEST":
            state.metrics.fix_cycles += 1

    def _planned(self, data: events.PlanCreated) -> None:
        plan = msgspec.convert(msgspec.to_builtins(data.plan), ExecutionPlan)  # the fold changes its copy
        if data.step_id:
            parent = self.step(data.step_id)
            if parent is not None:
                parent.sub_steps = plan.steps
            kept = [one for one in self.state.plan_stack if one.depth < plan.depth]
            self.state.plan_stack = [*kept, plan] if data.approved else kept
        else:
            known = [one.id for one in self.plans]
            self.plans = self.plans[: known.index(plan.id)] if plan.id in known else self.plans
            self.plans = [*self.plans, plan]
            self.state.current_plan, self.state.plan_stack = plan, []
        if data.approved:
            plan.status = "in_progress"
        self._count()

    def _step(self, data: events.StepChanged) -> None:
        step = self.step(data.step_id)
        if step is None:
            return
        step.status, step.attempts, step.verified = data.status, data.attempts, data.verified
        step.fail_reason = data.fail_reason
        if data.status in ("completed", "failed"):
            stack = self.state.plan_stack
            self.state.plan_stack = [plan for plan in stack if plan.depth <= data.depth]
        for plan in [*self.plans[-1:], *self.state.plan_stack]:
            _advance(plan)
        self._count()

    def _tested(self, data: events.TestsRun) -> None:
        self.tests = data.result
        step = self.step(data.step_id)
        if step is not None:
            step.test_results = data.result
        elif not data.step_id:
            self.suite = data.result

    def _record_tests(self, data: events.TestsRun, path: str) -> None:
        """Add a test run. The reviewed copy of a result replaces it."""
        last = self.test_runs[-1] if self.test_runs else None
        if data.result.summary and last is not None and last[:2] == (data.step_id, path):
            self.test_runs.pop()
        self.test_runs.append((data.step_id, path, data.result))

    def _verified(self, data: events.Verified) -> None:
        self.gates.append(data)
        self.level, self.issues = data.level, data.issues
        metrics = self.state.metrics
        if data.passed:
            metrics.verifications_passed += 1
        else:
            metrics.verifications_failed += 1
        step = self.step(data.step_id)
        if step is not None and data.by == "supervisor":
            step.verification_result = data.result

    def _coded(self, data: events.Coded) -> None:
        step, output = self.step(data.step_id), data.output
        if step is not None:
            step.code_output = output
        where = {"step_id": data.step_id, "attempt": output.attempt, "cycle": output.cycle}
        self.caught += [{**where, "what": what, "refused": True} for what in output.caught]
        self.caught += [{**where, "what": what, "refused": False} for what in output.suspected]

    def _count(self) -> None:
        metrics, steps = self.state.metrics, list(self.all_steps())
        metrics.total_steps = len(steps)
        metrics.completed_steps = sum(step.status == "completed" for step in steps)
        metrics.failed_steps = sum(step.status == "failed" for step in steps)


def with_sub_steps(steps: Iterable[PlanStep]) -> Iterator[PlanStep]:
    """Return steps, each followed by its sub-steps."""
    for step in steps:
        yield step
        yield from with_sub_steps(step.sub_steps)


def _advance(plan: ExecutionPlan) -> None:
    """Derive a plan's position and status from its steps."""
    open_steps = [nth for nth, step in enumerate(plan.steps) if step.status in ("pending", "in_progress")]
    plan.current_step_index = open_steps[0] if open_steps else len(plan.steps)
    if not open_steps:
        done = all(step.status == "completed" for step in plan.steps)
        plan.status = "completed" if done else "failed"


def as_data(build: BuildState) -> dict[str, Any]:
    """Return the state as plain data, for the reports."""
    opened, finished = build.opened, build.finished
    return {
        "state": build.state.shown(),
        "branch": opened.branch if opened else "",
        "base": opened.base if opened else "",
        "sandbox": opened.sandbox if opened else "",
        "commits": [
            {
                "sha": one.sha, "step_id": one.step_id, "message": one.message, "files": one.files,
                "complete": one.complete,
            }
            for one in build.commits
        ],
        "where": finished.where if finished else "",
        "diff_stat": finished.diff_stat if finished else {},
        "diff": finished.diff if finished else "",
        "tests": None if build.tests is None else build.tests.shown(),
        "suite": None if build.suite is None else build.suite.shown(),
        "baseline": None if build.baseline is None else build.baseline.shown(),
        "gates": [gate_data(one) for one in build.gates],
        "escalations": [escalation_data(one) for one in build.escalations],
        "caught": build.caught,
        "done": done_steps(build),
        "level": build.level,
        "time_used": time_used(build),
    }  # fmt: skip


def done_steps(build: BuildState) -> list[dict[str, Any]]:
    """Return what the completed steps did and why, as the coder explains it."""
    return [
        {
            "step": step.label,
            "description": step.description,
            "summary": step.code_output.summary,
            "why": step.code_output.why,
            "files": step.code_output.files,
            "evidence": step.code_output.evidence,
            "risks": step.code_output.risks,
            "tests": step.test_results.counted() if step.test_results is not None else "",
        }
        for step in build.all_steps()
        if step.status == "completed" and step.code_output is not None
    ]


def gate_data(gate: events.Verified) -> dict[str, Any]:
    return {
        "gate": gate.gate, "step_id": gate.step_id, "by": gate.by, "passed": gate.passed,
        "threshold": gate.threshold, "score": gate.result.score if gate.by == "supervisor" else None,
        "issues": gate.result.issues, "recommendation": gate.result.recommendation,
        "reason": gate.result.reason, "problems": gate.problems, "level": gate.level,
    }  # fmt: skip


def escalation_data(one: events.Escalated) -> dict[str, Any]:
    return {
        "level": one.level, "before": one.before, "issues": one.issues, "score": one.score,
        "reason": one.reason, "step_id": one.step_id,
    }  # fmt: skip


def time_used(build: BuildState) -> dict[str, float]:
    told = {name: round(seconds, 3) for name, seconds in build.time_used.items()}
    return {**told, "total": round(sum(build.time_used.values()), 3)}
