"""Rules and limits of `build` as pure functions: gates, plans, steps, time, escalation, recovery, inspection.

`podium.tools.testing` finds suspicious changes. This module decides which of them close the code gate at
once, and which are only shown to the supervisor.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

from podium.workflows.build.state import ExecutionPlan, PlanStep

Gate = Literal["plan", "code", "test", "step", "goal"]

THRESHOLDS: dict[str, float] = {"plan": 70.0, "code": 60.0, "test": 60.0, "step": 70.0, "goal": 80.0}
"""Minimum score of each gate. Reviews of tests have no threshold of their own and use that of code."""


def passes(gate: Gate, score: float, *, verified: bool, problems: Sequence[str] = ()) -> bool:
    """True if the supervisor's verdict opens a gate. No score compensates for a broken rule."""
    return verified and score >= THRESHOLDS[gate] and not problems


CLOSING_RECOMMENDATIONS = frozenset({"replan", "abort"})
"""Recommendations that close a gate whatever its score."""


def code_problems(
    *,
    has_tests: bool,
    fixed: Sequence[str] = (),
    missing: Sequence[str] = (),
    skipped: Sequence[str] = (),
    security: Sequence[str] = (),
    caught: Sequence[str] = (),
) -> list[str]:
    """Return the broken rules of the code gate: tests are included, no test of the baseline is lost, no
    critical security finding, no finding of the inspection. A red test that turns green counts as a test of
    the change."""
    problems = [] if has_tests or fixed else ["the change comes without tests"]
    problems += [_lost(missing, "ran before and do not run any more")] if missing else []
    problems += [_lost(skipped, "ran before and are skipped now")] if skipped else []
    problems += [f"critical security finding: {finding}" for finding in security]
    return problems + list(caught)


def newly_fixed(fixed: Sequence[str], before: Collection[str], changed: Collection[str]) -> list[str]:
    """Return the tests that this change turned green: not those that an earlier step did, nor those that the
    change edits (`changed`, without file and class), because these prove nothing."""
    return [name for name in fixed if name not in before and _test_name(name) not in changed]


def _test_name(name: str) -> str:
    """Return `test_a` for `tests/test_a.py::TestB::test_a[1]`."""
    return re.split(r"::| > ", name)[-1].partition("[")[0]


def _lost(names: Sequence[str], what: str) -> str:
    shown = ", ".join(names[:10]) + (", …" if len(names) > 10 else "")
    return f"{len(names)} tests {what}: {shown}"


def step_problems(*, tests_pass: bool, evidence: str) -> list[str]:
    """Return the broken rules of the step gate: tests pass, and there is evidence."""
    problems = [] if tests_pass else ["the tests do not pass"]
    return problems + ([] if evidence.strip() else ["there is no evidence that the step is done"])


def critical_problems(findings: Sequence[str]) -> list[str]:
    """Return the critical findings of the tester as broken rules of the step gate."""
    return [f"critical finding of the tester: {finding}" for finding in findings]


def goal_problems(
    *, steps_acceptable: bool, suite_passes: bool, still_failing: Sequence[str] = ()
) -> list[str]:
    """Return the broken rules of the goal gate. `still_failing` are tests that the plan wants to pass."""
    problems = [] if steps_acceptable else ["steps are not done, and not acceptably few of them"]
    problems += [] if suite_passes else ["the whole test suite does not pass"]
    return problems + [f"{name} must pass, and still fails" for name in still_failing]


def still_red(must_pass: Sequence[str], failing: Sequence[str]) -> list[str]:
    """Return the tests among `failing` that a plan wants to pass. A plan may name a test by its last part."""
    return [
        name
        for name in failing
        if any(name == wanted or name.endswith(wanted) for wanted in must_pass if wanted)
    ]


LEAST_STEPS, MOST_STEPS = 2, 15
SMALL = ("simple", "medium")
"""Complexities with which a single step is a whole plan."""
MAX_REVISIONS = 3
"""A plan that is still not approved after this many revisions ends the run."""
MAX_DEPTH = 3
SUBPLAN_STEPS = {1: 5, 2: 3, 3: 2}
"""Maximum steps of a sub-plan by depth."""
MAX_ITERATIONS = 3
"""Default number of plans. 0 means no limit but time."""
LEAST_WORDS = 2
"""Minimum words of a step's description; a shorter one is not actionable."""


def plan_problems(plan: ExecutionPlan, *, fallback: bool = False) -> list[str]:
    """Return the broken rules of the plan gate. The one-step fallback and sub-plans are exempt from the size
    of 2 to 15."""
    problems = size_problems(plan, fallback=fallback)
    problems += [
        f"step {step.number} does not say what to change; to find something out is only a part of a step"
        for step in plan.steps
        if not is_actionable(step)
    ]
    return problems + dependency_problems(plan.steps)


