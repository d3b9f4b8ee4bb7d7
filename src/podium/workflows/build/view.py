"""Terminal lines and drawing of `build`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from podium.engine.events import EventData
from podium.report.presentation import Line, Weight
from podium.report.words import clock, count, duration, needs, one_line
from podium.workflows.build import events
from podium.workflows.build.fold import BuildState, with_sub_steps
from podium.workflows.build.state import PlanStep

PHASES = {
    "initializing": "Opening the workspace", "planning": "Planning", "executing": "Coding",
    "testing": "Testing", "verifying": "Verifying", "completed": "The goal is met",
    "failed": "The goal is not met", "aborted": "Ended by the supervisor", "time_expired": "Time is up",
}  # fmt: skip
STEPS: dict[str, tuple[str, Weight]] = {
    "pending": ("○", "routine"), "in_progress": ("●", "result"), "completed": ("✓", "result"),
    "failed": ("✗", "failure"), "blocked": ("■", "warning"),
}  # fmt: skip
GATES = {"plan": "plan", "code": "code", "test": "test review", "step": "step", "goal": "goal"}
LOUD = frozenset({"planning", "completed", "failed", "aborted", "time_expired"})


def is_noise(data: EventData) -> bool:
    """True if other lines already show a build's own event."""
    if isinstance(data, events.Message):
        return True
    if isinstance(data, events.Phase):
        return data.status not in LOUD
    if isinstance(data, events.StepChanged):
        return data.status == "in_progress" and data.attempts > 1 and not data.fail_reason
    if isinstance(data, events.PlanCreated):
        return not data.approved
    if isinstance(data, events.TestsRun):
        return bool(data.result.summary)  # the reviewed copy of an earlier result
    return False


def _depth(build: BuildState, step_id: str) -> int:
    step = build.step(step_id)
    return 1 + (step.depth if step is not None else 0)


def _label(build: BuildState, step_id: str) -> str:
    step = build.step(step_id)
    return f"step {step.label}" if step is not None else "the goal"


def _phase(data: events.Phase, build: BuildState) -> Line:
    what = PHASES.get(data.status, data.status)
    if data.status == "planning" and data.iteration > 1:
        what = f"{what}, iteration {data.iteration}"
    weight: Weight = "failure" if data.status in ("failed", "aborted") else "result"
    weight = "warning" if data.status == "time_expired" else weight
    told = data.reason if data.status in ("failed", "aborted", "time_expired") else ""
    return Line(f"{what}: {one_line(told, 300)}" if told else what, weight, mark="▸")


def _opened(data: events.Opened, build: BuildState) -> Line:
    bare = data.sandbox == "none"
    what = f"{data.branch}, tests: {one_line(data.tests, 100)}, sandbox: {one_line(data.sandbox, 40)}"
    return Line(what, "warning" if bare else "routine", mark="!" if bare else "·", indent=1)


def _message(data: events.Message, build: BuildState) -> Line:
    return Line(f"{data.kind} {data.sender} → {data.to}: {one_line(data.summary, 120)}", "trace")


def _planned(data: events.PlanCreated, build: BuildState) -> Line:
    kind = f"sub-plan of {_label(build, data.step_id)}" if data.step_id else "plan"
    steps = count(len(data.plan.steps), "step")
    again = f", revision {data.revision}" if data.revision else ""
    how = " (the planner could not be asked)" if data.fallback else ""
    word = "approved" if data.approved else "drafted"
    weight: Weight = "warning" if data.fallback else "result"
    return Line(f"{kind} {word}: {steps}{again}{how}", weight, mark="≡", indent=1 + data.plan.depth)


def _step(data: events.StepChanged, build: BuildState) -> Line:
    mark, weight = STEPS[data.status]
    step = build.step(data.step_id)
    title = f"{step.label}. {one_line(step.description, 90)}" if step is not None else data.step_id
    indent = 1 + data.depth
    if data.status == "in_progress" and data.fail_reason:
        return Line(one_line(data.fail_reason, 120), "warning", mark="↻", indent=indent + 1)
    if data.status in ("failed", "blocked"):
        return Line(f"{title}: {one_line(data.fail_reason or '', 300)}", weight, (data.status,), mark, indent)
    unverified = () if data.verified else ("unverified",)
    return Line(title, weight, unverified, mark, indent)


def _coded(data: events.Coded, build: BuildState) -> Line:
    output, indent = data.output, _depth(build, data.step_id) + 1
    if output.status == "refused":  # refusals by a gate have the gate's own line
        return Line(f"caught: {one_line('; '.join(output.caught), 300)}", "warning", mark="!", indent=indent)
    what = f"{'fix' if output.cycle else 'code'}: {one_line(output.summary, 80) or 'no words about it'}"
    return Line(what, notes=(count(len(output.files), "file"),), indent=indent)


