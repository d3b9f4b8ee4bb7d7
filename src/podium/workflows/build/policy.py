"""Rules and numbers of `build`.

| what | where |
|---|---|
| what a plan and a sub-plan must look like, revisions, iterations | `planning` |
| attempts, fix cycles, depth, what a failed step means for the others | `steps` |
| the gates of plan, code, tests, step and goal | `gates` |
| what a program can hold against a change | `catching` |
| reminders, corrections, the end | `escalation` |
| who may take how long | `time` |
| what stands in for an agent that fails | `recovery` |

Finding suspicious things is the business of `podium.tools.testing`; here is decided which of them close the
code gate at once, and which are only shown to the supervisor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from podium.workflows.build.state import ExecutionPlan, PlanStep

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


LEAST_STEPS, MOST_STEPS = 2, 15
MAX_REVISIONS = 3
"""A plan that is still not approved after so many ends the run."""
MAX_DEPTH = 3
SUBPLAN_STEPS = {1: 5, 2: 3, 3: 2}
"""The most steps of a sub-plan, by its depth."""
MAX_ITERATIONS = 3
"""How often a plan is made when `--max-iterations` says nothing; 0: until time expires."""
LEAST_WORDS = 2
"""A description of fewer words says nothing that anybody could do."""


def plan_problems(plan: ExecutionPlan, *, fallback: bool = False) -> list[str]:
    """The rule part of the plan gate. The one-step fallback and sub-plans are exempt from 2 to 15."""
    problems = size_problems(plan, fallback=fallback)
    problems += [
        f"step {step.number} says nothing that could be done"
        for step in plan.steps
        if not is_actionable(step)
    ]
    return problems + dependency_problems(plan.steps)


def size_problems(plan: ExecutionPlan, *, fallback: bool = False) -> list[str]:
    count = len(plan.steps)
    if fallback:
        return []
    if plan.depth == 0 and not LEAST_STEPS <= count <= MOST_STEPS:
        return [f"a plan has {LEAST_STEPS} to {MOST_STEPS} steps, this one has {count}"]
    if plan.depth and not 1 <= count <= SUBPLAN_STEPS[plan.depth]:
        most = SUBPLAN_STEPS[plan.depth]
        return [f"a sub-plan of depth {plan.depth} has 1 to {most} steps, this one has {count}"]
    return []


def is_actionable(step: PlanStep) -> bool:
    return len(step.description.split()) >= LEAST_WORDS


def dependency_problems(steps: Sequence[PlanStep]) -> list[str]:
    """Dependencies on steps that are not there, on oneself, and round in a circle."""
    known = {step.id for step in steps}
    problems = [
        f"step {step.number} depends on {needed}, which is not in the plan"
        for step in steps
        for needed in step.depends_on
        if needed not in known
    ]
    circle = circle_of(steps)
    return problems + ([f"steps {', '.join(circle)} depend on each other in a circle"] if circle else [])


def circle_of(steps: Sequence[PlanStep]) -> list[str]:
    """The numbers of steps that can never begin, because they wait for each other."""
    known = {step.id for step in steps}
    waiting = {step.id: {needed for needed in step.depends_on if needed in known} for step in steps}
    while free := [key for key, needs in waiting.items() if not needs]:
        for key in free:
            del waiting[key]
        for needs in waiting.values():
            needs.difference_update(free)
    return [str(step.number) for step in steps if step.id in waiting]


def may_revise(revisions: int) -> bool:
    return revisions < MAX_REVISIONS


def may_split(depth: int) -> bool:
    """Whether a step of a plan at this depth may get a sub-plan, which lies one deeper."""
    return depth < MAX_DEPTH


def may_iterate(iteration: int, most: int) -> bool:
    """Whether another plan is made after this iteration. Time may still forbid it."""
    return most == 0 or iteration < most


MAX_ATTEMPTS = 3
MAX_FIX_CYCLES = 3
"""Per attempt."""
MAX_LOOK_UPS = 10
"""How often the coder may read a file or search, per step."""
ACCEPTABLE_FAILURES = 0.20
"""Share of a plan's steps that may fail without the goal being out of reach."""


def may_attempt(attempts: int) -> bool:
    return attempts < MAX_ATTEMPTS


def may_fix(cycles: int) -> bool:
    return cycles < MAX_FIX_CYCLES


def next_step(steps: Sequence[PlanStep]) -> PlanStep | None:
    """The first step that is still to do and whose dependencies are done."""
    done = {step.id for step in steps if step.status == "completed"}
    return next(
        (step for step in steps if step.status == "pending" and done.issuperset(step.depends_on)), None
    )


