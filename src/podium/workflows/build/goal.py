"""Is the goal met? The whole suite is run on what was committed, and the supervisor has the last word."""

from __future__ import annotations

from dataclasses import dataclass

from podium.workflows.build import events
from podium.workflows.build.executing import plan_shown
from podium.workflows.build.ground import Inspected
from podium.workflows.build.policy.gates import goal_problems
from podium.workflows.build.policy.steps import are_done_or_acceptable
from podium.workflows.build.state import ExecutionPlan
from podium.workflows.build.testing import tested_at
from podium.workflows.build.verifying import verify
from podium.workflows.build.working import Build


@dataclass(frozen=True)
class Verdict:
    met: bool
    missing: list[str]
    """Why it is not met; the next plan begins here."""


async def verify_goal(build: Build, plan: ExecutionPlan, base: str) -> Verdict:
    """The goal gate. A goal that nobody could verify is not achieved."""
    await build.phase("verifying")
    await build.clock.expect_verification_time()
    tested = await tested_at(build, build.snapshot, max(build.clock.allocation.verification_left, 1.0))
    build.tell(events.TestsRun(step_id="", attempt=0, cycle=0, result=tested.result))
    nothing: list[str] = []
    problems = goal_problems(
        steps_acceptable=are_done_or_acceptable(plan.steps), suite_passes=tested.result.ok
    )
    seen = await build.run.step(
        "inspect", build.ground.inspect, base, build.snapshot, nothing, returns=Inspected
    )
    judgement = await verify(
        build, "goal", problems, plan=plan_shown(plan), diff=seen.diff, tests=tested.shown
    )
    if judgement.passed:
        build.answer("GOAL_COMPLETE", judgement.correlation, build.goal)
        return Verdict(True, [])
    undone = [
        f"step {step.label} ({step.status}): {step.description}: {step.fail_reason or ''}"
        for step in plan.steps
        if step.status != "completed"
    ]
    failing = [] if tested.result.ok else [f"the whole suite: {tested.result.counted()}"]
    return Verdict(False, [*judgement.reasons, *failing, *undone])