def size_problems(plan: ExecutionPlan, *, fallback: bool = False) -> list[str]:
    count = len(plan.steps)
    if fallback:
        return []
    if plan.depth == 0 and count == 1 and plan.steps[0].complexity in SMALL:
        return []
    if plan.depth == 0 and not LEAST_STEPS <= count <= MOST_STEPS:
        small = " (one step is enough for a small goal, not for a complex one)" if count == 1 else ""
        return [f"a plan has {LEAST_STEPS} to {MOST_STEPS} steps, this one has {count}{small}"]
    if plan.depth and not 1 <= count <= SUBPLAN_STEPS[plan.depth]:
        most = SUBPLAN_STEPS[plan.depth]
        return [f"a sub-plan of depth {plan.depth} has 1 to {most} steps, this one has {count}"]
    return []


_FIND_OUT = re.compile(
    r"^(?:find out|look (?:at|into)|analy[sz]e|investigate|explore|understand|study|research|identify|inspect"
    r"|examine|review|read|determine|locate|diagnose|familiari[sz]e)\b",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:add|fix|chang|correct|implement|writ|creat|updat|remov|delet|renam|replac|refactor|extend|mak"
    r"|document|introduc|mov|split|convert|improv|build|insert|port|migrat)\w*\b",
    re.IGNORECASE,
)


def is_actionable(step: PlanStep) -> bool:
    """True if the step says what to change. To find something out is not a step of its own."""
    text = step.description.strip()
    only_finds_out = bool(_FIND_OUT.match(text)) and not _CHANGE.search(text)
    return len(text.split()) >= LEAST_WORDS and not only_finds_out


def dependency_problems(steps: Sequence[PlanStep]) -> list[str]:
    """Return dependencies on missing steps and dependency cycles."""
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
    """Return the numbers of the steps that can never start because of a dependency cycle."""
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
    """True if a step of a plan at this depth may get a sub-plan, which is one level deeper."""
    return depth < MAX_DEPTH


def may_iterate(iteration: int, most: int) -> bool:
    """True if another plan may follow this iteration. Time may still forbid it."""
    return most == 0 or iteration < most


MAX_ATTEMPTS = 3
MAX_FIX_CYCLES = 3
"""Fix cycles per attempt."""
ACCEPTABLE_FAILURES = 0.20
"""Maximum share of failed steps with which the goal can still be met."""


def may_attempt(attempts: int) -> bool:
    return attempts < MAX_ATTEMPTS


def may_fix(cycles: int) -> bool:
    return cycles < MAX_FIX_CYCLES


def next_step(steps: Sequence[PlanStep]) -> PlanStep | None:
    """Return the first pending step whose dependencies are done, or None."""
    done = {step.id for step in steps if step.status == "completed"}
    return next(
        (step for step in steps if step.status == "pending" and done.issuperset(step.depends_on)), None
    )


def doomed_by(failed: PlanStep, steps: Sequence[PlanStep]) -> list[PlanStep]:
    """Return every step that depends on the failed one, directly or indirectly, in the plan's order."""
    lost = {failed.id}
    while more := {s.id for s in steps if s.id not in lost and lost.intersection(s.depends_on)}:
        lost |= more
    return [step for step in steps if step.id in lost and step.id != failed.id]


def blocked_reason(failed: PlanStep) -> str:
    return f"needs step {failed.number}, which failed"


def are_done_or_acceptable(steps: Sequence[PlanStep]) -> bool:
    """True if all steps are done, or at most a fifth failed and no other step depends on a failed one."""
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
"""Share of a step's time for one fix cycle."""
SHUTDOWN_SHARE = 1 / 60
"""Share of the limit for committing and reporting when time is up: two minutes of two hours …"""
SHUTDOWN_LEAST_S, SHUTDOWN_MOST_SHARE = 5.0, 0.10
"""… at least five seconds, but at most a tenth of the limit."""
FINISHING_S = 15.0
"""Grace period in seconds for a commit or a report that has started when time is up, so that neither is left
half done."""


class Allocation(msgspec.Struct, frozen=True):
    """A time limit divided into phases, all in seconds."""

    total: float
    planning: float
    execution: float
    verification: float
    reserve: float
    """The rest that the caps of planning and verification leave."""

    @property
    def shutdown(self) -> float:
        least = min(SHUTDOWN_LEAST_S, SHUTDOWN_MOST_SHARE * self.total)
        return max(SHUTDOWN_SHARE * self.total, least)

    @property
    def shutdown_comes_out_of(self) -> str:
        """The reserve if it is large enough, otherwise verification."""
        return "reserve" if self.reserve >= self.shutdown else "verification"

    @property
    def verification_left(self) -> float:
        """Verification time, minus the shutdown if that comes out of it."""
        shutdown = self.shutdown if self.shutdown_comes_out_of == "verification" else 0.0
        return self.verification - shutdown


