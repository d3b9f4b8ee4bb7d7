"""Shared run state and recorded clock of `build`.

Every reading is a step, so a resume sees the readings of its earlier processes. Only an expired time is never
recorded, because a larger limit makes it untrue.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec

from podium.agents.ask import Run
from podium.engine.effect import Effect
from podium.errors import BudgetExhaustedError, StepFailedError, StepTimeoutError, was_cut
from podium.report.words import count
from podium.workflows.build import events
from podium.workflows.build.agents import AGENTS
from podium.workflows.build.fold import BuildState
from podium.workflows.build.policy import (
    DEFAULT_LIMIT_S,
    GUIDANCE,
    TRIES,
    Allocation,
    Standing,
    after_failed_step,
    allocate,
    ends_the_run,
    execution_window,
    fix_cycle_budget,
    rises,
    step_budget,
    subplan_budget,
    wait_after,
)
from podium.workflows.build.state import ROUTES, PlanStep, Status, StepStatus
from podium.workflows.build.workspace import WorkspacePort


class Reading(msgspec.Struct, frozen=True):
    driven_s: float
    at_ms: float


class TimeSpentError(Exception):
    """Raised when a step, or one of its fix cycles, has used its time."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"the time of the {scope} is spent")
        self.scope = scope


class Share(msgspec.Struct, frozen=True):
    """A share of the execution time: its start and its length."""

    scope: str
    began: float
    seconds: float

    def left(self, now: float) -> float:
        return self.seconds - (now - self.began)


