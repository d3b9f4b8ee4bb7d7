"""Plans and sub-plans: requested, checked by rules, reviewed, and revised until they pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from podium.workflows.build import events
from podium.workflows.build.clock import Share
from podium.workflows.build.context import AgentFailedError, Build, workspace_shown
from podium.workflows.build.contracts import Plan, PlannedStep
from podium.workflows.build.policy import (
    LEAST_STEPS,
    MAX_ATTEMPTS,
    MOST_STEPS,
    SUBPLAN_STEPS,
    may_revise,
    plan_problems,
)
from podium.workflows.build.state import PLANNER, ExecutionPlan, PlanStep
from podium.workflows.build.supervisor import verify


class PlanNotApprovedError(Exception):
    """Raised when no plan passed its gate after all revisions."""


@dataclass(frozen=True)
class Purpose:
    """Purpose of a plan: its goal, depth and parent."""

    id: str
    goal: str
    depth: int = 0
    step: PlanStep | None = None
    """The blocked step, for a sub-plan."""
    parent_plan: str | None = None
    problem: str = ""
    shares: tuple[Share, ...] = ()

    @property
    def bounds(self) -> dict[str, int]:
        if self.depth:
            return {"least": 1, "most": SUBPLAN_STEPS[self.depth]}
        return {"least": LEAST_STEPS, "most": MOST_STEPS}

    def shown_step(self) -> dict[str, Any] | None:
        step = self.step
        return None if step is None else {"description": step.description, "problem": self.problem}


async def approved_plan(build: Build, purpose: Purpose, task: str, **variables: Any) -> ExecutionPlan:
    """Return an approved plan, after up to three revisions."""
    plan, fallback = await _asked(build, purpose, task, 0, **variables)
    revision = 0
    while reasons := await _reviewed(build, purpose, plan, revision, fallback=fallback):
        if not may_revise(revision):
            raise PlanNotApprovedError("; ".join(reasons))
        if not purpose.depth:
            await build.clock.expect_planning_time()
        revision += 1
        shown = {"plan": _shown(plan, build.must_pass), "problems": reasons, "step": purpose.shown_step()}
        plan, fallback = await _asked(build, purpose, "revise_plan", revision, **shown)
    _emit(build, purpose, plan, revision, approved=True, fallback=fallback)
    return plan


async def _asked(
    build: Build, purpose: Purpose, task: str, revision: int, **variables: Any
) -> tuple[ExecutionPlan, bool]:
    """Ask the planner. Return its plan, or the fallback plan and True if it fails."""
    kind = "REPLAN_REQUEST" if task == "subplan" else "PLAN_REQUEST"
    answer = "SUBPLAN_RESPONSE" if task == "subplan" else "PLAN_RESPONSE"
    again = revision > 0 or build.state.state.iteration > 1
    correlation = build.request(
        kind, purpose.goal, purpose.step, revision=revision, again=again and kind == "PLAN_REQUEST"
    )
    workspace = await workspace_shown(build, build.snapshot)
    declarations = await build.run.step(
        "declarations", build.workspace.declarations, build.snapshot, purpose.goal, returns=str
    )
    try:
        reply = await build.ask(
            PLANNER,
            task,
            Plan,
            purpose.shares,
            workspace=workspace,
            declarations=declarations,
            done=build.done,
            **purpose.bounds,
            **variables,
        )
    except AgentFailedError as error:
        plan, fallback = one_step_plan(purpose), True
        build.answer(answer, correlation, str(error), purpose.step, error=error.error.reason, fallback=True)
    else:
        plan, fallback = plan_of(purpose, reply), False
        if not purpose.depth:
            build.must_pass = list(reply.must_pass)
        build.answer(answer, correlation, reply.analysis, purpose.step, steps=len(plan.steps))
    _emit(build, purpose, plan, revision, approved=False, fallback=fallback)
    return plan, fallback


async def _reviewed(
    build: Build, purpose: Purpose, plan: ExecutionPlan, revision: int, *, fallback: bool
) -> list[str]:
    """Return the reasons against a plan. If the supervisor cannot be asked, there are none."""
    async with build.run.branch("review", key=str(revision)):
        judgement = await verify(
            build,
            "plan",
            plan_problems(plan, fallback=fallback),
            purpose.step,
            purpose.shares,
            plan=_shown(plan, build.must_pass),
            step=purpose.shown_step(),
            workspace=await workspace_shown(build, build.snapshot),
        )
    if judgement.unverified:
        build.warn("The plan is carried out unverified: the supervisor could not be asked.")
    return [] if judgement.passed or judgement.unverified else judgement.reasons


def _emit(
    build: Build, purpose: Purpose, plan: ExecutionPlan, revision: int, *, approved: bool, fallback: bool
) -> None:
    build.emit(
        events.PlanCreated(
            plan=plan,
            iteration=build.state.state.iteration,
            revision=revision,
            approved=approved,
            fallback=fallback,
            step_id=purpose.step.id if purpose.step is not None else "",
        )
    )


def _shown(plan: ExecutionPlan, must_pass: list[str]) -> dict[str, Any]:
    numbers = {step.id: step.number for step in plan.steps}
    return {
        "analysis": plan.analysis,
        "must_pass": [] if plan.depth else must_pass,
        "steps": [
            {
                "description": step.description,
                "complexity": step.complexity,
                "evidence": step.evidence,
                "files": step.files,
                "depends_on": [numbers.get(key, key) for key in step.depends_on],
            }
            for step in plan.steps
        ],
    }


# ── plans as data ────────────────────────────────────────────────────────────────────────────────


def plan_of(purpose: Purpose, reply: Plan) -> ExecutionPlan:
    """Convert the planner's reply to a plan with numbers, ids, and dependencies by id."""
    steps = [_step(purpose, number, step) for number, step in enumerate(reply.steps, 1)]
    return ExecutionPlan(
        id=purpose.id,
        goal=purpose.goal,
        analysis=reply.analysis,
        steps=steps,
        depth=purpose.depth,
        parent_plan_id=purpose.parent_plan,
    )


def one_step_plan(purpose: Purpose) -> ExecutionPlan:
    """Return the fallback for a failed planner: the whole goal as one step."""
    reply = Plan(
        analysis="The planner could not be asked.", steps=[PlannedStep(description=f"Do it: {purpose.goal}")]
    )
    return plan_of(purpose, reply)


def _step(purpose: Purpose, number: int, step: PlannedStep) -> PlanStep:
    return PlanStep(
        id=step_id(purpose, number),
        number=number,
        description=step.description.strip(),
        complexity=step.complexity,
        depth=purpose.depth,
        max_attempts=MAX_ATTEMPTS,
        parent_step_id=purpose.step.id if purpose.step is not None else None,
        depends_on=[_needed(purpose, dependency) for dependency in step.depends_on],
        files=[path.strip() for path in step.files if path.strip()],
        evidence=step.evidence.strip(),
    )


def step_id(purpose: Purpose, number: int | str) -> str:
    """Return `step-2`; in a later iteration `i2-step-2`; in its sub-plan `step-2.1`."""
    if purpose.step is not None:
        return f"{purpose.step.id}.{number}"
    iteration = purpose.id.removeprefix("plan-")
    return f"step-{number}" if iteration == "1" else f"i{iteration}-step-{number}"


def _needed(purpose: Purpose, dependency: int | str) -> str:
    """Return a dependency as an id, whether it was given as number or id. Anything else stays as it is, and
    the gate reports it."""
    text = str(dependency).strip()
    number = text.removeprefix("step").strip(" -#")
    return step_id(purpose, int(number)) if number.isdigit() else text
