"""Test runs compared with the baseline, the tester's review, and its fix plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from podium.workflows.build import events
from podium.workflows.build.clock import Share
from podium.workflows.build.coder import Work, Written
from podium.workflows.build.context import AgentFailedError, Build
from podium.workflows.build.contracts import FixPlan, Review
from podium.workflows.build.state import TESTER, Finding, TestResult
from podium.workflows.build.workspace import Tested, against_baseline

LONGEST_TEST_RUN_S = 900.0
"""Maximum seconds of a single test run, even if more time is left."""


@dataclass(frozen=True)
class TestOutcome:
    """Result of a test run, with the tester's review."""

    result: TestResult
    shown: str
    correlation: str
    newly_skipped: list[str]
    """Tests that ran in the baseline and are skipped now."""
    reviewed: bool = False

    def findings_shown(self) -> list[dict[str, Any]]:
        return msgspec.to_builtins(self.result.findings)


async def run_tests(
    build: Build, work: Work, written: Written, cycle: int, shares: tuple[Share, ...]
) -> TestOutcome:
    """Run the tests and return the actual result, compared with the run before any change."""
    await build.phase("testing")
    correlation = build.request(
        "TEST_REQUEST", work.step.description, work.step, attempt=work.step.attempts, cycle=cycle
    )
    seconds, _ = await build.clock.time_out(*shares)
    tested = await suite_at(build, written.snapshot, seconds, written.seen.removed_tests)
    result = tested.result
    build.emit(events.TestsRun(step_id=work.step.id, attempt=work.step.attempts, cycle=cycle, result=result))
    if not result.ok:
        build.answer("TEST_RESPONSE", correlation, result.counted(), work.step, ok=False)
    return TestOutcome(result, tested.shown, correlation, tested.newly_skipped)


async def suite_at(build: Build, snapshot: str, seconds: float, removed: Sequence[str] = ()) -> Tested:
    """Run the tests on a snapshot. The timeout is not an input of the step, so it never invalidates a
    recorded result."""
    most = min(seconds, LONGEST_TEST_RUN_S)

    async def test(snapshot: str) -> Tested:
        return await build.workspace.test(snapshot, most)

    tested = await build.run.step("tests", test, snapshot, returns=Tested)
    build.warn_once(tested.warnings)
    return against_baseline(build.baseline, tested, [*build.removed_tests, *removed])


async def review(build: Build, work: Work, written: Written, outcome: TestOutcome) -> TestOutcome:
    """Let the tester review a change with passing tests. If it cannot be asked, return the plain result."""
    step = work.step
    try:
        reply = await build.ask(
            TESTER,
            "test_review",
            Review,
            (work.share,),
            **work.shown(),
            code={
                "summary": written.output.summary,
                "why": written.output.why,
                "evidence": written.output.evidence,
                "risks": written.output.risks,
            },
            diff=written.seen.diff,
            tests=outcome.shown,
        )
    except AgentFailedError as error:
        summary = f"{outcome.result.counted()} ({error})"
        build.answer(
            "TEST_RESPONSE",
            outcome.correlation,
            summary,
            step,
            ok=outcome.result.ok,
            error=error.error.reason,
        )
        return outcome
    findings = [Finding(**finding.model_dump()) for finding in reply.findings]
    result = msgspec.structs.replace(
        outcome.result, summary=reply.summary, findings=findings, edge_cases=list(reply.edge_cases)
    )
    build.answer(
        "TEST_RESPONSE",
        outcome.correlation,
        f"{result.counted()}. {reply.summary}",
        step,
        ok=result.ok,
        findings=msgspec.to_builtins(findings),
    )
    return TestOutcome(result, outcome.shown, outcome.correlation, outcome.newly_skipped, reviewed=True)


async def plan_fix(
    build: Build,
    work: Work,
    written: Written,
    outcome: TestOutcome,
    shares: tuple[Share, ...],
    tried: list[str],
) -> FixPlan:
    """Return the tester's plan for failing tests, or a default without instructions if it cannot be
    asked."""
    try:
        plan = await build.ask(
            TESTER,
            "fix_plan",
            FixPlan,
            shares,
            **work.shown(),
            diff=written.seen.diff,
            tests=outcome.shown,
            earlier=tried,
        )
    except AgentFailedError as error:
        build.answer("FIX_PLAN", outcome.correlation, str(error), work.step, error=error.error.reason)
        diagnosis = "The tester could not be asked; the result of the tests says what fails."
        return FixPlan(diagnosis=diagnosis, instructions=[])
    build.answer(
        "FIX_PLAN",
        outcome.correlation,
        plan.diagnosis,
        work.step,
        instructions=plan.instructions,
        files=plan.files,
    )
    return plan
