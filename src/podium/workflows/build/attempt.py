"""One step: attempts, objections, fix cycles, and the commit."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Any

import msgspec

from podium.report.words import one_line
from podium.workflows.build import events
from podium.workflows.build.clock import TimeSpentError
from podium.workflows.build.coder import AttemptFailedError, BlockedError, Work, Written, write
from podium.workflows.build.context import Build
from podium.workflows.build.policy import (
    FINISHING_S,
    code_problems,
    critical_problems,
    may_attempt,
    may_fix,
    newly_fixed,
    step_problems,
)
from podium.workflows.build.supervisor import close_by_rule, verify_step
from podium.workflows.build.tester import TestOutcome, plan_fix, review, run_tests
from podium.workflows.build.workspace import Answers

SUBJECT = 72
LONGEST_PROBE_S = 90.0
"""Maximum seconds for trying new functions with fresh inputs."""


async def commit_step(
    build: Build, work: Work, written: Written, outcome: TestOutcome, *, verified: bool
) -> None:
    """Commit the changes of a step. Later steps build on this commit."""
    message = message_of(work, written, outcome, verified=verified)
    sha = await committed(build, written.snapshot, message)
    build.snapshot = build.latest = sha
    build.done.append(done_of(work, written, outcome))
    build.removed_tests.update(written.seen.removed_tests)
    build.fixed_tests.update(outcome.result.fixed)
    build.emit(
        events.Committed(
            step_id=work.step.id, sha=sha, message=message.partition("\n")[0], files=written.seen.files
        )
    )


def done_of(work: Work, written: Written, outcome: TestOutcome) -> dict[str, Any]:
    """Return what a finished step did, for later steps and for the result."""
    output = written.output
    return {
        "label": work.step.label,
        "description": work.step.description,
        "summary": output.summary,
        "why": output.why,
        "files": output.files,
        "evidence": output.evidence,
        "risks": output.risks,
        "tests": outcome.result.counted(),
    }


async def commit_unfinished(build: Build, message: str) -> str:
    """Commit unfinished work when time is up. A resumed run replaces it with the finished step."""
    sha = await committed(build, build.latest, message)
    step = build.state.current_step
    subject = message.partition("\n")[0]
    build.emit(
        events.Committed(
            step_id=step.id if step is not None else "", sha=sha, message=subject, files=[], complete=False
        )
    )
    return sha


async def committed(build: Build, snapshot: str, message: str) -> str:
    """Commit a snapshot. A commit is finished even if time is up."""
    async with build.run.closing(grace=FINISHING_S):
        return await build.run.step("commit", build.workspace.commit, snapshot, message, returns=str)


def message_of(work: Work, written: Written, outcome: TestOutcome, *, verified: bool) -> str:
    """Return the commit message: the coder's own summary and reason, then what shows that it works."""
    step, result, output = work.step, outcome.result, written.output
    lines = [one_line(output.summary or step.description, SUBJECT), ""]
    lines += [*textwrap.wrap(output.why, SUBJECT), ""] if output.why else []
    lines += [
        one_line(f"Step {step.label}: {step.description}", 200),
        f"Tests: {result.counted()} ({one_line(result.command, 200) or result.framework})",
        f"Evidence: {one_line(output.evidence, 500)}",
    ]
    lines += [f"Risk: {one_line(risk, 300)}" for risk in output.risks[:5]]
    lines += [] if verified else ["Not verified by the supervisor."]
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
                return str(error)
            except TimeSpentError as error:
                return str(error)
            else:
                return ""
        build.latest = work.before
        build.step_changed(step, "in_progress", work.failed[-1])
    return f"{step.attempts} attempts did not pass; the last: {work.failed[-1].partition(': ')[2]}"


@dataclass(frozen=True)
class Objection:
    """Reasons why a change is not done yet, and what to do about them."""

    reasons: list[str]
    diagnosis: str
    instructions: list[str] = field(default_factory=list[str])
    files: list[str] = field(default_factory=list[str])

    def shown(self) -> dict[str, Any]:
        """Return it as data for a prompt."""
        return {"diagnosis": self.diagnosis, "instructions": self.instructions, "files": self.files}


async def _attempt(build: Build, work: Work) -> None:
    """Make one attempt: code and test; while anything speaks against it, fix and test again; commit."""
    work.refusals = 0
    await build.phase("executing")
    written = await write(build, work, "code", work.before, 0, (work.share,), failed=work.failed)
    outcome = await run_tests(build, work, written, 0, (work.share,))
    tried: list[str] = []
    cycle = 0
    while (objection := await _objection(build, work, written, outcome, cycle, tried)) is not None:
        if not may_fix(cycle):
            raise AttemptFailedError(f"not accepted after {cycle} fixes: {'; '.join(objection.reasons)}")
        cycle += 1
        async with build.run.branch("cycle"):
            written, outcome = await _fix(build, work, written, outcome, objection, cycle, tried)


