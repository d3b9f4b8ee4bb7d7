"""Driven time, recorded: what was decided by the clock stays decided when a run is taken up again.

Every reading is a step, so a resume sees the readings of its earlier lives. Only "the time is up" is never
recorded: a larger limit makes it untrue.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from podium.agents.ask import Run
from podium.engine.effect import Effect
from podium.errors import BudgetExhaustedError
from podium.workflows.build.policy.time import (
    DEFAULT_LIMIT_S,
    Allocation,
    allocate,
    execution_window,
    fix_cycle_budget,
    step_budget,
    subplan_budget,
)


class Reading(msgspec.Struct, frozen=True):
    driven_s: float
    at_ms: float


class TimeSpentError(Exception):
    """A step, or one of its fix cycles, has used the time that it had."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"the time of the {scope} is spent")
        self.scope = scope


class Share(msgspec.Struct, frozen=True):
    """A part of execution: from when on it counts, and how long it may take."""

    scope: str
    began: float
    seconds: float

    def left(self, now: float) -> float:
        return self.seconds - (now - self.began)


class Clock:
    """Reads the time and says when it is up."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.began = 0.0
        """When this iteration began."""
        self.execution_began = 0.0
        self.last_ms = 0.0
        """The last time that was read."""

    @property
    def limit(self) -> float:
        seconds = self._run.budget.seconds
        return DEFAULT_LIMIT_S if seconds is None else seconds

    @property
    def allocation(self) -> Allocation:
        """What was left when this iteration began, divided."""
        return allocate(max(self.limit - self.began, 0.0))

    async def read(self) -> Reading:
        async def look(effect: Effect) -> Reading:
            return Reading(round(self._run.driven_s, 3), round(time.time() * 1000))

        reading: Reading = await self._run.perform("clock", look, inputs=None, returns=Reading, kind="clock")
        self.last_ms = reading.at_ms
        return reading

    async def read_at_end(self) -> Reading:
        """The same when time may be up so thoroughly that not even the clock can be read."""
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
        """What an iteration may take in all, so that there is still time to report."""
        return max(self.limit - self.began - allocate(self.limit).shutdown, 0.001)

    async def expect_planning_time(self) -> None:
        """Before a plan is revised: planning has used its share, so the run is out of time."""
        await self._expect("planning", lambda: self.began + self.allocation.planning)

    async def expect_execution_time(self) -> None:
        """Before a step begins."""
        await self._expect("execution", self._execution_end)

    async def expect_verification_time(self) -> None:
        await self._expect("verification", lambda: self.began + self.working_time)

    def _execution_end(self) -> float:
        window = execution_window(self.allocation, self.execution_began - self.began)
        return self.execution_began + window

    async def _expect(self, phase: str, end: Callable[[], float]) -> None:
        """Passes while there is time. Not recorded when there is none, see above."""

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
        """Seconds that the next operation may take, and which share that is: the one with the least left.
        Raises when there is none."""

        async def look(effect: Effect) -> tuple[float, str]:
            now = self._run.driven_s
            return min((round(share.left(now), 3), share.scope) for share in shares)

        seconds, scope = await self._run.perform(
            "time left", look, inputs=None, returns=tuple[float, str], kind="clock"
        )
        if seconds <= 0:
            raise TimeSpentError(scope)
        return seconds, scope
