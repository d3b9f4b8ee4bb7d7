"""The coder's work on a step: it acts with its tools, submits, and its change is inspected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from podium.workflows.build import events
from podium.workflows.build.clock import Share
from podium.workflows.build.coder_tools import CoderTools
from podium.workflows.build.context import AgentFailedError, Build, workspace_shown
from podium.workflows.build.contracts import Code
from podium.workflows.build.state import CODER, CodeOutput, PlanStep
from podium.workflows.build.workspace import Applied, Inspected

MOST_FILES = 12
"""Maximum files that the coder is shown at first: those of its step, and those of failing tests."""
MAX_REFUSALS = 2
"""Maximum number of times that a submission that cannot be used is sent back within an attempt."""
NOTHING_CHANGED = (
    "Nothing was changed. Make the change with tools or in `changes`. If the step needs none or cannot be "
    "done, answer with status `blocked` and say why."
)


class BlockedError(Exception):
    """Raised when the coder reports that the step cannot be done as it stands, or the supervisor wants
    another plan for it."""


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
    failed: list[str] = field(default_factory=list[str])
    """One line for each failed attempt."""
    refusals: int = 0
    """Number of times that submissions of this attempt could not be used."""
    must_pass: list[str] = field(default_factory=list[str])
    """Tests that the plan wants to pass."""
    is_whole_goal: bool = False
    """The step is the only one of its plan, so its verification is that of the goal, too."""

    def shown(self) -> dict[str, Any]:
        """Return the plan and the step as variables for a prompt."""
        names = ("label", "description", "files", "evidence")
        step = {**{name: getattr(self.step, name) for name in names}, "problem": self.problem}
        step["must_pass"] = self.must_pass
        return {"plan": self.plan, "step": step}


@dataclass(frozen=True)
class Written:
    """A change that is in the workspace, and its inspection."""

    output: CodeOutput
    snapshot: str
    seen: Inspected


async def write(
    build: Build,
    work: Work,
    task: str,
    snapshot: str,
    cycle: int,
    shares: tuple[Share, ...],
    *,
    earlier: CodeOutput | None = None,
    **variables: Any,
) -> Written:
    """Ask for a change or a fix, and inspect what is in the workspace then. A fix that leaves a field empty
    keeps that of the `earlier` submission."""
    kind = "CODE_REQUEST" if task == "code" else "CODE_FIX_REQUEST"
    correlation = build.request(
        kind, work.step.description, work.step, attempt=work.step.attempts, cycle=cycle
    )
    try:
        code, after, seen = await _submitted(build, work, task, snapshot, shares, variables)
    except AgentFailedError as error:
        build.answer("CODE_RESPONSE", correlation, str(error), work.step, error=error.error.reason)
        raise AttemptFailedError(str(error)) from error
    except (BlockedError, AttemptFailedError) as error:
        blocked = isinstance(error, BlockedError)
        build.answer(
            "CODE_RESPONSE", correlation, str(error), work.step, status="blocked" if blocked else "refused"
        )
        raise
    build.latest = after
    output = _output(work, code, seen, cycle, earlier)
    build.answer("CODE_RESPONSE", correlation, code.summary, work.step, status="done", files=seen.files)
    build.emit(events.Coded(step_id=work.step.id, output=output))
    return Written(output, after, seen)


def _output(work: Work, code: Code, seen: Inspected, cycle: int, earlier: CodeOutput | None) -> CodeOutput:
    before = earlier or CodeOutput(status="done")
    return CodeOutput(
        status=code.status,
        summary=before.summary if cycle and before.summary else code.summary,
        why=code.why or before.why,
        risks=list(code.risks) or before.risks,
        files=seen.files,
        tests=seen.tests,
        evidence=code.evidence or before.evidence,
        suspected=seen.suspected,
        attempt=work.step.attempts,
        cycle=cycle,
    )


async def _submitted(
    build: Build, work: Work, task: str, snapshot: str, shares: tuple[Share, ...], variables: dict[str, Any]
) -> tuple[Code, str, Inspected]:
    """Return a submission, the snapshot that holds its change, and its inspection. One that cannot be used is
    sent back."""
    shown = await _material(build, work, snapshot)
    session = CoderTools(build, work.before, snapshot, shares)
    refused: list[str] = []
    while work.refusals <= MAX_REFUSALS:
        code = await build.ask(
            CODER,
            task,
            Code,
            shares,
            tools=session,
            **work.shown(),
            **shown,
            refused=refused,
            **variables,
        )
        if code.status == "blocked":
            reason = code.blocked_reason or code.summary or "it gave no reason"
            raise BlockedError(f"the coder is blocked: {reason}")
        after, refused = await _applied(build, session.snapshot, code)
        if not refused:
            seen = await build.run.step(
                "inspect", build.workspace.inspect, work.before, after, work.step.files, returns=Inspected
            )
            if seen.files and after != snapshot:
                return code, after, seen
            refused = [NOTHING_CHANGED]
        _refuse(build, work, code, refused)
    raise AttemptFailedError(f"its changes could not be applied: {'; '.join(refused)}")


async def _applied(build: Build, current: str, code: Code) -> tuple[str, list[str]]:
    """Apply the changes of a submission on top of those made with tools. Return the snapshot, and the reasons
    if they could not be applied."""
    if not code.changes:
        return current, []
    applied = await build.run.step("apply", build.workspace.apply, current, code.changes, returns=Applied)
    return applied.snapshot, applied.refused


def _refuse(build: Build, work: Work, code: Code, reasons: list[str]) -> None:
    work.refusals += 1
    output = CodeOutput(
        status="refused",
        summary=code.summary,
        attempt=work.step.attempts,
        caught=[f"could not be used: {reason}" for reason in reasons],
    )
    build.emit(events.Coded(step_id=work.step.id, output=output))


async def _material(build: Build, work: Work, snapshot: str) -> dict[str, Any]:
    """Return the coder's first view of the workspace: the map, the finished steps, and the files that the
    step names."""
    shown = await workspace_shown(build, snapshot)
    failing = build.baseline.result.failures if build.baseline is not None else []
    paths = [*work.step.files, *dict.fromkeys(failure.file for failure in failing if failure.file)]
    wanted = paths[:MOST_FILES]
    files = await build.run.step("files", build.workspace.files, snapshot, wanted, returns=list[str])
    return {"workspace": shown, "files": files, "done": build.done}
