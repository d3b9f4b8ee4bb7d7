"""One step: attempts, each with its fix cycles; then, if it is blocked, a sub-plan that leads round it."""

from __future__ import annotations

from typing import Any

from podium.workflows.build.clock import Share, TimeSpentError
from podium.workflows.build.coding import AttemptFailedError, BlockedError, Work, Written, write
from podium.workflows.build.committing import commit_step
from podium.workflows.build.contracts import FixPlan
from podium.workflows.build.messages import TESTER
from podium.workflows.build.policy.gates import step_problems
from podium.workflows.build.policy.planning import MAX_DEPTH, may_split
from podium.workflows.build.policy.steps import may_attempt, may_fix
from podium.workflows.build.state import PlanStep
from podium.workflows.build.testing import Outcome, review, run_tests
from podium.workflows.build.verifying import verify
from podium.workflows.build.working import AgentFailedError, Build


async def attempt_step(build: Build, work: Work) -> str:
    """Do a step, in up to three attempts. Returns why it is blocked; nothing if it is done."""
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
    """Code, look at it, test it, fix it as long as tests fail, and ask whether the step is done."""
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
    """The code gate. Unverified work goes on: its tests will be run all the same."""
    output = written.output
    judgement = await verify(
        build, "code", written.problems, work.step, shares, plan=work.plan, step=work.shown(),
        code={"summary": output.summary, "evidence": output.evidence}, diff=written.seen.diff,
        caught=written.seen.suspected,
    )  # fmt: skip
    if not judgement.passed and not judgement.unverified:
        raise AttemptFailedError(f"the code was rejected: {'; '.join(judgement.reasons)}")


async def _fix(
    build: Build, work: Work, written: Written, outcome: Outcome, cycle: int, tried: list[str]
) -> tuple[Written, Outcome]:
    """One fix cycle. One that uses up its time is spent; the next may still help."""
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
    build: Build, work: Work, written: Written, outcome: Outcome, shares: tuple[Share, ...], tried: list[str]
) -> dict[str, Any]:
    """The tester's fix plan; without one, the bare failures have to do."""
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


async def _verify_step(build: Build, work: Work, written: Written, outcome: Outcome) -> None:
    """The step gate, and the commit. Unverified, a step completes on its passing tests, and says so."""
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
    """Why a blocked step gets no sub-plan; nothing if it may."""
    return "" if may_split(step.depth) else f"there are no sub-plans below depth {MAX_DEPTH}"
