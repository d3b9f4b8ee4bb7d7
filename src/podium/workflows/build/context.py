"""Shared state of a build: messages, model calls and escalation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeVar

from podium.agents.ask import Run
from podium.agents.tools import Tool
from podium.errors import StepFailedError, StepTimeoutError, was_cut
from podium.models.messages import ToolCall, ToolOutcome
from podium.report.words import count
from podium.workflows.build import events
from podium.workflows.build.agents import AGENTS
from podium.workflows.build.clock import BuildClock, Share, TimeSpentError
from podium.workflows.build.contracts import Verification
from podium.workflows.build.fold import BuildState
from podium.workflows.build.policy import (
    GUIDANCE,
    TRIES,
    Standing,
    after_rule,
    ends_the_run,
    rises,
    wait_after,
)
from podium.workflows.build.state import ROUTES, PlanStep, Status, StepStatus
from podium.workflows.build.workspace import Tested, WorkspacePort

T = TypeVar("T")


class ToolSource(Protocol):
    """Tools for one ask, which follow the outcome of each call."""

    @property
    def tools(self) -> list[Tool]: ...

    def on_tool(self, call: ToolCall, outcome: ToolOutcome | None) -> None: ...


LONGEST_SUMMARY = 500


class AgentFailedError(Exception):
    """Raised when an agent gave no usable answer in all its tries. The caller falls back."""

    def __init__(self, role: str, task: str, error: StepFailedError) -> None:
        super().__init__(f"the {role} could not {task.replace('_', ' ')}: {error.reason}")
        self.role = role
        self.error = error


class AbortedError(Exception):
    """Raised when the supervisor ends the run: too many consecutive issues."""


@dataclass
class Choices:
    """Options of the run."""

    max_iterations: int
    first_wait_s: float


@dataclass
class Build:
    """State shared by all parts of the flow. Only one task of the run uses it at a time."""

    run: Run
    goal: str
    workspace: WorkspacePort
    choices: Choices
    clock: BuildClock
    state: BuildState = field(default_factory=BuildState)
    standing: Standing = field(default_factory=Standing)
    guidance: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """The supervisor's guidance for each role whose last work was rejected."""
    snapshot: str = ""
    """Snapshot after the last completed step."""
    latest: str = ""
    """Current snapshot, including unfinished work."""
    test_command: str = ""
    """Description of how tests are run, for prompts."""
    baseline: Tested | None = None
    """The test run before any change. `None` if there was nothing to run."""
    must_pass: list[str] = field(default_factory=list[str])
    """Tests that failed before and must pass at the end, by the plan."""
    goal_verdict: Verification | None = None
    """The supervisor's verdict on the goal, given with that on the only step of a plan."""
    removed_tests: set[str] = field(default_factory=set[str])
    """Tests that finished steps renamed, or removed with what they tested."""
    fixed_tests: set[str] = field(default_factory=set[str])
    """Tests that failed before any change and pass since a finished step."""
    done: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """What finished steps did, for prompts and for the result."""
    warnings: list[str] = field(default_factory=list[str])
    _messages: int = 0

    # ── events ───

    def emit(self, data: events.BuildEvent) -> None:
        self.run.emit(data)
        self.state.tell(data)

    def warn(self, text: str) -> None:
        """Add a warning for the reader of the result."""
        self.warnings.append(text)
        self.run.warn(text)

    def warn_once(self, texts: Iterable[str]) -> None:
        for text in texts:
            if text not in self.warnings:
                self.warn(text)

    async def phase(self, status: Status, reason: str = "") -> None:
        """Change the phase, unless it is set already."""
        if self.state.state.status == status and not reason and self.state.state.start_time is not None:
            return
        reading = await self.clock.read_at_end() if status == "time_expired" else await self.clock.read()
        self.emit(
            events.Phase(
                status=status,
                iteration=self.state.state.iteration,
                driven_s=reading.driven_s,
                at_ms=reading.at_ms,
                time_limit=self.clock.limit,
                reason=reason,
            )
        )

    def request(self, kind: str, summary: str = "", step: PlanStep | None = None, **payload: Any) -> str:
        """Send the first message of an exchange; its id is the correlation id of all that follow."""
        return self._send(kind, f"m{self._messages + 1}", summary, step, None, payload)

    def answer(
        self,
        kind: str,
        correlation: str,
        summary: str = "",
        step: PlanStep | None = None,
        to: str = "",
        **payload: Any,
    ) -> None:
        """Send a further message of an exchange."""
        self._send(kind, correlation, summary, step, to or None, payload)

    def _send(
        self,
        kind: str,
        correlation: str,
        summary: str,
        step: PlanStep | None,
        to: str | None,
        payload: dict[str, Any],
    ) -> str:
        self._messages += 1
        sender, receiver = ROUTES[kind]
        self.emit(
            events.Message(
                id=f"m{self._messages}",
                kind=kind,
                sender=sender,
                to=to or receiver,
                payload=payload,
                correlation_id=correlation,
                step_id=step.id if step is not None else "",
                summary=summary[:LONGEST_SUMMARY],
            )
        )
        return correlation

    def step_changed(
        self, step: PlanStep, status: StepStatus, reason: str | None = None, *, verified: bool = True
    ) -> None:
        step.status, step.fail_reason, step.verified = status, reason, verified
        self.emit(
            events.StepChanged(
                step_id=step.id,
                status=status,
                attempts=step.attempts,
                depth=step.depth,
                number=step.number,
                fail_reason=reason,
                verified=verified,
            )
        )

    # ── model calls ──

    async def ask(
        self,
        role: str,
        task: str,
        returns: type[T],
        shares: tuple[Share, ...] = (),
        *,
        tools: ToolSource | None = None,
        **variables: Any,
    ) -> T:
        """Ask a role, with up to three tries. The timeout comes out of the shares. A role with tools starts
        each try from where the last one ended."""
        ask: Any = self.run.ask  # the variables depend on the prompt, so the call is untyped
        agent, extra = AGENTS[role], dict[str, Any]()
        if tools is not None:
            agent, extra = replace(agent, tools=tools.tools), {"on_tool": tools.on_tool}
        for nth in range(1, TRIES + 1):
            seconds, scope = await self.clock.time_out(*shares) if shares else (None, "")
            try:
                return await ask(
                    agent,
                    task,
                    returns=returns,
                    timeout=seconds,
                    goal=self.goal,
                    guidance=self.guidance.get(role),
                    **extra,
                    **variables,
                )
            except StepTimeoutError as error:
                if not shares:
                    raise
                raise TimeSpentError(scope) from error
            except StepFailedError as error:
                if nth == TRIES or was_cut(error):
                    times = count(nth, "time")
                    self.warn(f"The {role} failed {times} to {task.replace('_', ' ')}: {error.reason}")
                    raise AgentFailedError(role, task, error) from error
                await self.run.sleep(wait_after(nth, self.choices.first_wait_s))
        raise AssertionError("unreachable")  # pragma: no cover

    # ── escalation ──

    def stand(
        self,
        after: Standing,
        about: str,
        correlation: str,
        *,
        issues: list[str],
        score: float | None = None,
        step: PlanStep | None = None,
    ) -> None:
        """Apply a new escalation standing: set the guidance for the role whose work was rejected, and abort
        the run if necessary. A passed gate ends its guidance."""
        before, self.standing = self.standing, after
        text = GUIDANCE.get(after.level) if after.issues else None
        self.guidance.pop(about, None)
        if text:
            self.guidance[about] = {"level": after.level, "text": text, "issues": issues[:20]}
            self.answer(
                "CORRECTION", correlation, text, step, to=about, level=after.level, issues=issues[:20]
            )
        if rises(before, after):
            reason = "; ".join(issues)[:LONGEST_SUMMARY]
            self.emit(
                events.Escalated(
                    level=after.level,
                    before=before.level,
                    issues=after.issues,
                    score=score,
                    reason=reason,
                    step_id=step.id if step is not None else "",
                )
            )
            self.answer("ESCALATION", correlation, reason, step, level=after.level, before=before.level)
        if ends_the_run(after):
            why = f"{after.issues} issues in a row; the last: {'; '.join(issues)[:LONGEST_SUMMARY]}"
            self.answer("ABORT", correlation, why, step)
            raise AbortedError(why)

    def step_failed(self, step: PlanStep, reason: str) -> None:
        """Mark a step as failed for good and escalate."""
        self.step_changed(step, "failed", reason)
        correlation = self.request("STEP_BLOCKED", reason, step, final=True)
        issues = [f"step {step.label} failed: {reason}"]
        self.stand(after_rule(self.standing), "coder", correlation, issues=issues, step=step)


async def workspace_shown(build: Build, snapshot: str) -> dict[str, Any]:
    """Return the view of the workspace that planner, coder and supervisor get: how tests are run, what they
    gave before any change, and a map of the files."""
    file_map = await build.run.step("map", build.workspace.map, snapshot, returns=str)
    baseline = build.baseline.shown if build.baseline is not None else ""
    return {"tests": build.test_command, "map": file_map, "baseline": baseline}
