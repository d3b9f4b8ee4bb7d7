"""The coder's work on a step: look-ups, changes, and their application as a whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from podium.workflows.build import events
from podium.workflows.build.context import AgentFailedError, Build, Share, workspace_shown
from podium.workflows.build.contracts import Code, LookUp
from podium.workflows.build.policy import MAX_LOOK_UPS, code_problems
from podium.workflows.build.state import CODER, CodeOutput, PlanStep
from podium.workflows.build.workspace import Applied, Inspected

MAX_REFUSALS = 2
"""Maximum number of times that inapplicable changes are sent back within an attempt."""


class BlockedError(Exception):
    """Raised when the coder reports that the step cannot be done as it stands."""


class AttemptFailedError(Exception):
    """Raised when an attempt has failed. Another one may follow."""


@dataclass
class Work:
    """State of a step in progress."""

    step: PlanStep
    plan: list[dict[str, Any]]
    """The plan as data for prompts."""
    before: str
    """Snapshot of the workspace at the start of the step."""
    share: Share
    problem: str = ""
    """In a sub-plan: the reason why the parent step was blocked."""
    looked_up: list[str] = field(default_factory=list[str])
    failed: list[str] = field(default_factory=list[str])
    """One line for each failed attempt."""
    refusals: int = 0
    """Number of times that changes of this attempt could not be applied."""

    def refuse(self) -> int:
        self.refusals += 1
        return self.refusals

    def shown(self) -> dict[str, Any]:
        step = self.step
        return {
            "label": step.label, "description": step.description, "files": step.files,
            "evidence": step.evidence, "problem": self.problem,
        }  # fmt: skip


@dataclass(frozen=True)
class Written:
    """A change that is applied to the workspace, and its inspection."""

    output: CodeOutput
    snapshot: str
    seen: Inspected
    problems: list[str]
    """Rule violations that close the code gate."""


async def write(
    build: Build, work: Work, task: str, snapshot: str, cycle: int, shares: tuple[Share, ...],
    *, evidence: str = "", **variables: Any,
) -> Written:  # fmt: skip
    """Ask for a change or a fix and apply it to the workspace. A fix without evidence of its own keeps the
    evidence of the change."""
    kind = "CODE_REQUEST" if task == "code" else "CODE_FIX_REQUEST"
    correlation = build.request(
        kind, work.step.description, work.step, attempt=work.step.attempts, cycle=cycle
    )
    try:
        code, applied = await _accepted(build, work, task, snapshot, shares, variables)
    except AgentFailedError as error:
        build.answer("CODE_RESPONSE", correlation, str(error), work.step, error=error.error.reason)
        raise AttemptFailedError(str(error)) from error
    except (BlockedError, AttemptFailedError) as error:
        blocked = isinstance(error, BlockedError)
        build.answer(
            "CODE_RESPONSE", correlation, str(error), work.step, status="blocked" if blocked else "refused"
        )
        raise
    seen = await build.run.step(
        "inspect", build.ground.inspect, work.before, applied.snapshot, work.step.files, returns=Inspected
    )
    build.latest = applied.snapshot
    problems = code_problems(has_tests=seen.has_tests, security=seen.security, caught=seen.caught)
    output = CodeOutput(
        status=code.status, summary=code.summary, files=seen.files, tests=seen.tests,
        evidence=code.evidence or evidence, caught=problems, suspected=seen.suspected,
        attempt=work.step.attempts, cycle=cycle,
    )  # fmt: skip
    build.answer("CODE_RESPONSE", correlation, code.summary, work.step, status="done", files=seen.files)
    build.tell(events.Coded(step_id=work.step.id, output=output))
    return Written(output, applied.snapshot, seen, problems)


async def _accepted(
    build: Build, work: Work, task: str, snapshot: str, shares: tuple[Share, ...], variables: dict[str, Any]
) -> tuple[Code, Applied]:
    """Return a reply whose changes were applied. Look-ups are answered; inapplicable changes are sent
    back."""
    shown = await _material(build, work, snapshot)
    refused: list[str] = []
    for _ in range(MAX_LOOK_UPS + MAX_REFUSALS + 1):
        left = MAX_LOOK_UPS - len(work.looked_up)
        code = await build.ask(
            CODER, task, Code, shares, goal=build.goal, plan=work.plan, step=work.shown(), **shown,
            guidance=build.guidance, looked_up=work.looked_up, look_ups_left=left, refused=refused,
            **variables,
        )  # fmt: skip
        if code.status == "blocked":
            raise BlockedError(code.blocked_reason or code.summary or "the coder gave no reason")
        if code.requests and not code.changes and left > 0:
            for wanted in code.requests[:left]:
                await _look_up(build, work, snapshot, wanted)
            continue
        applied = await _applied(build, work, snapshot, code)
        if not applied.refused:
            return code, applied
        if work.refuse() > MAX_REFUSALS:
            break
        refused = applied.refused
    raise AttemptFailedError(f"its changes could not be applied: {'; '.join(refused)}")


async def _applied(build: Build, work: Work, snapshot: str, code: Code) -> Applied:
    if code.requests and not code.changes:
        applied = Applied(snapshot, refused=[f"nothing more can be looked up after {MAX_LOOK_UPS} times"])
    else:
        applied = await build.run.step("apply", build.ground.apply, snapshot, code.changes, returns=Applied)
    if applied.refused:
        output = CodeOutput(
            status="refused", summary=code.summary, attempt=work.step.attempts,
            caught=[f"could not be applied: {reason}" for reason in applied.refused],
        )  # fmt: skip
        build.tell(events.Coded(step_id=work.step.id, output=output))
    return applied


async def _material(build: Build, work: Work, snapshot: str) -> dict[str, Any]:
    """Return the coder's view of the workspace: the map, and the files that the step names."""
    shown = await workspace_shown(build, snapshot)
    files = await build.run.step("files", build.ground.files, snapshot, work.step.files, returns=list[str])
    return {"workspace": shown, "files": files}


async def _look_up(build: Build, work: Work, snapshot: str, wanted: LookUp) -> None:
    ok, text = await build.run.step(
        "look_up", build.ground.look_up, snapshot, wanted, returns=tuple[bool, str]
    )
    work.looked_up.append(text)
    build.tell(
        events.LookedUp(
            step_id=work.step.id, kind=wanted.kind, target=wanted.target[:500], ok=ok,
            number=len(work.looked_up), summary=text.partition("\n")[0][:200] if not ok else "",
        )
    )  # fmt: skip