def allocate(total: float) -> Allocation:
    """Divide a limit: 10 % (at most 15 minutes) for planning, 80 % for execution, 10 % (at most 10 minutes)
    for verification. A later iteration divides the rest in the same way."""
    planning = min(PLANNING_SHARE * total, PLANNING_MOST_S)
    execution = EXECUTION_SHARE * total
    verification = min(VERIFICATION_SHARE * total, VERIFICATION_MOST_S)
    return Allocation(total, planning, execution, verification, total - planning - execution - verification)


def execution_window(allocation: Allocation, elapsed: float) -> float:
    """Return the seconds left for execution when it starts `elapsed` seconds into the iteration: its share,
    without the time that verification and shutdown need."""
    reserved = allocation.verification_left + allocation.shutdown
    return max(min(allocation.execution, allocation.total - elapsed - reserved), 0.0)


def step_budget(execution: float, steps: int) -> float:
    """Return the seconds per step: an equal share for each."""
    return execution / max(steps, 1)


def fix_cycle_budget(step: float) -> float:
    return FIX_CYCLE_SHARE * step


def subplan_budget(step: float, unused: float) -> float:
    """Return the seconds for a whole sub-plan: as much as one fresh step, limited by the unused execution
    time."""
    return max(min(step, unused), 0.0)


LEVELS = ("NONE", "REMIND", "CORRECT", "REFOCUS", "CRITICAL", "ABORT")
BY_SCORE = ((70.0, "NONE"), (50.0, "REMIND"), (30.0, "CORRECT"), (0.0, "REFOCUS"))
"""Minimum score of each level that a score alone can cause."""
BY_COUNT = {2: "CORRECT", 3: "REFOCUS", 4: "CRITICAL", 5: "ABORT"}
"""Level by number of consecutive issues. A single issue causes nothing beyond its score."""
GUIDANCE = {
    "REMIND": "Good enough to go on, but not good. Look at what was said about it and do better now.",
    "CORRECT": "This goes in a wrong direction. Change course: do what is listed here before anything else.",
    "REFOCUS": "Stop what you were doing. Read the goal and the current step again, leave the last approach "
    "behind, and do only what the step asks for.",
    "CRITICAL": "Last warning: one more rejected result ends the run. Do the smallest thing that certainly "
    "meets the step, and check it against every point listed here.",
}


class Standing(msgspec.Struct, frozen=True):
    """Escalation state: consecutive issues over the whole run, and the level."""

    issues: int = 0
    level: str = "NONE"


def level_of_score(score: float) -> str:
    return next((level for least, level in BY_SCORE if score >= least), "REFOCUS")


def level_of_count(issues: int) -> str:
    return BY_COUNT.get(min(issues, max(BY_COUNT)), "NONE")


def worse(first: str, other: str) -> str:
    return max(first, other, key=LEVELS.index)


def after_verification(before: Standing, score: float, *, passed: bool) -> Standing:
    """Return the standing after a verification. A pass resets the count, but its score may still cause a
    reminder. A verification below its gate is one more issue."""
    issues = 0 if passed else before.issues + 1
    return Standing(issues, worse(level_of_score(score), level_of_count(issues)))


def after_rule(before: Standing) -> Standing:
    """Return the standing after a failed step or a gate that a rule closed, which is an issue without a
    score."""
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
"""Fallback for each role that fails."""


def wait_after(attempt: int, first_wait_s: float = FIRST_WAIT_S) -> float:
    """Return the seconds to wait after the given failed try (1, 2)."""
    return first_wait_s * FACTOR ** (attempt - 1)


CLOSES = {
    "no_tests": "major",
    "asserts_nothing": "major",
    "outside_step": "major",
    "tests_skipped": "major",
    "tests_deleted": "critical",
    "tests_weakened": "critical",
    "test_setup_changed": "critical",
    "hard_coded": "critical",
}
"""Kinds of findings, and the minimum severity that closes the gate. Other kinds are only reported: a goal may
change what a test expects or how tests are set up, and a special case may be what was requested."""
SEVERITIES = ("minor", "major", "critical")

SECRETS = (
    (re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"), "a private key"),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), "an access key of a cloud"),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"), "an access token of a code host"),
    (re.compile(r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}\b"), "a key of a model provider"),
)
"""Patterns of secrets that must never be committed."""


def closes_the_gate(kind: str, severity: str) -> bool:
    least = CLOSES.get(kind)
    return least is not None and SEVERITIES.index(severity) >= SEVERITIES.index(least)


def is_shown(kind: str, severity: str) -> bool:
    """True if the supervisor sees the finding. Minor changes outside the step's files are not shown, because
    every step may change tests."""
    return not closes_the_gate(kind, severity) and (kind, severity) != ("outside_step", "minor")


def secrets_in(contents: Mapping[str, str], before: Mapping[str, str] | None = None) -> list[str]:
    """Return the secrets that a change adds to the repository. Secrets that were in the file `before` do not
    count."""
    known = before or {}
    return [
        f"{what} in {path}"
        for path, text in contents.items()
        for sign, what in SECRETS
        if any(match[0] not in known.get(path, "") for match in sign.finditer(text))
    ]
