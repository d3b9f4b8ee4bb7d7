"""Gates: rules are checked first, then the supervisor verifies the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.workflows.build import events
from podium.workflows.build.context import AgentFailedError, Build, Share
from podium.workflows.build.contracts import CodeVerification, Verification
from podium.workflows.build.policy import THRESHOLDS, Gate, after_verification, passes
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
    """Result of a gate."""

    passed: bool
    by: str
    """`supervisor`, `rule`, or `nobody` if the supervisor could not be asked."""
    reasons: list[str]
    """Reasons against it, or possible improvements if it passed."""
    correlation: str = ""

    @property
    def unverified(self) -> bool:
        return self.by == "nobody"


async def verify(
    build: Build, gate: Gate, problems: list[str], of: PlanStep | None = None,
    shares: tuple[Share, ...] = (), /, **variables: Any,
) -> Judgement:  # fmt: skip
    """Apply a gate. A broken rule closes it without a model call; otherwise the supervisor's score
    decides."""
    if problems:
        _tell(build, gate, of, "rule", False, VerificationResult(False, 0.0, problems, "fix"), problems)
        return Judgement(False, "rule", problems)
    correlation = build.request("VERIFY_REQUEST", f"verify the {gate}", of, gate=gate)
    returns = CodeVerification if gate == "code" else Verification
    try:
        reply = await build.ask(SUPERVISOR, f"verify_{gate}", returns, shares, goal=build.goal, **variables)
    except AgentFailedError as error:
        build.answer("VERIFY_RESPONSE", correlation, str(error), of, gate=gate, error=error.error.reason)
        nothing = VerificationResult(False, 0.0, [], "continue", str(error))
        _tell(build, gate, of, "nobody", False, nothing, [])
        return Judgement(False, "nobody", [str(error)], correlation)
    return _judged(build, gate, of, reply, correlation)


def _judged(
    build: Build, gate: Gate, step: PlanStep | None, reply: Verification, correlation: str
) -> Judgement:
    security = reply.critical_security if isinstance(reply, CodeVerification) else []
    problems = [f"critical security finding: {found}" for found in security]
    passed = passes(gate, reply.score, verified=reply.verified, problems=problems)
    after = after_verification(build.standing, reply.score, passed=passed)
    result = VerificationResult(
        reply.verified, reply.score, list(reply.issues), reply.recommendation, reply.reason
    )
    said = reply.reason or "; ".join(reply.issues)
    build.answer(
        "VERIFY_RESPONSE", correlation, said, step, gate=gate, score=reply.score, passed=passed,
        recommendation=reply.recommendation,
    )  # fmt: skip
    _tell(build, gate, step, "supervisor", passed, result, problems, after.level, after.issues)
    reasons = [*problems, *reply.issues] or [
        reply.reason or f"the supervisor gave it {reply.score:g} of the {THRESHOLDS[gate]:g} that it needs"
    ]
    build.stand(after, ABOUT[gate], correlation, issues=reasons, score=reply.score, step=step)
    return Judgement(passed, "supervisor", reasons, correlation)


def _tell(
    build: Build, gate: Gate, step: PlanStep | None, by: str, passed: bool, result: VerificationResult,
    problems: list[str], level: str = "", issues: int | None = None,
) -> None:  # fmt: skip
    build.tell(
        events.Verified(
            gate=gate, step_id=step.id if step is not None else "", by=by, passed=passed,
            threshold=THRESHOLDS[gate], result=result, problems=problems,
            level=level or build.standing.level,
            issues=build.standing.issues if issues is None else issues,
        )
    )  # fmt: skip
