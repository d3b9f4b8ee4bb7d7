"""Every completed step is a commit whose message names the step and what shows that it is done."""

from __future__ import annotations

from podium.report.words import one_line
from podium.workflows.build import events
from podium.workflows.build.coding import Work, Written
from podium.workflows.build.policy.time import FINISHING_S
from podium.workflows.build.testing import Outcome
from podium.workflows.build.working import Build

SUBJECT = 72


async def commit_step(
    build: Build, work: Work, written: Written, outcome: Outcome, *, verified: bool
) -> None:
    """Commit what a step has changed; from here on it is what later steps build on."""
    message = message_of(work, written, outcome, verified=verified)
    sha = await committed(build, written.snapshot, message)
    build.snapshot = build.latest = sha
    build.tell(
        events.Committed(
            step_id=work.step.id, sha=sha, message=message.partition("\n")[0], files=written.seen.files
        )
    )


async def commit_unfinished(build: Build, message: str) -> str:
    """What is being tried when time is up. A run that goes on replaces it by the finished step."""
    sha = await committed(build, build.latest, message)
    step = build.state.current_step
    subject = message.partition("\n")[0]
    build.tell(
        events.Committed(
            step_id=step.id if step is not None else "", sha=sha, message=subject, files=[], complete=False
        )
    )
    return sha


async def committed(build: Build, snapshot: str, message: str) -> str:
    """A commit is one of the operations that are finished even when time is up."""
    async with build.run.closing(grace=FINISHING_S):
        return await build.run.step("commit", build.ground.commit, snapshot, message, returns=str)


def message_of(work: Work, written: Written, outcome: Outcome, *, verified: bool) -> str:
    step, result = work.step, outcome.result
    evidence = one_line(written.output.evidence, 500)
    lines = [
        one_line(f"Step {step.label}: {step.description}", SUBJECT),
        "",
        f"Tests: {result.counted()} ({one_line(result.command, 200) or result.framework})",
        f"Evidence: {evidence}",
        f"Attempt {step.attempts}{'' if verified else ', not verified by the supervisor'}",
    ]
    return "\n".join(lines)
