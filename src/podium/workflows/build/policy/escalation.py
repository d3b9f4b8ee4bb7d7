"""How loud the supervisor becomes: the worse of how good the last work was and how many bad ones in a row."""

from __future__ import annotations

import msgspec

LEVELS = ("NONE", "REMIND", "CORRECT", "REFOCUS", "CRITICAL", "ABORT")
BY_SCORE = ((70.0, "NONE"), (50.0, "REMIND"), (30.0, "CORRECT"), (0.0, "REFOCUS"))
"""The lowest score of each level that a score alone can cause."""
BY_COUNT = {2: "CORRECT", 3: "REFOCUS", 4: "CRITICAL", 5: "ABORT"}
"""Consecutive issues; one alone causes nothing beyond its score."""
GUIDANCE = {
    "REMIND": "Good enough to go on, but not good. Look at what was said about it and do better now.",
    "CORRECT": "This goes in a wrong direction. Change course: do what is listed here before anything else.",
    "REFOCUS": "Stop what you were doing. Read the goal and the current step again, leave the last approach "
    "behind, and do only what the step asks for.",
    "CRITICAL": "Last warning: one more rejected result ends the run. Do the smallest thing that certainly "
    "meets the step, and check it against every point listed here.",
}


class Standing(msgspec.Struct, frozen=True):
    """Where the run stands: issues in a row over the whole run, and the level."""

    issues: int = 0
    level: str = "NONE"


def level_of_score(score: float) -> str:
    return next((level for least, level in BY_SCORE if score >= least), "REFOCUS")


def level_of_count(issues: int) -> str:
    return BY_COUNT.get(min(issues, max(BY_COUNT)), "NONE")


def worse(one: str, other: str) -> str:
    return max(one, other, key=LEVELS.index)


def after_verification(before: Standing, score: float, *, passed: bool) -> Standing:
    """A pass resets the count; its score may still call for a reminder. A verification below its gate is one
    more issue."""
    issues = 0 if passed else before.issues + 1
    return Standing(issues, worse(level_of_score(score), level_of_count(issues)))


def after_failed_step(before: Standing) -> Standing:
    """A failed step is an issue without a score."""
    issues = before.issues + 1
    return Standing(issues, worse(before.level, level_of_count(issues)))


def rises(before: Standing, after: Standing) -> bool:
    return LEVELS.index(after.level) > LEVELS.index(before.level)


def ends_the_run(standing: Standing) -> bool:
    return standing.level == "ABORT"