def _looked_up(data: events.LookedUp, build: BuildState) -> Line:
    what = f"coder {'reads' if data.kind == 'read' else 'searches'} {one_line(data.target, 100)}"
    return Line(
        what,
        "routine" if data.ok else "warning",
        (f"{data.number} of 10",),
        indent=_depth(build, data.step_id) + 1,
    )


def _tested(data: events.TestsRun, build: BuildState) -> Line:
    result = data.result
    mark = "✓" if result.ok else "✗"
    scope = "whole suite" if not data.step_id else "tests"
    took = (duration(result.seconds),) if result.seconds >= 0.05 else ()
    weight: Weight = "result" if result.ok else "warning"
    return Line(
        f"{scope}: {one_line(result.counted(), 200)}", weight, took, mark, _depth(build, data.step_id) + 1
    )


def _baseline(data: events.Baseline, build: BuildState) -> Line:
    result = data.result
    weight: Weight = "routine" if result.ok else "warning"
    took = (duration(result.seconds),) if result.seconds >= 0.05 else ()
    text = f"tests before any change: {one_line(result.counted(), 200)}"
    return Line(text, weight, took, "✓" if result.ok else "✗", 1)


def _verified(data: events.Verified, build: BuildState) -> Line:
    gate, indent = GATES.get(data.gate, data.gate), _depth(build, data.step_id) + 1
    if data.by == "nobody":
        return Line(
            f"{gate}: unverified, {one_line(data.result.reason, 200)}", "warning", mark="!", indent=indent
        )
    why = "; ".join(data.problems or data.result.issues) or data.result.reason
    asked = data.by == "supervisor"
    score = (needs(f"{data.result.score:g}", f"{data.threshold:g}") if asked else "by rule",)
    marked = "notes" if asked else ""
    if data.passed:
        return Line(f"{gate} passed", "routine", score, "✓", indent, marked)
    return Line(f"{gate} rejected: {one_line(why, 300)}", "warning", score, "✗", indent, marked)


def _escalated(data: events.Escalated, build: BuildState) -> Line:
    weight: Weight = "failure" if data.level in ("CRITICAL", "ABORT") else "warning"
    notes = (count(data.issues, "issue") + " in a row",) if data.issues > 1 else ()
    return Line(
        f"escalation {data.before} → {data.level}: {one_line(data.reason, 200)}", weight, notes, "▲", 1
    )


def _committed(data: events.Committed, build: BuildState) -> Line:
    return Line(
        f"committed {data.sha[:10]} {one_line(data.message, 90)}",
        "result",
        mark="◆",
        indent=_depth(build, data.step_id) + 1,
    )


def _finished(data: events.Finished, build: BuildState) -> Line:
    return Line(f"{data.branch}: {stat_words(data.diff_stat)}", "result", mark="✓")


def stat_words(stat: dict[str, Any]) -> str:
    """Return `3 files changed, 40 lines added, 2 removed`."""
    if not stat or not stat.get("files"):
        return "no changes"
    files = count(len(stat["files"]), "file")
    return f"{files} changed, {stat.get('added', 0)} lines added, {stat.get('removed', 0)} removed"


LINES: dict[type[EventData], Callable[[Any, BuildState], Line | None]] = {
    events.Phase: _phase,
    events.Opened: _opened,
    events.Message: _message,
    events.PlanCreated: _planned,
    events.StepChanged: _step,
    events.Coded: _coded,
    events.LookedUp: _looked_up,
    events.TestsRun: _tested,
    events.Baseline: _baseline,
    events.Verified: _verified,
    events.Escalated: _escalated,
    events.Committed: _committed,
    events.Finished: _finished,
}


LOOP = ("planner", "coder", "tester", "supervisor")


def draw(build: BuildState, most: int, *, alive: bool) -> list[Line]:
    """Draw at most `most` lines: the progress, the loop, and the steps. Active and failed steps take
    precedence."""
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
    """Return the time of each phase that took at least a second."""
    short = {"planning": "plan", "execution": "work", "verification": "verify"}
    return tuple(
        f"{short[name]} {clock(seconds)}" for name, seconds in build.time_used.items() if seconds >= 1
    )


def _loop(build: BuildState) -> str:
    """Return `planner → [coder] → tester → supervisor`, with the active role in brackets."""
    now = build.state.current_agent
    return " → ".join(f"[{role}]" if role == now else role for role in LOOP)


def _current_steps(build: BuildState) -> list[PlanStep]:
    if not build.plans:
        return []
    return list(with_sub_steps(build.plans[-1].steps))


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
