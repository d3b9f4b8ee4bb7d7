"""Execution of plans: steps, fix cycles, sub-plans, commits, and the goal check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.report.words import one_line
from podium.workflows.build import events
from podium.workflows.build.coder import AttemptFailedError, BlockedError, Work, Written, write
from podium.workflows.build.context import AgentFailedError, Build, Share, TimeSpentError
from podium.workflows.build.contracts import FixPlan
from podium.workflows.build.planner import PlanNotApprovedError, Purpose, approved_plan
from podium.workflows.build.policy import (
    FINISHING_S,
    MAX_DEPTH,
    are_done_or_acceptable,
    blocked_reason,
    doomed_by,
    goal_problems,
    may_attempt,
    may_fix,
    may_split,
    next_step,
    step_budget,
    step_problems,
)
from podium.workflows.build.state import TESTER, ExecutionPlan, PlanStep
from podium.workflows.build.supervisor import verify
from podium.workflows.build.tester import TestOutcome, review, run_tests, tested_at
from podium.workflows.build.workspace import Inspected

SUBJECT = 72


async def commit_step(
    build: Build, work: Work, written: Written, outcome: TestOutcome, *, verified: bool
) -> None:
    """Commit the changes of a step. Later steps build on this commit."""
    message = message_of(work, written, outcome, verified=verified)
    sha = await committed(build, written.snapshot, message)
    build.snapshot = build.latest = sha
    build.tell(
        events.Committed(
            step_id=work.step.id, sha=sha, message=message.partition("\n")[0], files=written.seen.files
        )
    )


async def commit_unfinished(build: Build, message: str) -> str:
    """Commit unfinished work when time is up. A resumed run replaces it with the finished step."""
    sha = await committed(build, build.latest, message)
    step = build.state.current_step
    subject = message.partition("\n")[0]
    build.tell(
        events.Committed(
            step_id=step.id if step is not None else "", sha=sha, message=subject, files=[], complete=False
        )
    )
    return sha


async def committed(build: Build, snapshot: str, message: str) -> str:
    """Commit a snapshot. A commit is finished even if time is up."""
    async with build.run.closing(grace=FINISHING_S):
        return await build.run.step("commit", build.ground.commit, snapshot, message, returns=str)


def message_of(work: Work, written: Written, outcome: TestOutcome, *, verified: bool) -> str:
    step, result = work.step, outcome.result
    evidence = one_line(written.output.evidence, 500)
    lines = [
        one_line(f"Step {step.label}: {step.description}", SUBJECT),
        "",
        f"Tests: {result.counted()} ({one_line(result.command, 200) or result.framework})",
        f"Evidence: {evidence}",
        f"Attempt {step.attempts}{'' if verified else ', not verified by the supervisor'}",
    ]
    return "\n".join(lines)


async def attempt_step(build: Build, work: Work) -> str:
    """Do a step in up to three attempts. Return the reason if it is blocked, or an empty string if it is
    done."""
    step = work.step
    build.step_changed(step, "in_progress")
    while may_attempt(step.attempts):
        step.attempts += 1
        async with build.run.branch("attempt"):
            try:
                await _attempt(build, work)
            except AttemptFailedError as error:
                work.failed.append(f"attempt {step.attempts}: {error}")
            except BlockedError as error:
                return f"the coder is blocked: {error}"
            except TimeSpentError as error:
                return str(error)
            else:
                return ""
        build.step_changed(step, "in_progress", work.failed[-1])
    return f"{step.attempts} attempts did not pass; the last: {work.failed[-1].partition(': ')[2]}"


async def _attempt(build: Build, work: Work) -> None:
    """Make one attempt: code, verify, test, fix while tests fail, and verify the step."""
    work.refusals = 0
    await build.phase("executing")
    written = await write(build, work, "code", work.before, 0, (work.share,), failed=work.failed)
    await _verify_code(build, work, written, (work.share,))
    outcome = await run_tests(build, work, written, 0, (work.share,))
    outcome = await review(build, work, written, outcome)
    cycle = 0
    tried: list[str] = []
    while not outcome.result.ok and may_fix(cycle):
        cycle += 1
        async with build.run.branch("cycle"):
            written, outcome = await _fix(build, work, written, outcome, cycle, tried)
    if not outcome.result.ok:
        raise AttemptFailedError(f"the tests still fail after {cycle} fixes: {outcome.result.counted()}")
    await _verify_step(build, work, written, outcome)


async def _verify_code(build: Build, work: Work, written: Written, shares: tuple[Share, ...]) -> None:
    """Apply the code gate. Unverified work continues, because its tests still run."""
    output = written.output
    judgement = await verify(
        build, "code", written.problems, work.step, shares, plan=work.plan, step=work.shown(),
        code={"summary": output.summary, "evidence": output.evidence}, diff=written.seen.diff,
        caught=written.seen.suspected,
    )  # fmt: skip
    if not judgement.passed and not judgement.unverified:
        raise AttemptFailedError(f"the code was rejected: {'; '.join(judgement.reasons)}")


async def _fix(
    build: Build, work: Work, written: Written, outcome: TestOutcome, cycle: int, tried: list[str]
) -> tuple[Written, TestOutcome]:
    """Run one fix cycle. A cycle that uses up its time is lost, but the next one may still help."""
    shares = (work.share, await build.clock.share_of_cycle(work.share))
    try:
        fixing = await _plan_fix(build, work, written, outcome, shares, tried)
        await build.phase("executing")
        written = await write(
            build, work, "fix", written.snapshot, cycle, shares,
            evidence=written.output.evidence, diff=written.seen.diff, tests=outcome.shown, fix_plan=fixing,
        )  # fmt: skip
        await _verify_code(build, work, written, shares)
        outcome = await run_tests(build, work, written, cycle, shares, findings=outcome.result.findings)
    except TimeSpentError as error:
        if error.scope == work.share.scope:
            raise
        tried.append(f"fix {cycle} ran out of its time")
        return written, outcome
    tried.append(f"{fixing['diagnosis']} Then: {outcome.result.counted()}")
    return written, outcome


async def _plan_fix(
    build: Build,
    work: Work,
    written: Written,
    outcome: TestOutcome,
    shares: tuple[Share, ...],
    tried: list[str],
) -> dict[str, Any]:
    """Return the tester's fix plan, or a default without instructions if the tester fails."""
    try:
        plan = await build.ask(
            TESTER, "fix_plan", FixPlan, shares, goal=build.goal, plan=work.plan, step=work.shown(),
            diff=written.seen.diff, tests=outcome.shown, findings=outcome.findings_shown(), earlier=tried,
            guidance=build.guidance,
        )  # fmt: skip
    except AgentFailedError as error:
        build.answer("FIX_PLAN", outcome.correlation, str(error), work.step, error=error.error.reason)
        return {
            "diagnosis": "The tester could not be asked; the result of the tests says what fails.",
            "instructions": [],
        }
    instructions = plan.instructions
    build.answer(
        "FIX_PLAN",
        outcome.correlation,
        plan.diagnosis,
        work.step,
        instructions=instructions,
        files=plan.files,
    )
    return {"diagnosis": plan.diagnosis, "instructions": instructions}


