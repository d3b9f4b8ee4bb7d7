"""A fan-out with a gate: several writers pitch in parallel, a judge grades, weak pitches are dropped.

podium run examples/fanout.py "a podcast about rivers" --writers 4 --threshold 70
"""

from typing import Annotated

import msgspec

import podium

ANGLES = ("bold", "practical", "playful", "frugal", "slow", "surprising")


class Pitch(msgspec.Struct):
    """A writer's proposal."""

    title: str
    idea: str


class Grade(msgspec.Struct):
    """The judge's grade of a pitch."""

    score: Annotated[int, msgspec.Meta(ge=0, le=100)]
    reason: str


class Graded(msgspec.Struct):
    """A pitch with its grade, the result of a branch."""

    angle: str
    title: str
    idea: str
    score: int
    reason: str


class Pitched(podium.EventData, frozen=True, kw_only=True):
    """Emitted when a pitch was graded; shown live and stored in the log."""

    type = "fanout.pitched"
    title: str
    score: int
    passed: bool


judge = podium.Agent("judge", instructions="You grade pitches from 0 to 100 and say why.", temperature=0.0)


@podium.workflow(closing=0.2)
async def fanout(
    run: podium.Run, request: str, *, writers: int = 3, threshold: int = 70
) -> podium.Outcome | podium.Partial:
    """Pitch in parallel, grade each pitch, drop the weak ones, and let the judge recommend one."""
    angles = [ANGLES[n % len(ANGLES)] for n in range(writers)]
    branches = await run.gather(
        {angle: pitch(run, request, angle, threshold) for angle in dict.fromkeys(angles)}
    )
    for angle, branch in branches.items():
        if isinstance(branch, podium.Failed):
            run.warn(f"The {angle} writer did not finish: {branch.error}")
    graded = [branch.value for branch in branches.values() if isinstance(branch, podium.Ok)]
    passed = sorted((row for row in graded if row.score >= threshold), key=lambda row: -row.score)
    if not passed:
        return podium.Partial(
            output="No pitch passed.", reason="no pitch passed", missing=["a pitch that passes"]
        )
    async with run.closing():
        advice = await run.ask(
            judge,
            "recommend",
            prompt="Request: {{ request }}\nRecommend one: {{ titles | join('; ') }}",
            request=request,
            titles=[row.title for row in passed],
        )
    document = written(request, advice, passed, len(graded) - len(passed))
    await run.artifact("pitches.md", document, "text/markdown")
    return podium.Outcome(output=document, quality=passed[0].score)


async def pitch(run: podium.Run, request: str, angle: str, threshold: int) -> Graded:
    """Run one branch: write a pitch, let it be graded, emit the grade."""
    writer = podium.Agent(f"{angle} writer", role="writer", instructions=f"You pitch one {angle} idea.")
    made = await run.ask(
        writer, "pitch", prompt="Request: {{ request }}\nPitch one idea.", request=request, returns=Pitch
    )
    grade = await run.ask(
        judge,
        "grade",
        prompt="Request: {{ request }}\nGrade: {{ title }}. {{ idea }}",
        request=request,
        title=made.title,
        idea=made.idea,
        returns=Grade,
    )
    run.emit(Pitched(title=made.title, score=grade.score, passed=grade.score >= threshold))
    return Graded(angle, made.title, made.idea, grade.score, grade.reason)


def written(request: str, advice: str, passed: list[Graded], dropped: int) -> str:
    """Return the deliverable as Markdown."""
    rows = "\n".join(f"| {row.score} | {row.title} | {' '.join(row.idea.split())} |" for row in passed)
    return (
        f"# Pitches for: {request}\n\n{advice}\n\n| score | pitch | idea |\n|---|---|---|\n{rows}\n\n"
        f"{len(passed)} passed, {dropped} dropped."
    )


# ── replies of the offline rehearsal model ──


@podium.rehearses("fanout", "pitch")
def rehearse_pitch(call: podium.Call) -> dict[str, str]:
    angle, subject = call.agent.split()[0], call.prompt.partition("Request: ")[2].partition("\n")[0]
    ideas = {
        "bold": ("Everything at once", "put the whole budget on one unforgettable moment, then stop."),
        "practical": ("One page, no surprises", "three fixed points with a spare hour around each."),
        "playful": ("Let the dice decide", "draw every next move from a hat that everyone has filled."),
        "frugal": ("Half the money", "borrow, walk and share; spend on one thing only."),
        "slow": ("Do one thing well", "leave out all but the best part and give it the time it needs."),
        "surprising": ("Start at the end", "begin with what others keep for last, and work backwards."),
    }
    title, idea = ideas[angle]
    return {"title": title, "idea": f"{subject}: {idea}"}


@podium.rehearses("fanout", "grade")
def rehearse_grade(call: podium.Call) -> dict[str, object]:
    idea = call.prompt.partition("Grade: ")[2]
    score = 50 + sum(map(ord, idea)) % 45
    verdict = "clear and doable" if score >= 70 else "too thin to act on"
    return {"score": score, "reason": f"“{idea.partition('.')[0]}” is {verdict}."}


@podium.rehearses("fanout", "recommend")
def rehearse_recommendation(call: podium.Call) -> str:
    best = call.prompt.partition("Recommend one: ")[2].partition(";")[0]
    return f"Take “{best}”: it scored highest, and nothing else passed by as wide a margin."
