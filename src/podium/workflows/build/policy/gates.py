"""The gates. Each is part rule, which a program checks, and part supervisor, who gives a score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

Gate = Literal["plan", "code", "test", "step", "goal"]

THRESHOLDS: dict[str, float] = {"plan": 70.0, "code": 60.0, "test": 60.0, "step": 70.0, "goal": 80.0}
"""The least score. Reviews of tests have none of their own and are measured like code."""


def passes(gate: Gate, score: float, *, verified: bool, problems: Sequence[str] = ()) -> bool:
    """Whether the supervisor's word opens a gate. No score makes up for a broken rule."""
    return verified and score >= THRESHOLDS[gate] and not problems


def code_problems(*, has_tests: bool, security: Sequence[str], caught: Sequence[str]) -> list[str]:
    """The rule part of the code gate: tests are included, no critical security finding, no trick."""
    problems = [] if has_tests else ["the change comes without tests"]
    problems += [f"critical security finding: {found}" for found in security]
    return problems + list(caught)


def step_problems(*, tests_pass: bool, evidence: str, critical: Sequence[str]) -> list[str]:
    """The rule part of the step gate: tests pass, there is evidence, the tester found nothing critical."""
    problems = [] if tests_pass else ["the tests do not pass"]
    problems += [] if evidence.strip() else ["there is no evidence that the step is done"]
    return problems + [f"critical finding of the tester: {found}" for found in critical]


def goal_problems(*, steps_acceptable: bool, suite_passes: bool) -> list[str]:
    """The rule part of the goal gate."""
    problems = [] if steps_acceptable else ["steps are not done, and not acceptably few of them"]
    return problems + ([] if suite_passes else ["the whole test suite does not pass"])
