"""A fan-out with a gate: several writers pitch side by side, a judge grades, weak pitches are dropped.

podium run examples/fanout.py "a podcast about rivers" --writers 4 --threshold 60
"""

from typing import Annotated

import msgspec

import podium


class Pitch(msgspec.Struct):
    """What a writer proposes."""

    title: str
    idea: str


class Grade(msgspec.Struct):
    """What the judge thinks of it."""

    score: Annotated[int, msgspec.Meta(ge=0, le=100)]
    reason: str


class Graded(msgspec.Struct):
    """A pitch with its grade: what a branch returns."""

    title: str
    idea: str
    score: int
    reason: str
    passed: bool


class Pitched(podium.EventData, frozen=True, kw_only=True):
    """A pitch was graded. Declared by the workflow, shown live, kept in the log."""

    type = "fanout.pitched"
    writer: str
    title: str
    score: int
    passed: bool


judge = podium.Agent("judge", instructions="You grade pitches from 0 to 100 and say why.", temperature=0.0)


@podium.workflow(closing=0.2)
async def fanout(
    run: podium.Run, request: str, *, writers: int = 3, threshold: int = 50
) -> podium.Outcome | podium.Partial:
    """Pitch in parallel, grade each pitch, keep those that pass, and let the judge sum up."""
    branches = await run.gather(
        {f"writer-{n}": pitch(run, request, n, threshold) for n in range(1, writers + 1)}
    )
    for name, branch in branches.items():
        if isinstance(branch, podium.Failed):
            run.warn(f"{name} did not finish: {branch.error}")
    graded = [branch.value for branch in branches.values() if isinstance(branch, podium.Ok)]
    passed = sorted((row for row in graded if row.passed), key=lambda row: -row.score)
    if not graded:
        return podium.Partial(output={"pitches": []}, reason="no pitch was finished")
    async with run.closing():
        summary = await run.ask(
            judge,
            "sum_up",
            prompt="Sum up in two sentences for the commissioner:\n{{ rows }}",
            rows=passed or graded,
        )
    return podium.Outcome(
        output={"summary": summary, "pitches": passed, "dropped": len(graded) - len(passed)},
        quality=max(row.score for row in graded),
    )


async def pitch(run: podium.Run, request: str, number: int, threshold: int) -> Graded:
    """One branch: write a pitch, have it graded, tell the result."""
    writer = podium.Agent(f"writer {number}", role="writer", instructions="You pitch one bold idea.")
    made = await run.ask(
        writer, "pitch", prompt="Pitch an idea for: {{ request }}", request=request, returns=Pitch
    )
    grade = await run.ask(
        judge,
        "grade",
        prompt="Grade this pitch: {{ title }}. {{ idea }}",
        title=made.title,
        idea=made.idea,
        returns=Grade,
    )
    passed = grade.score >= threshold
    run.emit(Pitched(writer=writer.name, title=made.title, score=grade.score, passed=passed))
    return Graded(made.title, made.idea, grade.score, grade.reason, passed)
