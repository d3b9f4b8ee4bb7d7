"""The plan as a checklist with sub-plans indented, beside the loop coder → tester → supervisor."""

from __future__ import annotations

from podium.report.lines import Line
from podium.report.words import clock, one_line
from podium.workflows.build.folding import BuildState
from podium.workflows.build.state import PlanStep
from podium.workflows.build.tellers import STEPS

LOOP = ("planner", "coder", "tester", "supervisor")


def draw(build: BuildState, most: int, *, alive: bool) -> list[Line]:
    """At most `most` lines: where it is, the loop, and the steps, those under way first."""
    if most < 1 or build.state.start_time is None:
        return []
    head = Line(_where(build), "result", _figures(build), "▸")
    steps = [_row(step, alive) for step in _current_steps(build)]
    lines = [head, *([Line(_loop(build), mark=" ")] if alive else []), *steps]
    if len(lines) <= most:
        return lines
    moving = [line for line in steps if line.mark in "●✗■"] or steps
    room = max(most - 2, 0)
    shown = moving[:room]
    return [head, *shown, Line(f"… {len(steps) - len(shown)} more steps", mark=" ")][:most]


def _where(build: BuildState) -> str:
    state = build.state
    done = (
        f"{state.metrics.completed_steps} of {state.metrics.total_steps} steps"
        if state.metrics.total_steps
        else ""
    )
    iteration = f"iteration {state.iteration}" if state.iteration > 1 else ""
    level = f"escalation {build.level}" if build.level != "NONE" else ""
    tests = f"tests: {build.tests.counted()}" if build.tests is not None else ""
    parts = [state.status.replace("_", " "), iteration, done, tests, level]
    return one_line(" · ".join(part for part in parts if part))


def _figures(build: BuildState) -> tuple[str, ...]:
    """Time of each phase that has begun."""
    short = {"planning": "plan", "execution": "work", "verification": "verify"}
    return tuple(
        f"{short[name]} {clock(seconds)}" for name, seconds in build.time_used.items() if seconds >= 1
    )


def _loop(build: BuildState) -> str:
    """`planner → [coder] → tester → supervisor`."""
    now = build.state.current_agent
    return " → ".join(f"[{role}]" if role == now else role for role in LOOP)


def _current_steps(build: BuildState) -> list[PlanStep]:
    if not build.plans:
        return []
    found: list[PlanStep] = []

    def add(steps: list[PlanStep]) -> None:
        for step in steps:
            found.append(step)
            add(step.sub_steps)

    add(build.plans[-1].steps)
    return found


def _row(step: PlanStep, alive: bool) -> Line:
    mark, weight = STEPS[step.status]
    if not alive and step.status == "in_progress":
        mark, weight = "■", "routine"
    notes: list[str] = []
    if step.attempts > 1:
        notes.append(f"attempt {step.attempts} of {step.max_attempts}")
    if step.test_results is not None and step.status != "completed":
        notes.append(one_line(step.test_results.counted(), 40))
    if not step.verified:
        notes.append("unverified")
    return Line(f"{step.label}. {one_line(step.description, 80)}", weight, tuple(notes), mark, 1 + step.depth)
