"""The studio as lanes: a line for each department in the order of dependencies, specialists as chips with
their score against the threshold, retries as dots."""

from __future__ import annotations

from podium.report.lines import Line
from podium.report.words import one_line
from podium.workflows.studio.folding import DepartmentState, SpecialistState, StudioState
from podium.workflows.studio.policy import DRAFT_IS_RESULT
from podium.workflows.studio.tellers import STATUSES, figure, spent

CHIPS = {"approved": "✓", "revision-needed": "~", "rejected": "✗"}
TASKS = {
    "brief": "brief", "head_execute": "the head writes", "synthesize": "synthesis", "recall": "recalling",
}  # fmt: skip

LAST = {
    "draft": "direct draft",
    "edit_result": "editor",
    "rework": "author works in the editor's remarks",
    "compare": "blind comparison with the direct draft",
}
"""Tasks that neither a department nor the master does."""


def draw(state: StudioState, most: int, *, alive: bool) -> list[Line]:
    """At most `most` lines; lanes that still move are kept before those that are done."""
    lanes = [_lane(one, alive=alive) for one in state.departments.values()]
    if alive and state.master and lanes:
        lanes.append(Line(LAST.get(state.master, f"master: {state.master}"), "result", mark="●"))
    if state.replaced and lanes:
        lanes.append(
            Line(f"{DRAFT_IS_RESULT.capitalize()}; these scores are the team's", "warning", mark="!")
        )
    if len(lanes) <= most:
        return lanes
    if most < 1:
        return []
    moving = [line for line in lanes if line.mark in "●✗■!"]
    kept = [*moving, *(line for line in lanes if line not in moving)][: max(most - 1, 0)]
    shown = [line for line in lanes if line in kept]
    return [*shown, Line(f"… {len(lanes) - len(shown)} more", mark=" ")]


def _lane(one: DepartmentState, *, alive: bool) -> Line:
    mark, weight = STATUSES.get(one.status, ("·", "routine"))
    if not alive and one.status in ("waiting", "working"):
        mark, weight = "■", "routine"
    chips = "  ".join(chip(each) for each in one.specialists.values())
    return Line(f"{one.name}  {chips or _doing(one, alive)}".rstrip(), weight, _notes(one, alive), mark)


def _doing(one: DepartmentState, alive: bool) -> str:
    if one.status == "waiting" and alive:
        return f"waits for {', '.join(one.needs)}" if one.needs else ""
    return one_line(one.error, 80) if one.status in ("failed", "unfinished") else ""


def _notes(one: DepartmentState, alive: bool) -> tuple[str, ...]:
    if one.status == "completed":
        return f"score {figure(one.score)}", *spent(one)
    if one.status == "working" and not alive:
        return "interrupted", *spent(one)
    if one.status == "working" and one.task:
        return TASKS.get(one.task, one.task), *spent(one)
    return one.status, *spent(one)


def chip(one: SpecialistState) -> str:
    """`Plot ~82/80 ·`: a name, how it was judged, score against threshold, a dot for each retry."""
    name = one.name.removesuffix(" Specialist")
    retries = max(one.attempts or len(one.tried), 1) - 1
    dots = "·" * retries
    if one.score is None and not one.status:
        return f"{name} …"
    return f"{name} {CHIPS.get(one.status, '')}{figure(one.score)}/{one.threshold:g}{dots}"