class BuildClock:
    """Reads the recorded time and checks the limits of each phase."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.began = 0.0
        """Driven time in seconds at the start of this iteration."""
        self.execution_began = 0.0
        self.last_ms = 0.0
        """The last time read, in milliseconds."""

    @property
    def limit(self) -> float:
        seconds = self._run.budget.seconds
        return DEFAULT_LIMIT_S if seconds is None else seconds

    @property
    def allocation(self) -> Allocation:
        """The time left at the start of this iteration, divided into phases."""
        return allocate(max(self.limit - self.began, 0.0))

    async def read(self) -> Reading:
        async def look(effect: Effect) -> Reading:
            return Reading(round(self._run.driven_s, 3), round(time.time() * 1000))

        reading: Reading = await self._run.perform("clock", look, inputs=None, returns=Reading, kind="clock")
        self.last_ms = reading.at_ms
        return reading

    async def read_at_end(self) -> Reading:
        """Read the time. If the budget does not even allow reading the clock, return the limit."""
        try:
            return await self.read()
        except BudgetExhaustedError:
            return Reading(self.limit, self.last_ms)

    # ── phases ──

    async def begin_iteration(self) -> None:
        self.began = (await self.read()).driven_s

    async def begin_execution(self) -> None:
        self.execution_began = (await self.read()).driven_s

    @property
    def working_time(self) -> float:
        """Seconds that an iteration may take in all, leaving enough time to report."""
        return max(self.limit - self.began - allocate(self.limit).shutdown, 0.001)

    async def expect_planning_time(self) -> None:
        """Called before a plan is revised. If planning has used its share, the run is out of time."""
        await self._expect("planning", lambda: self.began + self.allocation.planning)

    async def expect_execution_time(self) -> None:
        """Called before a step starts. Raise if the execution time is used up."""
        await self._expect("execution", self._execution_end)

    async def expect_verification_time(self) -> None:
        await self._expect("verification", lambda: self.began + self.working_time)

    def _execution_end(self) -> float:
        window = execution_window(self.allocation, self.execution_began - self.began)
        return self.execution_began + window

    async def _expect(self, phase: str, end: Callable[[], float]) -> None:
        """Pass while there is time, else raise. An expired time is not recorded (see the module
        docstring)."""

        async def look(effect: Effect) -> float:
            now = self._run.driven_s
            if now < end():
                return round(now, 3)
            error = BudgetExhaustedError("seconds", "", self.limit, round(now, 3), 0)
            raise effect.core.ran_out(effect.path, error)

        await self._run.perform(f"time for {phase}", look, inputs=None, returns=float, kind="clock")

    # ── steps ──

    async def share_of_step(self, steps: int) -> Share:
        window = execution_window(self.allocation, self.execution_began - self.began)
        return Share("step", (await self.read()).driven_s, step_budget(window, steps))

    async def share_of_subplan(self, step: Share) -> Share:
        now = (await self.read()).driven_s
        return Share("step", now, subplan_budget(step.seconds, self._execution_end() - now))

    async def share_of_cycle(self, step: Share) -> Share:
        return Share("fix cycle", (await self.read()).driven_s, fix_cycle_budget(step.seconds))

    async def time_out(self, *shares: Share) -> tuple[float, str]:
        """Return the timeout in seconds of the next operation and the scope of the share with the least time
        left. Raise `TimeSpentError` if none is left."""

        async def look(effect: Effect) -> tuple[float, str]:
            now = self._run.driven_s
            return min((round(share.left(now), 3), share.scope) for share in shares)

        seconds, scope = await self._run.perform(
            "time left", look, inputs=None, returns=tuple[float, str], kind="clock"
        )
        if seconds <= 0:
            raise TimeSpentError(scope)
        return seconds, scope


T = TypeVar("T")
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
    ground: WorkspacePort
    choices: Choices
    clock: BuildClock
    state: BuildState = field(default_factory=BuildState)
    standing: Standing = field(default_factory=Standing)
    guidance: dict[str, Any] | None = None
    snapshot: str = ""
    """Snapshot after the last completed step."""
    latest: str = ""
    """Current snapshot, including unfinished work."""
    ground_tests: str = ""
    """Description of how tests are run, for prompts."""
    warnings: list[str] = field(default_factory=list[str])
    _messages: int = 0

    # ── events ───

    def tell(self, data: events.BuildEvent) -> None:
        self.run.emit(data)
        self.state.tell(data)

    def warn(self, text: str) -> None:
        """Add a warning for the reader of the result."""
        self.warnings.append(text)
        self.run.warn(text)

    async def phase(self, status: Status, reason: str = "") -> None:
        """Change the phase, unless it is set already."""
        if self.state.state.status == status and not reason and self.state.state.start_time is not None:
            return
        reading = await self.clock.read_at_end() if status == "time_expired" else await self.clock.read()
        self.tell(
            events.Phase(
                status=status, iteration=self.state.state.iteration, driven_s=reading.driven_s,
                at_ms=reading.at_ms, time_limit=self.clock.limit, reason=reason,
            )
        )  # fmt: skip

    def request(self, kind: str, summary: str = "", step: PlanStep | None = None, **payload: Any) -> str:
        """Send the first message of an exchange; its id is the correlation id of all that follow."""
        return self._send(kind, f"m{self._messages + 1}", summary, step, None, payload)

    def answer(
        self, kind: str, correlation: str, summary: str = "", step: PlanStep | None = None, to: str = "",
        **payload: Any,
    ) -> None:  # fmt: skip
        """Send a further message of an exchange."""
        self._send(kind, correlation, summary, step, to or None, payload)

    def _send(
        self, kind: str, correlation: str, summary: str, step: PlanStep | None, to: str | None,
        payload: dict[str, Any],
    ) -> str:  # fmt: skip
        self._messages += 1
        sender, receiver = ROUTES[kind]
        self.tell(
            events.Message(
                id=f"m{self._messages}", kind=kind, sender=sender, to=to or receiver, payload=payload,
                correlation_id=correlation, step_id=step.id if step is not None else "",
                summary=summary[:LONGEST_SUMMARY],
            )
        )  # fmt: skip
        return correlation

    def step_changed(
        self, step: PlanStep, status: StepStatus, reason: str | None = None, *, verified: bool = True
    ) -> None:
        step.status, step.fail_reason, step.verified = status, reason, verified
        self.tell(
            events.StepChanged(
                step_id=step.id, status=status, attempts=step.attempts, depth=step.depth, number=step.number,
                fail_reason=reason, verified=verified,
            )
        )  # fmt: skip

    # ── model calls ──

    async def ask(
        self, role: str, task: str, returns: type[T], shares: tuple[Share, ...] = (), **variables: Any
    ) -> T:
        """Ask a role, with up to three tries. The timeout comes out of the shares."""
        ask: Any = self.run.ask  # the variables depend on the prompt, so the call is untyped
        for nth in range(1, TRIES + 1):
            seconds, scope = await self.clock.time_out(*shares) if shares else (None, "")
            try:
                return await ask(AGENTS[role], task, returns=returns, timeout=seconds, **variables)
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
        self, after: Standing, about: str, correlation: str, *, issues: list[str], score: float | None = None,
        step: PlanStep | None = None,
    ) -> None:  # fmt: skip
        """Apply a new escalation standing: set the guidance for the next prompt, and abort the run if
        necessary."""
        before, self.standing = self.standing, after
        text = GUIDANCE.get(after.level)
        self.guidance = {"level": after.level, "text": text, "issues": issues[:20]} if text else None
        if text:
            self.answer(
                "CORRECTION", correlation, text, step, to=about, level=after.level, issues=issues[:20]
            )
        if rises(before, after):
            reason = "; ".join(issues)[:LONGEST_SUMMARY]
            self.tell(
                events.Escalated(
                    level=after.level, before=before.level, issues=after.issues, score=score, reason=reason,
                    step_id=step.id if step is not None else "",
                )
            )  # fmt: skip
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
        self.stand(after_failed_step(self.standing), "coder", correlation, issues=issues, step=step)


async def workspace_shown(build: Build, snapshot: str) -> dict[str, Any]:
    """Return the view of the workspace that every role gets."""
    found = await build.run.step("map", build.ground.map, snapshot, returns=str)
    return {"tests": build.ground_tests, "map": found}
