"""Test runs, and the tester's review of the change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from podium.workflows.build import events
from podium.workflows.build.coder import Work, Written
from podium.workflows.build.context import AgentFailedError, Build, Share
from podium.workflows.build.contracts import Review
from podium.workflows.build.state import TESTER, Finding, TestResult
from podium.workflows.build.supervisor import verify
from podium.workflows.build.workspace import Tested

LONGEST_TEST_RUN_S = 900.0
"""Maximum seconds of a single test run, even if more time is left."""


@dataclass(frozen=True)
class TestOutcome:
    """Result of a test run, with the tester's review."""

    result: TestResult
    shown: str
    correlation: str

    def findings_shown(self) -> list[dict[str, Any]]:
        return [msgspec.to_builtins(one) for one in self.result.findings]


async def run_tests(
    build: Build, work: Work, written: Written, cycle: int, shares: tuple[Share, ...],
    findings: list[Finding] | None = None,
) -> TestOutcome:  # fmt: skip
    """Run the tests and return the actual result. `findings` are those of this attempt's review."""
    await build.phase("testing")
    correlation = build.request(
        "TEST_REQUEST", work.step.description, work.step, attempt=work.step.attempts, cycle=cycle
    )
    seconds, _ = await build.clock.time_out(*shares)
    tested = await tested_at(build, written.snapshot, seconds)
    result = msgspec.structs.replace(tested.result, findings=findings or [])
    build.tell(events.TestsRun(step_id=work.step.id, attempt=work.step.attempts, cycle=cycle, result=result))
    if cycle:
        build.answer("TEST_RESPONSE", correlation, result.counted(), work.step, ok=result.ok)
    return TestOutcome(result, tested.shown, correlation)


async def tested_at(build: Build, snapshot: str, seconds: float) -> Tested:
    """Run the tests on a snapshot. The timeout is not an input of the step, so it never invalidates a
    recorded result."""
    most = min(seconds, LONGEST_TEST_RUN_S)

    async def test(snapshot: str) -> Tested:
        return await build.ground.test(snapshot, most)

    tested = await build.run.step("tests", test, snapshot, returns=Tested)
    for warning in tested.warnings:
        if warning not in build.warnings:
            build.warn(warning)
    return tested


async def review(build: Build, work: Work, written: Written, outcome: TestOutcome) -> TestOutcome:
    """Let the tester review the change and the supervisor verify the review. If the review fails or is
    rejected, return the plain result."""
    step, shares = work.step, (work.share,)
    try:
        reply = await build.ask(
            TESTER, "test_review", Review, shares, goal=build.goal, plan=work.plan, step=work.shown(),
            diff=written.seen.diff, tests=outcome.shown, guidance=build.guidance,
        )  # fmt: skip
    except AgentFailedError as error:
        said = f"{outcome.result.counted()} ({error})"
        build.answer(
            "TEST_RESPONSE", outcome.correlation, said, step, ok=outcome.result.ok, error=error.error.reason
        )
        return outcome
    findings = [
        Finding(one.severity, one.description, one.kind, one.file, one.suggestion) for one in reply.findings
    ]
    reviewed = msgspec.structs.replace(
        outcome.result, summary=reply.summary, findings=findings, edge_cases=list(reply.edge_cases)
    )
    build.answer(
        "TEST_RESPONSE", outcome.correlation, f"{reviewed.counted()}. {reply.summary}", step, ok=reviewed.ok,
        findings=[msgspec.to_builtins(one) for one in findings],
    )  # fmt: skip
    judgement = await verify(
        build, "test", [], step, shares, plan=work.plan, step=work.shown(), diff=written.seen.diff,
        tests=outcome.shown,
        review={"summary": reply.summary, "findings": [msgspec.to_builtins(one) for one in findings],
                "edge_cases": list(reply.edge_cases)},
    )  # fmt: skip
    if not judgement.passed and not judgement.unverified:
        return outcome
    build.tell(events.TestsRun(step_id=step.id, attempt=step.attempts, cycle=0, result=reviewed))
    return TestOutcome(reviewed, outcome.shown, outcome.correlation)
