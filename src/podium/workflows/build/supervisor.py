"""Gates: rules are checked first, then the supervisor verifies the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from podium.workflows.build import events
from podium.workflows.build.clock import Share
from podium.workflows.build.coder import Work
from podium.workflows.build.context import AbortedError, AgentFailedError, Build
from podium.workflows.build.contracts import OnlyStepVerification, StepVerification, Verification
from podium.workflows.build.policy import (
    CLOSING_RECOMMENDATIONS,
    THRESHOLDS,
    Gate,
    after_rule,
    after_verification,
    passes,
)
from podium.workflows.build.state import SUPERVISOR, PlanStep, VerificationResult

ABOUT: dict[str, str] = {
    "plan": "planner",
    "code": "coder",
    "test": "tester",
    "step": "coder",
    "goal": "planner",
}
"""The role whose work each gate verifies."""


@dataclass(frozen=True)
class Judgement:
    """Result of a gate, or of the gates of a step."""

    passed: bool
    by: str
    """`supervisor`, `rule`, or `nobody` if the supervisor could not be asked."""
    reasons: list[str]
    """Reasons against it, or possible improvements if it passed."""
    correlation: str = ""
    recommendation: str = "fix"
    """`fix` or `replan`, if it did not pass."""
    goal: Verification | None = None
    """The verdict on the goal, if the step was the whole plan."""
    review_passed: bool = True
    """The tester's review may be believed."""

    @property
    def unverified(self) -> bool:
        return self.by == "nobody"


class Rated(NamedTuple):
    """One gate of a reply."""

    gate: Gate
    score: float
    problems: list[str]
    """Broken rules, which no score outweighs."""
    verified: bool = True

    @property
    def passed(self) -> bool:
        return passes(self.gate, self.score, verified=self.verified, problems=self.problems)


async def verify(
    build: Build,
    gate: Gate,
    problems: list[str],
    of: PlanStep | None = None,
    shares: tuple[Share, ...] = (),
    /,
    **variables: Any,
) -> Judgement:
    """Apply a gate. A broken rule closes it without a model call; otherwise the supervisor's score
    decides."""
    if problems:
        return close_by_rule(build, gate, problems, of, counts=gate != "goal")
    correlation = build.request("VERIFY_REQUEST", f"verify the {gate}", of, gate=gate)
    try:
        reply = await build.ask(
            SUPERVISOR, f"verify_{gate}", Verification, shares, threshold=THRESHOLDS[gate], **variables
        )
    except AgentFailedError as error:
        return _unverified(build, gate, of, correlation, error)
    return judge(build, gate, of, reply, correlation)


def judge(build: Build, gate: Gate, of: PlanStep | None, reply: Verification, correlation: str) -> Judgement:
    """Apply a gate to the supervisor's verdict."""
    return _judged(build, [Rated(gate, reply.score, [], reply.verified)], of, reply, correlation)


def close_by_rule(
    build: Build, gate: Gate, problems: list[str], of: PlanStep | None = None, *, counts: bool = True
) -> Judgement:
    """Close a gate by rule. That counts as an issue, unless the same was counted before."""
    after = after_rule(build.standing) if counts else build.standing
    result = VerificationResult(False, 0.0, problems, "fix")
    _emit(build, gate, of, "rule", False, result, problems, after.level, after.issues)
    correlation = build.request("VERIFY_REQUEST", f"verify the {gate}", of, gate=gate, by="rule")
    build.answer(
        "VERIFY_RESPONSE", correlation, "; ".join(problems), of, gate=gate, passed=False, recommendation="fix"
    )
    if counts:
        build.stand(after, ABOUT[gate], correlation, issues=problems, step=of)
    return Judgement(False, "rule", problems, correlation)