async def _verify_step(build: Build, work: Work, written: Written, outcome: TestOutcome) -> None:
    """Apply the step gate and commit. An unverified step completes on its passing tests and is marked as
    such."""
    evidence = written.output.evidence
    critical = outcome.result.critical
    problems = step_problems(tests_pass=outcome.result.ok, evidence=evidence, critical=critical)
    await build.phase("verifying")
    judgement = await verify(
        build, "step", problems, work.step, (work.share,), plan=work.plan, step=work.shown(),
        diff=written.seen.diff, tests=outcome.shown, evidence=evidence, findings=outcome.findings_shown(),
    )  # fmt: skip
    if not judgement.passed and not judgement.unverified:
        raise AttemptFailedError(f"the step was not accepted: {'; '.join(judgement.reasons)}")
    await commit_step(build, work, written, outcome, verified=judgement.passed)
    correlation = judgement.correlation or build.request("STEP_COMPLETE", work.step.description, work.step)
    if judgement.correlation:
        build.answer("STEP_COMPLETE", correlation, work.step.description, work.step)
    build.step_changed(work.step, "completed", verified=judgement.passed)


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
            work = Work(step, plan_shown(plan), build.snapshot, share)
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
    """Carry out a sub-plan. The first failed step ends it, because the parent step cannot be complete any
    more."""
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
    """Return a plan as data for prompts."""
    return [
        {"label": step.label, "status": step.status, "description": step.description,
         "reason": step.fail_reason or ""}
        for step in plan.steps
    ]  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    met: bool
    missing: list[str]
    """Reasons why the goal is not met. The next plan starts from them."""


async def verify_goal(build: Build, plan: ExecutionPlan, base: str) -> Verdict:
    """Apply the goal gate. A goal that could not be verified counts as not achieved."""
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
