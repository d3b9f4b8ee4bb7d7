"""Orchestration of `build`: plan, review, execute, verify the goal; repeat until it is met."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from itertools import count
from pathlib import Path
from typing import Annotated, Any, NoReturn

from msgspec import Meta

from podium.agents.ask import Run
from podium.engine.budget import Budget
from podium.engine.workflow import Outcome, Partial, Workflow
from podium.errors import BudgetExhaustedError, GaveUpError, StepFailedError, UsageError, WorkspaceError
from podium.models.rehearsal import Rehearsal
from podium.settings.places import named
from podium.tools.sandbox.tier import refuse_what_is_too_wide
from podium.tools.workspace.origin import find_origin
from podium.workflows.build import events, rehearsal
from podium.workflows.build.agents import AGENTS
from podium.workflows.build.attempt import commit_unfinished
from podium.workflows.build.clock import BuildClock
from podium.workflows.build.context import AbortedError, Build, Choices
from podium.workflows.build.execution import execute, verify_goal
from podium.workflows.build.handover import hand_over, output_of
from podium.workflows.build.planner import PlanNotApprovedError, Purpose, approved_plan
from podium.workflows.build.policy import (
    DEFAULT_LIMIT_S,
    FINISHING_S,
    FIRST_WAIT_S,
    MAX_ITERATIONS,
    MAX_REVISIONS,
    SHUTDOWN_SHARE,
    may_iterate,
)
from podium.workflows.build.report import files_changed
from podium.workflows.build.sandbox_workspace import open_sandbox_workspace
from podium.workflows.build.state import PLANNER, ExecutionPlan
from podium.workflows.build.tester import suite_at
from podium.workflows.build.workspace import Started, WorkspacePort

__all__ = ["WORKFLOW", "build_with", "rehearsal"]

OpenWorkspace = Callable[[Run, str, str, bool], AbstractAsyncContextManager[WorkspacePort]]
"""Opens a run's workspace. Arguments: the run, the workspace folder, the test command, and whether code may
run without a sandbox."""


COUNTLESS = (
    "Before any change the tests fail, and this command does not say which, so they must all pass at the "
    "end. Results of pytest, Jest, Vitest, node --test, Go and Cargo can be read, and keep failures apart."
)


class RejectedError(Exception):
    """Raised when the plan is not approved by the user."""


def build_with(open_workspace: OpenWorkspace, first_wait_s: float = FIRST_WAIT_S) -> Workflow:
    """Return the workflow for this kind of workspace."""

    async def build(
        run: Run,
        request: str,
        *,
        workspace: Annotated[
            str, Meta(description="Project folder; its files stay untouched. Default: a new folder.")
        ] = "",
        test_command: Annotated[
            str, Meta(description="Command that runs the tests, e.g. `make test`. Default: detected.")
        ] = "",
        max_iterations: Annotated[
            int, Meta(ge=0, le=1000, description="Maximum number of plans; 0: until time is up.")
        ] = MAX_ITERATIONS,
        allow_unsandboxed: Annotated[
            bool, Meta(description="Run code that a model wrote without a sandbox if none is available.")
        ] = False,
    ) -> Outcome | Partial:
        """Change a real workspace until its tests pass and the goal is met.

        A planner plans, a coder writes code and tests, a tester runs and reviews them, and a supervisor
        checks everything. They work on a separate branch and work tree, in a sandbox; every completed step is
        a commit.
        """
        async with open_workspace(run, workspace, test_command, allow_unsandboxed) as port:
            work = Build(run, request, port, Choices(max_iterations, first_wait_s), BuildClock(run))
            work.state.state.id, work.state.state.primary_goal = run.id, request
            return await _ended(work)

    return Workflow(
        build,
        "build",
        closing=SHUTDOWN_SHARE,
        gates=("plan", "result"),
        budget=Budget(seconds=DEFAULT_LIMIT_S),
        prepare=prepare,
        ref="build",
    )


async def _ended(build: Build) -> Outcome | Partial:
    """Run the orchestration and hand over the results, however it ends."""
    try:
        return await _orchestrate(build)
    except BudgetExhaustedError as error:
        return await _stopped(build, error)
    except RejectedError:
        return Partial(output=await hand_over(build, "aborted", "plan rejected"), reason="plan rejected")
    except PlanNotApprovedError as error:
        why = f"No plan was approved after {MAX_REVISIONS} revisions: {error}"
        raise GaveUpError(why, output=await hand_over(build, "failed", why)) from error
    except AbortedError as error:
        why = f"The supervisor ended the run: {error}"
        raise GaveUpError(why, output=await hand_over(build, "aborted", why)) from error
    except StepFailedError as error:  # the workspace or the sandbox is unusable
        async with build.run.branch("failed"):
            await build.phase("failed", error.reason)
        hint = str(getattr(error.__cause__, "hint", ""))
        raise GaveUpError(error.reason, hint=hint, output=output_of(build, None)) from error


async def _orchestrate(build: Build) -> Outcome | Partial:
    if _is_rehearsed(build) and not rehearsal.knows(build.goal):
        await _refuse_to_rehearse(build)
    base = await _start(build)
    missing: list[str] = []
    for iteration in count(1):
        build.state.state.iteration = iteration
        await build.clock.begin_iteration()
        async with build.run.branch("iteration", budget=Budget(seconds=build.clock.working_time)):
            plan = await _plan(build, iteration, missing)
            await build.phase("executing")
            await execute(build, plan)
            verdict = await verify_goal(build, plan, base)
        if verdict.met:
            return await _succeed(build)
        missing = verdict.missing
        if not may_iterate(iteration, build.choices.max_iterations):
            break
    return await _fall_short(build, missing)


def _is_rehearsed(build: Build) -> bool:
    return build.run.models.name_for(AGENTS[PLANNER], build.run.config) == Rehearsal.name


async def _refuse_to_rehearse(build: Build) -> NoReturn:
    """Fail a rehearsal that has no script for this request, before anything is changed. With another model
    the run can continue."""
    async with build.run.branch("failed", key=Rehearsal.name):
        await build.phase("failed", "no rehearsal for this goal")
    raise GaveUpError(rehearsal.CANNOT, hint=rehearsal.INSTEAD, output=output_of(build, None))


async def _start(build: Build) -> str:
    """Open the workspace on its own branch. Return its initial snapshot."""
    await build.phase("initializing", "start")
    started = await build.run.step("workspace", build.workspace.start, returns=Started)
    build.snapshot = build.latest = started.snapshot
    build.test_command = started.tests
    build.emit(
        events.Opened(
            branch=started.branch,
            base=started.base,
            origin=started.origin,
            tests=started.tests,
            sandbox=started.sandbox,
            sandbox_reason=started.sandbox_reason,
        )
    )
    for warning in started.warnings:
        build.warn(warning)
    if started.has_tests:
        await _run_baseline(build)
    return started.snapshot


async def _run_baseline(build: Build) -> None:
    """Run the tests before anything else. A command that does not work ends the run before the first model
    call; failures are known from then on, and never blamed on a change."""
    tested = await suite_at(build, build.snapshot, build.clock.allocation.planning)
    if tested.trouble:
        async with build.run.branch("failed", key="baseline"):
            await build.phase("failed", tested.trouble)
        raise GaveUpError(tested.trouble, hint=tested.hint, output=output_of(build, None))
    build.baseline = tested
    build.emit(events.Baseline(result=tested.result))
    if not tested.result.ok:
        counted = tested.report is not None and tested.report.counted
        before = f"Before any change the tests fail: {tested.result.counted()}."
        build.warn(f"{before} A change is not blamed for these." if counted else COUNTLESS)


async def _plan(build: Build, iteration: int, missing: list[str]) -> ExecutionPlan:
    """Return a plan that the supervisor has approved and, with `--approve plan`, the user."""
    await build.phase("planning", f"iteration {iteration}")
    done = [
        f"{step.label}: {step.description}" for step in build.state.all_steps() if step.status == "completed"
    ]
    purpose = Purpose(id=f"plan-{iteration}", goal=build.goal)
    achieved = done or (["nothing yet"] if missing else [])
    plan = await approved_plan(build, purpose, "plan", achieved=achieved, missing=missing)
    steps = [f"{step.number}. {step.description}" for step in plan.steps]
    if not await build.run.approved("plan", f"Carry out this plan of {len(steps)} steps?", details=steps):
        raise RejectedError
    return plan


async def _succeed(build: Build) -> Outcome | Partial:
    output = await hand_over(build, "completed")
    question = f"Is this the result? {output['branch']}: {len(output['commits'])} commits"
    if not await build.run.approved("result", question, details=list(files_changed(output["diff_stat"]))):
        return Partial(output=output, reason="result rejected")
    return Outcome(output=output, quality=_goal_score(build))


async def _fall_short(build: Build, missing: list[str]) -> Partial:
    """Return a partial result: the goal is not met and no further plan is allowed."""
    output = await hand_over(build, "failed", "goal not met")
    return Partial(output=output, reason="goal not met", missing=missing, quality=_goal_score(build))


def _goal_score(build: Build) -> float | None:
    scores = [
        gate.result.score for gate in build.state.gates if gate.gate == "goal" and gate.by == "supervisor"
    ]
    return scores[-1] if scores else None


async def _stopped(build: Build, error: BudgetExhaustedError) -> Partial:
    """Keep the work, report, and let the run be resumed later when time or another budget is used up.

    This happens in a branch named after the limit, so that a resume with a larger limit reports its own end.
    """
    expired = error.kind == "seconds"
    limit = build.clock.limit if expired else error.limit
    steps = build.state.all_steps()
    undone = [step.description for step in steps if step.status in ("pending", "in_progress")]
    async with build.run.branch("stopped", key=f"{error.kind} {limit:g}"):
        async with build.run.closing(grace=FINISHING_S):
            if expired:
                await build.phase("time_expired", f"{limit:g} seconds are used up")
        output: dict[str, Any] | None = None
        async with build.run.until_exhausted():
            output = await _wind_up(build, expired) if build.snapshot else None
        if output is None:  # no time even for that: the log still has everything
            output = output_of(build, None)
    return Partial(output=output, reason="time" if expired else "budget", missing=undone)


async def _wind_up(build: Build, expired: bool) -> dict[str, Any]:
    """Commit unfinished work, so that the branch contains it, and report."""
    status = "time_expired" if expired else build.state.state.status
    if not build.latest or build.latest == build.snapshot:
        return await hand_over(build, status, "out of time" if expired else "out of budget")
    step = build.state.current_step
    about = step.description if step is not None else build.goal
    why = "Time" if expired else "The budget"
    message = f"Work in progress: {about}\n\n{why} was used up; tests may fail."
    sha = await commit_unfinished(build, message)
    return await hand_over(build, status, "out of time" if expired else "out of budget", at=sha)


# ── option checks ────────────────────────────────────────────────────────────────────────────────


def prepare(request: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Reject invalid goals, test commands and folders. Make the workspace path absolute for a later
    process."""
    if not isinstance(request, str):
        raise UsageError("The goal must be text.", hint="Say what should be built or changed.")
    command = options.get("test_command", "")
    try:
        words = shlex.split(command)
    except ValueError as error:
        reason = "a quotation mark is not closed" if "quotation" in str(error) else "it ends in a backslash"
        raise UsageError(
            f"The test command {command} cannot be read: {reason}.", hint="Quote it as for a shell."
        ) from error
    if command and not words:
        raise UsageError("The test command is empty.", hint="Omit --test-command to detect it.")
    if not options.get("workspace"):
        return options
    return {**options, "workspace": str(_workable(named(options["workspace"])))}


def _workable(folder: Path) -> Path:
    """Return the absolute path of the folder. Reject system folders and the user's home, unless they are a
    repository."""
    if not folder.is_dir():
        problem = f"{folder} is not a folder." if folder.exists() else f"There is no folder {folder}."
        raise UsageError(problem, hint="Name the project's folder with --workspace.")
    try:
        origin = find_origin(folder)
    except WorkspaceError as error:
        raise UsageError(error.message, hint=error.hint) from error
    if not origin.git_dir:
        refuse_what_is_too_wide(origin.folder, "A build cannot work on {path}: {reason}.")
    return folder.resolve()


WORKFLOW = build_with(open_sandbox_workspace)