async def verify_step(
    build: Build, work: Work, findings: list[str], reviewed: bool, **variables: Any
) -> Judgement:
    """Apply the gates of a step with passing tests by one verdict: on the change, on the tester's review, and
    on the step. `findings` are critical ones of the tester, which close the step if the review itself
    passes."""
    step = work.step
    correlation = build.request("VERIFY_REQUEST", "verify the step", step, gate="step")
    returns = OnlyStepVerification if work.is_whole_goal else StepVerification
    try:
        reply: StepVerification = await build.ask(
            SUPERVISOR,
            "verify_step",
            returns,
            (work.share,),
            thresholds=THRESHOLDS,
            whole_goal=work.is_whole_goal,
            **variables,
        )
    except AgentFailedError as error:
        return _unverified(build, "step", step, correlation, error)
    security = [f"critical security finding: {finding}" for finding in reply.critical_security]
    rated = [Rated("code", reply.code_score, security)]
    review = Rated("test", reply.review_score, [])
    rated += [review] if reviewed else []
    critical = findings if review.passed else []
    rated.append(Rated("step", reply.score, critical, reply.verified))
    return _judged(build, rated, step, reply, correlation)


def _judged(
    build: Build, rated: list[Rated], step: PlanStep | None, reply: Verification, correlation: str
) -> Judgement:
    """Emit the result of every gate, escalate once, and honour the recommendation."""
    failing = [one for one in rated if not one.passed and one.gate != "test"]
    closed = reply.recommendation in CLOSING_RECOMMENDATIONS
    passed = not failing and not closed
    worst = failing[0] if failing else min(rated, key=lambda one: (one.gate == "test", one.score))
    after = after_verification(build.standing, worst.score, passed=passed)
    result = VerificationResult(
        reply.verified, worst.score, list(reply.issues), reply.recommendation, reply.reason
    )
    build.answer(
        "VERIFY_RESPONSE",
        correlation,
        reply.reason or "; ".join(reply.issues),
        step,
        gate=rated[-1].gate,
        score=worst.score,
        passed=passed,
        recommendation=reply.recommendation,
    )
    for gate in rated:
        opened = gate.passed and not (closed and gate is rated[-1])
        own = VerificationResult(
            result.verified, gate.score, result.issues, result.recommendation, result.reason
        )
        _emit(build, gate.gate, step, "supervisor", opened, own, gate.problems, after.level, after.issues)
    problems = [problem for gate in failing for problem in gate.problems]
    reasons = [*problems, *reply.issues] or [_why(reply, worst)]
    build.stand(after, ABOUT[worst.gate], correlation, issues=reasons, score=worst.score, step=step)
    if not passed and reply.recommendation == "abort":
        why = f"it recommends to abort: {'; '.join(reasons)}"
        build.answer("ABORT", correlation, why, step)
        raise AbortedError(why)
    goal = None
    if isinstance(reply, OnlyStepVerification):
        goal = Verification(
            verified=reply.goal_met,
            score=reply.goal_score,
            issues=reply.missing,
            recommendation="continue",
            reason=reply.reason,
        )
    believed = all(one.passed for one in rated if one.gate == "test")
    return Judgement(passed, "supervisor", reasons, correlation, reply.recommendation, goal, believed)


def _why(reply: Verification, gate: Rated) -> str:
    return reply.reason or f"the supervisor gave it {gate.score:g} of the {THRESHOLDS[gate.gate]:g} it needs"


def _unverified(
    build: Build, gate: Gate, step: PlanStep | None, correlation: str, error: AgentFailedError
) -> Judgement:
    build.answer("VERIFY_RESPONSE", correlation, str(error), step, gate=gate, error=error.error.reason)
    nothing = VerificationResult(False, 0.0, [], "continue", str(error))
    _emit(build, gate, step, "nobody", False, nothing, [])
    return Judgement(False, "nobody", [str(error)], correlation)


def _emit(
    build: Build,
    gate: Gate,
    step: PlanStep | None,
    by: str,
    passed: bool,
    result: VerificationResult,
    problems: list[str],
    level: str = "",
    issues: int | None = None,
) -> None:
    build.emit(
        events.Verified(
            gate=gate,
            step_id=step.id if step is not None else "",
            by=by,
            passed=passed,
            threshold=THRESHOLDS[gate],
            result=result,
            problems=problems,
            level=level or build.standing.level,
            issues=build.standing.issues if issues is None else issues,
        )
    )
