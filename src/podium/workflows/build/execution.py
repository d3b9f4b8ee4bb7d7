"""Execution of plans: steps in order, sub-plans for blocked ones, and the goal check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.workflows.build import events
from podium.workflows.build.attempt import attempt_step
from podium.workflows.build.clock import Share, TimeSpentError
from podium.workflows.build.coder import Work
from podium.workflows.build.context import Build
from podium.workflows.build.planner import PlanNotApprovedError, Purpose, approved_plan
from podium.workflows.build.policy import (
    MAX_DEPTH,
    are_done_or_acceptable,
    blocked_reason,
    doomed_by,
    goal_problems,
    may_split,
    next_step,
    step_budget,
    still_red,
)
from podium.workflows.build.state import ExecutionPlan, PlanStep
from podium.workflows.build.supervisor import Judgement, judge, verify
from podium.workflows.build.tester import suite_at
from podium.workflows.build.workspace import Inspected


def why_not_split(step: PlanStep) -> str:
    """Return the reason why a blocked step gets no sub-plan, or an empty string if it may get one."""
    return "" if may_split(step.depth) else f"there are no sub-plans below depth {MAX_DEPTH}"


async def execute(build: Build, plan: ExecutionPlan) -> None:
    """Carry out a plan. A failed step also fails its dependents; the rest continues."""
    await build.clock.begin_execution()
    while (step := next_step(plan.steps)) is not None:
        await build.clock.expect_execution_time()
        async with build.run.branch("step", key=step.id):
            share = await build.clock.share_of_step(len(plan.steps))
            only = len(plan.steps) == 1 and not plan.depth
            work = Work(
                step,
                plan_shown(plan),
                build.snapshot,
                share,
                must_pass=build.must_pass,
                is_whole_goal=only,
            )
            if not await _done(build, plan, work):
                _skip_dependents(build, plan, step)


async def _done(build: Build, plan: ExecutionPlan, work: Work) -> bool:
    """Do one step, directly or by a sub-plan. Return whether it is done."""
    problem = await attempt_step(build, work)
    if not problem:
        return True
    step = work.step
    build.latest = build.snapshot
    build.step_changed(step, "blocked", problem)
    correlation = build.request("STEP_BLOCKED", problem, step, final=False)
    refused = why_not_split(step)
    failed = f"{problem}; {refused}" if refused else await _by_sub_plan(build, plan, work, problem)
    if failed:
        build.step_failed(step, failed)
        return False
    build.answer("STEP_COMPLETE", correlation, f"{step.description} (by its sub-plan)", step)
    build.step_changed(step, "completed")
    return True


async def _by_sub_plan(build: Build, plan: ExecutionPlan, work: Work, problem: str) -> str:
    """Split the blocked step into a sub-plan and carry it out. Return the reason if that failed, else an
    empty string."""
    step = work.step
    async with build.run.branch("subplan"):
        share = await build.clock.share_of_subplan(work.share)
        purpose = Purpose(
            id=f"{plan.id}/{step.label}",
            goal=step.description,
            depth=step.depth + 1,
            step=step,
            parent_plan=plan.id,
            problem=problem,
            shares=(share,),
        )
        try:
            await build.phase("planning")
            subplan = await approved_plan(
                build,
                purpose,
                "subplan",
                problem=problem,
                tried=work.failed,
                **work.shown(),
            )
        except TimeSpentError as error:
            return f"{problem}; no time for a sub-plan: {error}"
        except PlanNotApprovedError as error:
            return f"{problem}; no sub-plan was approved: {error}"
        return await _carried_out(build, subplan, share, problem)


async def _carried_out(build: Build, subplan: ExecutionPlan, share: Share, problem: str) -> str:
    """Carry out a sub-plan. The first failed step ends it, because the parent step cannot be complete any
    more."""
    part = step_budget(share.seconds, len(subplan.steps))
    while (step := next_step(subplan.steps)) is not None:
        await build.clock.expect_execution_time()
        async with build.run.branch("step", key=step.id):
            own = Share("step", (await build.clock.read()).driven_s, part)
            work = Work(step, plan_shown(subplan), build.snapshot, own, problem, must_pass=build.must_pass)
            if not await _done(build, subplan, work):
                _skip_dependents(build, subplan, step)
                return f"{problem}; its sub-plan failed: step {step.label}: {step.fail_reason}"
    return ""


def _skip_dependents(build: Build, plan: ExecutionPlan, failed: PlanStep) -> None:
    for step in doomed_by(failed, plan.steps):
        if step.status == "pending":
            build.step_changed(step, "blocked", blocked_reason(failed))


def plan_shown(plan: ExecutionPlan) -> list[dict[str, Any]]:
    """Return a plan as data for prompts."""
    return [
        {
            "label": step.label,
            "status": step.status,
            "description": step.description,
            "reason": step.fail_reason or "",
        }
        for step in plan.steps
    ]


@dataclass(frozen=True)
class Verdict:
    met: bool
    missing: list[str]
    """Reasons why the goal is not met. The next plan starts from them."""


async def verify_goal(build: Build, plan: ExecutionPlan, base: str) -> Verdict:
    """Apply the goal gate. A goal that could not be verified counts as not achieved."""
    await build.phase("verifying")
    await build.clock.expect_verification_time()
    tested = await suite_at(build, build.snapshot, max(build.clock.allocation.verification_left, 1.0))
    result = tested.result
    build.emit(events.TestsRun(step_id="", attempt=0, cycle=0, result=result))
    failing = [failure.name for failure in result.failures] + result.known_failures
    problems = goal_problems(
        steps_acceptable=are_done_or_acceptable(plan.steps),
        suite_passes=result.ok,
        still_failing=still_red(build.must_pass, list(dict.fromkeys(failing))),
    )
    judgement = await _judge_goal(build, plan, base, problems, tested.shown)
    if judgement.passed:
        build.answer("GOAL_COMPLETE", judgement.correlation, build.goal)
        return Verdict(True, [])
    undone = [
        f"step {step.label} ({step.status}): {step.description}: {step.fail_reason or ''}"
        for step in plan.steps
        if step.status != "completed"
    ]
    red = [] if result.ok else [f"the whole suite: {result.counted()}"]
    return Verdict(False, [*judgement.reasons, *red, *undone])


async def _judge_goal(
    build: Build, plan: ExecutionPlan, base: str, problems: list[str], tests: str
) -> Judgement:
    """Return the supervisor's verdict on the goal. If the plan had one step, its verdict on that step said it
    already."""
    verdict, build.goal_verdict = build.goal_verdict, None
    if verdict is not None and not problems:
        correlation = build.request("VERIFY_REQUEST", "verify the goal", gate="goal", with_step=True)
        return judge(build, "goal", None, verdict, correlation)
    nothing: list[str] = []
    seen = await build.run.step(
        "inspect", build.workspace.inspect, base, build.snapshot, nothing, returns=Inspected
    )
    return await verify(
        build, "goal", problems, plan=plan_shown(plan), done=build.done, diff=seen.diff, tests=tests
    )
