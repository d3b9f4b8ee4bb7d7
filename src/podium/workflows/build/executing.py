"""A plan is carried out step by step; one that is blocked becomes a plan of its own, at most three deep."""

from __future__ import annotations

from typing import Any

from podium.workflows.build.clock import Share, TimeSpentError
from podium.workflows.build.coding import Work
from podium.workflows.build.planning import PlanNotApprovedError, Purpose, approved_plan
from podium.workflows.build.policy.steps import blocked_reason, doomed_by, next_step
from podium.workflows.build.policy.time import step_budget
from podium.workflows.build.state import ExecutionPlan, PlanStep
from podium.workflows.build.step import attempt_step, why_not_split
from podium.workflows.build.working import Build


async def execute(build: Build, plan: ExecutionPlan) -> None:
    """Carry a plan out. A step that fails takes those with it that need it; the rest goes on."""
    await build.clock.begin_execution()
    while (step := next_step(plan.steps)) is not None:
        await build.clock.expect_execution_time()
        async with build.run.branch("step", key=step.id):
            share = await build.clock.share_of_step(len(plan.steps))
            work = Work(step, plan_shown(plan), build.snapshot, share)
            if not await _done(build, plan, work):
                _skip_dependents(build, plan, step)


async def _done(build: Build, plan: ExecutionPlan, work: Work) -> bool:
    """One step, by itself or by a sub-plan; whether it is done."""
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
    """Plan the blocked step anew in smaller ones and do them. Returns why that failed, if it did."""
    step = work.step
    async with build.run.branch("subplan"):
        share = await build.clock.share_of_subplan(work.share)
        purpose = Purpose(
            id=f"{plan.id}/{step.label}", goal=step.description, depth=step.depth + 1, step=step,
            parent_plan=plan.id, problem=problem, shares=(share,),
        )  # fmt: skip
        try:
            await build.phase("planning")
            subplan = await approved_plan(
                build,
                purpose,
                "subplan",
                plan=work.plan,
                problem=problem,
                tried=work.failed,
                step=work.shown(),
            )
        except TimeSpentError as error:
            return f"{problem}; no time for a sub-plan: {error}"
        except PlanNotApprovedError as error:
            return f"{problem}; no sub-plan was approved: {error}"
        return await _carried_out(build, subplan, share, problem)


async def _carried_out(build: Build, subplan: ExecutionPlan, share: Share, problem: str) -> str:
    """The steps of a sub-plan. The first that fails ends it: the step above cannot be whole any more."""
    part = step_budget(share.seconds, len(subplan.steps))
    while (step := next_step(subplan.steps)) is not None:
        await build.clock.expect_execution_time()
        async with build.run.branch("step", key=step.id):
            own = Share("step", (await build.clock.read()).driven_s, part)
            work = Work(step, plan_shown(subplan), build.snapshot, own, problem)
            if not await _done(build, subplan, work):
                _skip_dependents(build, subplan, step)
                return f"{problem}; its sub-plan failed: step {step.label}: {step.fail_reason}"
    return ""


def _skip_dependents(build: Build, plan: ExecutionPlan, failed: PlanStep) -> None:
    for step in doomed_by(failed, plan.steps):
        if step.status == "pending":
            build.step_changed(step, "blocked", blocked_reason(failed))


def plan_shown(plan: ExecutionPlan) -> list[dict[str, Any]]:
    """A plan as prompts list it."""
    return [
        {"label": step.label, "status": step.status, "description": step.description,
         "reason": step.fail_reason or ""}
        for step in plan.steps
    ]  # fmt: skip
