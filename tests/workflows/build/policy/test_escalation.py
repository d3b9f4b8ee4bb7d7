"""From NONE to ABORT, at each threshold of score and count."""

from __future__ import annotations

import pytest

from podium.workflows.build.policy import (
    GUIDANCE,
    LEVELS,
    Standing,
    after_rule,
    after_verification,
    ends_the_run,
    level_of_count,
    level_of_score,
    rises,
)


@pytest.mark.parametrize(
    ("score", "level"),
    [
        (100, "NONE"),
        (70, "NONE"),
        (69.99, "REMIND"),
        (50, "REMIND"),
        (49.99, "CORRECT"),
        (30, "CORRECT"),
        (29.99, "REFOCUS"),
        (0, "REFOCUS"),
    ],
)
def test_the_level_of_a_score(score: float, level: str) -> None:
    assert level_of_score(score) == level


@pytest.mark.parametrize(
    ("issues", "level"),
    [(0, "NONE"), (1, "NONE"), (2, "CORRECT"), (3, "REFOCUS"), (4, "CRITICAL"), (5, "ABORT"), (6, "ABORT")],
)
def test_the_level_of_consecutive_issues(issues: int, level: str) -> None:
    assert level_of_count(issues) == level


def test_the_worse_of_both_counts() -> None:
    assert after_verification(Standing(1), 55, passed=False) == Standing(2, "CORRECT")
    assert after_verification(Standing(0), 20, passed=False) == Standing(1, "REFOCUS")
    assert after_verification(Standing(3), 69, passed=False) == Standing(4, "CRITICAL")
    assert after_verification(Standing(4), 69, passed=False) == Standing(5, "ABORT")


def test_any_pass_resets_the_count_and_a_code_score_of_65_still_reminds() -> None:
    assert after_verification(Standing(4, "CRITICAL"), 65, passed=True) == Standing(0, "REMIND")
    assert after_verification(Standing(4, "CRITICAL"), 70, passed=True) == Standing(0, "NONE")


def test_a_failed_step_is_an_issue_without_a_score() -> None:
    assert after_rule(Standing(0)) == Standing(1, "NONE")
    assert after_rule(Standing(1)) == Standing(2, "CORRECT")
    assert after_rule(Standing(4)) == Standing(5, "ABORT")
    assert after_rule(Standing(0, "REMIND")) == Standing(1, "REMIND")


def test_only_a_higher_level_rises_and_only_abort_ends_the_run() -> None:
    assert rises(Standing(0, "NONE"), Standing(1, "REMIND"))
    assert not rises(Standing(2, "CORRECT"), Standing(2, "CORRECT"))
    assert not rises(Standing(3, "REFOCUS"), Standing(0, "REMIND"))
    assert [level for level in LEVELS if ends_the_run(Standing(0, level))] == ["ABORT"]


def test_every_level_between_has_guidance_of_its_own() -> None:
    assert list(GUIDANCE) == ["REMIND", "CORRECT", "REFOCUS", "CRITICAL"]
    assert len(set(GUIDANCE.values())) == 4
