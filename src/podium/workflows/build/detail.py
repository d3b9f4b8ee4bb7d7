"""The part of a run's view that is the build's own: loop, plan, commits and test runs."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from podium.engine.events import Event
from podium.report.presentation import Detail, View, ViewGrade
from podium.report.words import count, needs, one_line
from podium.workflows.build import events
from podium.workflows.build.fold import BuildState, with_sub_steps
from podium.workflows.build.state import PlanStep, TestResult
from podium.workflows.build.view import GATES, PHASES


class BuildViewRole(View, frozen=True, kw_only=True):
    """A role of the loop."""

    order: int
    name: str
    does: str
    active: bool = False


class BuildViewStep(View, frozen=True, kw_only=True):
    """A step of the plan."""

    order: int
    depth: int
    path: str
    title: str
    status: str
    """`queued`, `running`, `completed`, `failed` or `paused`."""
    label: str
    attempts: int
    current: bool = False
    note: str = ""
    tests_text: str = ""
    tests_failed: bool = False
    score: float | msgspec.UnsetType = msgspec.UNSET
    score_text: str = ""


class BuildViewCommit(View, frozen=True, kw_only=True):
    """A commit."""

    order: int
    message: str
    step: str


class BuildViewFailure(View, frozen=True, kw_only=True):
    """A failing test."""

    name: str
    text: str


class BuildViewTests(View, frozen=True, kw_only=True):
    """One run of tests."""

    path: str
    title: str
    ok: bool
    text: str
    command: str
    failures: list[BuildViewFailure]


class BuildView(Detail, frozen=True, kw_only=True, tag="build"):
    """The plan of a build, and what came of it."""

    branch: str
    loop: dict[str, BuildViewRole]
    phase: str
    steps: dict[str, BuildViewStep]
    """By id."""
    steps_text: str
    commits: dict[str, BuildViewCommit]
    """By hash."""
    tests: dict[str, BuildViewTests]
    """By number, from 1."""
    diff: str = ""
    """The beginning of the patch."""
    patch: str = ""
    """Id of the artifact with the whole patch."""


LOOP = {
    "planner": ("Planner", "plans", "planning"),
    "coder": ("Coder", "writes code and tests", "executing"),
    "tester": ("Tester", "runs and reviews them", "testing"),
    "supervisor": ("Supervisor", "checks the result", "verifying"),
}
"""Name, work and phase of each role."""
GENERAL = {"pending": "queued", "in_progress": "running", "blocked": "paused"}
"""Names of statuses that all workflows share; the others are the same."""


def detail_of(build: BuildState, *, alive: bool) -> BuildView:
    """Return the build's part of the view."""
    steps, current = list(_steps(build)), build.current_step
    done = sum(step.status == "completed" for step in steps)
    titles = {step.id: one_line(step.description) for step in steps}
    opened, finished = build.opened, build.finished
    return BuildView(
        branch=opened.branch if opened else "",
        loop={
            role: BuildViewRole(order=order, name=name, does=does, active=build.state.status == phase)
            for order, (role, (name, does, phase)) in enumerate(LOOP.items())
        },
        phase=_phase(build),
        steps={
            step.id: _step(build, step, order, step is current, alive) for order, step in enumerate(steps)
        },
        steps_text=f"{done} of {count(len(steps), 'step')} done" if steps else "",
        commits={
            one.sha: BuildViewCommit(order=order, message=one.message, step=one.step_id)
            for order, one in enumerate(build.commits)
        },
        tests={
            str(number): _tests(path, titles.get(step_id) or "Everything together", result)
            for number, (step_id, path, result) in enumerate(build.test_runs, start=1)
        },
        diff=finished.diff if finished else "",
        patch=finished.patch if finished else "",
    )


def _steps(build: BuildState) -> Iterator[PlanStep]:
    """Return the steps of all iterations, sub-steps after their parent, without those that a later plan
    replaced before they began."""
    for plan in build.plans:
        replaced = plan is not build.plans[-1]
        yield from (step for step in with_sub_steps(plan.steps) if not replaced or step.status != "pending")


def _phase(build: BuildState) -> str:
    if build.state.start_time is None:
        return ""
    parts = [PHASES.get(build.state.status, build.state.status)]
    parts += [f"iteration {build.state.iteration}"] if build.state.iteration > 1 else []
    parts += [f"escalation {build.level}"] if build.level != "NONE" else []
    return ", ".join(parts)


def _step(build: BuildState, step: PlanStep, order: int, current: bool, alive: bool) -> BuildViewStep:
    tests, verified = step.test_results, step.verification_result
    files = step.code_output.files if step.code_output else []
    note = [
        f"{step.attempts} attempts" if step.attempts > 1 else "",
        ", ".join(files),
        "" if step.verified else "unverified",
        one_line(step.fail_reason or "", 300),
    ]
    status = GENERAL.get(step.status, step.status)
    return BuildViewStep(
        order=order,
        depth=step.depth,
        path=build.paths.get(step.id, ""),
        title=f"{step.label}. {one_line(step.description)}",
        status="paused" if status == "running" and not alive else status,
        label=step.status.replace("_", " "),
        attempts=step.attempts,
        current=current and alive,
        note=" · ".join(part for part in note if part),
        tests_text=one_line(tests.counted(), 60) if tests else "",
        tests_failed=tests is not None and not tests.ok,
        score=msgspec.UNSET if verified is None else verified.score,
        score_text="" if verified is None else f"{verified.score:g}",
    )


def _tests(path: str, title: str, result: TestResult) -> BuildViewTests:
    return BuildViewTests(
        path=path,
        title=title,
        ok=result.ok,
        text=result.counted(),
        command=result.command,
        failures=[
            BuildViewFailure(name=failure.name, text=failure.output or failure.message)
            for failure in result.failures
        ],
    )


def grade_of(event: Event) -> ViewGrade | None:
    """Return the result of a gate or of a test run."""
    match event.data:
        case events.Verified() as data:
            asked = data.by == "supervisor"
            feedback = [data.result.reason, *data.result.issues, *data.problems]
            return ViewGrade(
                what=f"Gate: {GATES.get(data.gate, data.gate)}",
                passed=data.passed,
                decision=data.result.recommendation if asked else "by rule",
                feedback=[part for part in feedback if part],
                score=data.result.score if asked else msgspec.UNSET,
                threshold=data.threshold,
                text=needs(f"{data.result.score:g}", f"{data.threshold:g}") if asked else "",
            )
        case events.TestsRun() as data:
            result = data.result
            return ViewGrade(
                what="Tests",
                passed=result.ok,
                decision=result.counted(),
                feedback=[f"{failure.name}: {failure.message}" for failure in result.failures],
            )
        case _:
            return None