async def _objection(
    build: Build, work: Work, written: Written, outcome: TestOutcome, cycle: int, tried: list[str]
) -> Objection | None:
    """Return what speaks against a change: rules, failing tests, then tester and supervisor. If nothing does,
    the step is committed and None returned."""
    async with build.run.branch("check", key=str(cycle)):
        problems = await _rule_problems(build, work, written, outcome)
        if problems:
            close_by_rule(build, "code", problems, work.step)
            return Objection(problems, "A program refused the change. Its reasons stand above.")
        if not outcome.result.ok:
            if not may_fix(cycle):
                return Objection([f"the tests still fail: {outcome.result.counted()}"], "")
            plan = await plan_fix(build, work, written, outcome, (work.share,), tried)
            reasons = [f"the tests fail: {outcome.result.counted()}"]
            return Objection(reasons, plan.diagnosis, list(plan.instructions), list(plan.files))
        if unproven := step_problems(tests_pass=True, evidence=written.output.evidence):
            close_by_rule(build, "step", unproven, work.step)
            return Objection(unproven, "The submission is incomplete.")
        outcome = await review(build, work, written, outcome)
        return await _verify_step(build, work, written, outcome)


async def _rule_problems(build: Build, work: Work, written: Written, outcome: TestOutcome) -> list[str]:
    """Return the broken rules of the code gate. Whether code holds the answers of its tests is tried only if
    they pass."""
    seen, result = written.seen, outcome.result
    answers = Answers()
    if result.ok and not seen.caught:
        seconds, _ = await build.clock.time_out(work.share)

        async def probe(before: str, after: str) -> Answers:
            return await build.workspace.find_answers(before, after, min(seconds, LONGEST_PROBE_S))

        answers = await build.run.step("answers", probe, work.before, written.snapshot, returns=Answers)
    problems = code_problems(
        has_tests=seen.has_tests,
        fixed=newly_fixed(result.fixed, build.fixed_tests, seen.changed_tests),
        missing=result.missing,
        skipped=outcome.newly_skipped,
        security=seen.security,
        caught=[*seen.caught, *answers.caught],
    )
    if problems or answers.suspected:
        seen.suspected.extend(answers.suspected)
        output = msgspec.structs.replace(written.output, caught=problems, suspected=answers.suspected)
        build.emit(events.Coded(step_id=work.step.id, output=output))
    return problems


async def _fix(
    build: Build,
    work: Work,
    written: Written,
    outcome: TestOutcome,
    objection: Objection,
    cycle: int,
    tried: list[str],
) -> tuple[Written, TestOutcome]:
    """Run one fix cycle. A cycle that uses up its time is lost, but the next one may still help."""
    shares = (work.share, await build.clock.share_of_cycle(work.share))
    try:
        await build.phase("executing")
        written = await write(
            build,
            work,
            "fix",
            written.snapshot,
            cycle,
            shares,
            earlier=written.output,
            diff=written.seen.diff,
            tests=outcome.shown,
            reasons=objection.reasons,
            fix_plan=objection.shown(),
        )
        outcome = await run_tests(build, work, written, cycle, shares)
    except TimeSpentError as error:
        if error.scope == work.share.scope:
            raise
        tried.append(f"fix {cycle} ran out of its time")
        return written, outcome
    diagnosis = objection.diagnosis or "; ".join(objection.reasons)
    tried.append(f"{diagnosis} Then: {outcome.result.counted()}")
    return written, outcome


async def _verify_step(build: Build, work: Work, written: Written, outcome: TestOutcome) -> Objection | None:
    """Apply the gates of a step whose tests pass, and commit it. An unverified step completes on its passing
    tests and is marked as such."""
    output, result = written.output, outcome.result
    await build.phase("verifying")
    judgement = await verify_step(
        build,
        work,
        critical_problems(result.critical),
        outcome.reviewed,
        **work.shown(),
        done=build.done,
        code={
            "summary": output.summary,
            "why": output.why,
            "evidence": output.evidence,
            "risks": output.risks,
        },
        caught=written.seen.suspected,
        diff=written.seen.diff,
        tests=outcome.shown,
        review={
            "summary": result.summary,
            "findings": outcome.findings_shown(),
            "edge_cases": result.edge_cases,
        },
    )
    if outcome.reviewed and judgement.review_passed:
        step = work.step
        build.emit(events.TestsRun(step_id=step.id, attempt=step.attempts, cycle=output.cycle, result=result))
    if not judgement.passed and not judgement.unverified:
        if judgement.recommendation == "replan":
            raise BlockedError(f"the supervisor wants another plan: {'; '.join(judgement.reasons)}")
        instructions = [finding.suggestion for finding in result.findings if finding.suggestion]
        return Objection(judgement.reasons, "The step was not accepted.", instructions)
    await commit_step(build, work, written, outcome, verified=judgement.passed)
    build.goal_verdict = judgement.goal
    correlation = judgement.correlation or build.request("STEP_COMPLETE", work.step.description, work.step)
    if judgement.correlation:
        build.answer("STEP_COMPLETE", correlation, work.step.description, work.step)
    build.step_changed(work.step, "completed", verified=judgement.passed)
    return None