def doomed_by(failed: PlanStep, steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Every step that needs the failed one, directly or through others, in the plan's order."""
    lost = {failed.id}
    while more := {s.id for s in steps if s.id not in lost and lost.intersection(s.depends_on)}:
        lost |= more
    return [step for step in steps if step.id in lost and step.id != failed.id]


def blocked_reason(failed: PlanStep) -> str:
    return f"needs step {failed.number}, which failed"


def are_done_or_acceptable(steps: Sequence[PlanStep]) -> bool:
    """All steps are done; or at most a fifth failed, and none that others needed."""
    failed = [step for step in steps if step.status == "failed"]
    if any(step.status not in ("completed", "failed") for step in steps):
        return False
    needed = {key for step in steps for key in step.depends_on}
    few = len(failed) <= ACCEPTABLE_FAILURES * len(steps)
    return few and not any(step.id in needed for step in failed)


DEFAULT_LIMIT_S = 7200.0
PLANNING_SHARE, PLANNING_MOST_S = 0.10, 900.0
EXECUTION_SHARE = 0.80
VERIFICATION_SHARE, VERIFICATION_MOST_S = 0.10, 600.0
FIX_CYCLE_SHARE = 0.30
"""Of a step's own time."""
SHUTDOWN_SHARE = 1 / 60
"""What committing and reporting may take when time is up: two minutes of two hours …"""
SHUTDOWN_LEAST_S, SHUTDOWN_MOST_SHARE = 5.0, 0.10
"""… five seconds at least, but never more than a tenth."""
FINISHING_S = 15.0
"""How long a commit or a report that was begun may take although time is up: neither is left half done."""


class Allocation(msgspec.Struct, frozen=True):
    """A time limit, divided. All in seconds."""

    total: float
    planning: float
    execution: float
    verification: float
    reserve: float
    """What the caps of planning and verification leave over."""

    @property
    def shutdown(self) -> float:
        least = min(SHUTDOWN_LEAST_S, SHUTDOWN_MOST_SHARE * self.total)
        return max(SHUTDOWN_SHARE * self.total, least)

    @property
    def shutdown_comes_out_of(self) -> str:
        """The reserve where there is enough of it; otherwise verification gives way."""
        return "reserve" if self.reserve >= self.shutdown else "verification"

    @property
    def verification_left(self) -> float:
        """Verification, less the shutdown if that comes out of it."""
        taken = self.shutdown if self.shutdown_comes_out_of == "verification" else 0.0
        return self.verification - taken


def allocate(total: float) -> Allocation:
    """Divide a limit: a tenth (at most 15 minutes) to plan, 80 % to work, a tenth (at most 10 minutes) to
    verify. A later iteration divides what is left in the same way."""
    planning = min(PLANNING_SHARE * total, PLANNING_MOST_S)
    execution = EXECUTION_SHARE * total
    verification = min(VERIFICATION_SHARE * total, VERIFICATION_MOST_S)
    return Allocation(total, planning, execution, verification, total - planning - execution - verification)


def execution_window(allocation: Allocation, elapsed: float) -> float:
    """How long execution may still take when it begins `elapsed` seconds into the iteration: its share, and
    never what verification and shutdown need."""
    kept = allocation.verification_left + allocation.shutdown
    return max(min(allocation.execution, allocation.total - elapsed - kept), 0.0)


def step_budget(execution: float, steps: int) -> float:
    """Every step of a plan may take as long as every other."""
    return execution / max(steps, 1)


def fix_cycle_budget(step: float) -> float:
    return FIX_CYCLE_SHARE * step


def subplan_budget(step: float, unused: float) -> float:
    """One fresh step's worth for all steps of a sub-plan together, out of execution time not used yet."""
    return max(min(step, unused), 0.0)


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


TRIES = 3
FIRST_WAIT_S, FACTOR = 1.0, 2.0

FALLBACKS = {
    "planner": "a plan of one step: the goal itself",
    "coder": "the attempt fails",
    "tester": "the bare result of the tests",
    "supervisor": "unverified: a step completes on passing tests only, a goal is never called achieved",
}
"""What stands in for whom."""


def wait_after(attempt: int, first_wait_s: float = FIRST_WAIT_S) -> float:
    """Seconds to wait after the given try (1, 2) has failed."""
    return first_wait_s * FACTOR ** (attempt - 1)


CLOSES = {
    "no_tests": "major",
    "asserts_nothing": "major",
    "outside_step": "major",
    "tests_skipped": "major",
    "tests_deleted": "critical",
    "tests_weakened": "critical",
    "test_setup_changed": "critical",
}
"""Kinds of findings, and from which severity on they close the gate. A goal may well change what a test
expects or how tests are set up, and a special case may be what was asked for: those are told, not refused."""
SEVERITIES = ("minor", "major", "critical")

SECRETS = (
    (re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"), "a private key"),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), "an access key of a cloud"),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"), "an access token of a code host"),
    (re.compile(r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}\b"), "a key of a model provider"),
)
"""What must never be committed."""


def closes_the_gate(kind: str, severity: str) -> bool:
    least = CLOSES.get(kind)
    return least is not None and SEVERITIES.index(severity) >= SEVERITIES.index(least)


def is_worth_telling(kind: str, severity: str) -> bool:
    """What the supervisor is shown. Every step may change tests, whatever files it names."""
    return not closes_the_gate(kind, severity) and (kind, severity) != ("outside_step", "minor")


def secrets_in(contents: Mapping[str, str], before: Mapping[str, str] | None = None) -> list[str]:
    """Critical by rule: things that nobody may put into a repository. What stood in the file `before` is not
    this change's doing."""
    known = before or {}
    return [
        f"{what} in {path}"
        for path, text in contents.items()
        for sign, what in SECRETS
        if any(found[0] not in known.get(path, "") for found in sign.finditer(text))
    ]
