"""The recorded clock of `build`.

Every reading is a step, so a resume sees the readings of its earlier processes. Only an expired time is never
recorded, because a larger limit makes it untrue.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from podium.agents.ask import Run
from podium.engine.effect import Effect
from podium.errors import BudgetExhaustedError
from podium.workflows.build.policy import (
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
    """Raised when a step, or one of its fix cycles, has used its time."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"the time of the {scope} is used up")
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
        async with self._run.until_exhausted():
            return await self.read()
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
