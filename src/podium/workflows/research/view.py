"""Terminal lines and drawing of `research`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from podium.engine.events import EventData
from podium.report.presentation import Line, Weight
from podium.report.words import count, duration, money, needs, one_line
from podium.workflows.research import events
from podium.workflows.research.fold import AgentState, TaskState
from podium.workflows.research.policy import Phase
from podium.workflows.research.report_data import NAMES, PHASES, STATUSES, against, label_of

JUDGED = frozenset({"claims", "grammar", "quality", "score"})
"""Keys of a worker's result that hold judgements of a model."""


def _phase(data: events.PhaseChanged, state: AgentState) -> Line | None:
    """Return a line only for phases that no other line shows."""
    if data.to == "re_planning":
        return Line(f"Iteration {data.iteration} was not good enough: planning again", "result", mark="↻")
    if data.to == "failed":
        return Line(one_line(f"failed: {data.reason}" if data.reason else "failed"), "failure", mark="✗")
    return None


def _planned(data: events.PlanCreated, state: AgentState) -> Line:
    plan = data.plan
    workers = [worker for step in plan.get("steps", ()) for worker in step.get("workers", ())]
    steps = count(len(plan.get("steps", ())), "step")
    again = f"Iteration {data.iteration}: " if data.iteration > 1 else ""
    kept = f", {len(data.kept)} kept as they are" if data.kept else ""
    level = f"{plan.get('level', '')} topic" if plan.get("level") and data.iteration == 1 else ""
    what = f"{again}{count(len(workers), 'worker')} in {steps}{kept}"
    return Line(", ".join(part for part in (what, level) if part), "result", _expected(plan), "▸")


def _expected(plan: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"≈ {money(float(plan.get('estimated_cost') or 0))}",
        f"≈ {duration(float(plan.get('estimated_time') or 0))}",
    )


def _optimized(data: events.PlanOptimized, state: AgentState) -> Line | None:
    """Return the changes of a plan, or None if it was not changed."""
    if not data.changes:
        return None
    saved = [f"saves {money(data.cost_saved)}"] if data.cost_saved > 0 else []
    saved += [f"saves {duration(data.time_saved)}"] if data.time_saved > 0 else []
    weight: Weight = "warning" if data.removed else "routine"
    return Line(one_line(" ".join(data.changes), 300), weight, tuple(saved), "─", 1)


def _completed(data: events.WorkerCompleted, state: AgentState) -> Line:
    what = ", ".join(gist_of(data.result)) or "done"
    if data.kept:
        return Line(f"{label_of(data.worker)}: kept", mark="=", indent=1)
    notes = (f"attempt {data.attempts}",) if data.attempts > 1 else ()
    score_in = "what" if JUDGED & data.result.keys() else ""
    if data.fallback:
        instead = f"{label_of(data.worker)} failed, {label_of(data.fallback)} stands in: {what}"
        return Line(one_line(instead, 300), "warning", notes, "~", 1, score_in)
    return Line(f"{label_of(data.worker)}: {one_line(what, 200)}", "result", notes, "✓", 1, score_in)


def gist_of(result: dict[str, Any]) -> Iterator[str]:
    """Describe a worker's result. Unknown keys are skipped."""
    counted = {
        "found": "found",
        "picked": "by the searcher",
        "read": "read in full",
        "snippets": "only by their snippet",
        "summaries": "summarised",
        "word_count": "words",
    }
    nouns = {"points": "point", "sections": "section", "insights": "insight"}
    yield from (f"{result[key]:,} {word}" for key, word in counted.items() if _is_count(result.get(key)))
    yield from (count(result[key], word) for key, word in nouns.items() if _is_count(result.get(key)))
    if isinstance(result.get("cites"), list):
        yield f"cites {count(len(result['cites']), 'source')}"
    if _is_count(result.get("claims")):
        yield f"{result.get('verified', 0)} of {count(result['claims'], 'claim')} verified"
    if _is_count(result.get("contradictions")) and result["contradictions"]:
        yield count(result["contradictions"], "contradiction")
    shares = {"grammar": "grammar", "quality": "accuracy", "score": "score", "share": "copied"}
    for key, word in shares.items():
        if isinstance(result.get(key), float | int):
            yield f"{word} {result[key]:.0%}"
    if isinstance(result.get("flesch"), float | int) and isinstance(result.get("grade"), float | int):
        yield f"Flesch {result['flesch']:.0f}, grade {result['grade']:.0f}"
    if isinstance(result.get("missing"), list) and result["missing"]:
        yield f"{count(len(result['missing']), 'sentence')} without a citation"


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _retried(data: events.WorkerRetried, state: AgentState) -> Line:
    what = f"{label_of(data.worker)} tries again in {data.wait_s:g} s: {one_line(data.error, 200)}"
    return Line(what, notes=(f"attempt {data.attempt} of {data.most}",), mark="↻", indent=1)


def _skipped(data: events.WorkerSkipped, state: AgentState) -> Line:
    tries = f"after {count(data.attempts, 'attempt')}"
    return Line(one_line(data.warning or data.error, 300), "warning", (tries,), "!", 1)


def _failed(data: events.WorkerFailed, state: AgentState) -> Line:
    tries = f"after {count(data.attempts, 'attempt')}"
    what = f"{label_of(data.worker)} failed, and nothing goes on without it: {one_line(data.error, 200)}"
    return Line(what, "failure", (tries,), "✗", 1)


def _evaluated(data: events.Evaluated, state: AgentState) -> Line:
    good = data.quality >= data.threshold
    parts = " · ".join(
        f"{NAMES.get(key, one_line(key, 40)).lower()} {value:.2f}" for key, value in data.components.items()
    )
    low = f"; {one_line(' '.join(data.feedback[:2]), 200)}" if data.feedback and not good else ""
    figures = (needs(*against(data.quality, data.threshold)),)
    weight, mark = ("result", "✓") if good else ("warning", "!")
    return Line(f"Quality: {parts}{low}", weight, figures, mark, score_in="notes")


def _merged(data: events.Merged, state: AgentState) -> Line:
    what = f"Merged: {data.word_count:,} words from {count(data.sources, 'source')}"
    notes = () if data.quality is None else (f"quality {data.quality:.2f}",)
    notes += (data.improvement,) if data.improvement else ()
    weight: Weight = "result" if data.status == "completed" else "warning"
    mark = "✓" if data.status == "completed" else "~"
    return Line(what, weight, notes, mark, score_in="" if data.quality is None else "notes")


LINES: dict[type[EventData], Callable[[Any, AgentState], Line | None]] = {
    events.PhaseChanged: _phase,
    events.PlanCreated: _planned,
    events.PlanOptimized: _optimized,
    events.WorkerCompleted: _completed,
    events.WorkerRetried: _retried,
    events.WorkerSkipped: _skipped,
    events.WorkerFailed: _failed,
    events.Evaluated: _evaluated,
    events.Merged: _merged,
}


STRIP = (Phase.PLANNING, Phase.STRATEGY, Phase.EXECUTING, Phase.EVALUATING, Phase.MERGING)
"""The phases of every iteration; merging happens only once."""
BAR = 10


def draw(state: AgentState, sources: int, most: int, *, alive: bool) -> list[Line]:
    """Draw at most `most` lines. If there are too many, steps without an active worker are dropped first."""
    if state.current_phase is None or most < 1:
        return []
    rows = list(_grid(state, alive=alive))
    lines = [_strip(state, alive=alive), _meter(state, sources), *rows]
    if len(lines) > most:
        lines = [line for line in lines if line not in rows or "●" in line.what]
    return lines[:most]


def _strip(state: AgentState, *, alive: bool) -> Line:
    """Return `plan ✓ → strategy ✓ → work ● → evaluation ○ → merge ○`."""
    now = state.current_phase
    at = STRIP.index(now) if now in STRIP else len(STRIP) if now is Phase.COMPLETED else _reached(state)
    signs = ["✓" if nth < at else "○" for nth in range(len(STRIP))]
    if at < len(STRIP) and now is not Phase.INITIALIZED:
        signs[at] = "✗" if now is Phase.FAILED else "●" if alive else "■"
    strip = " → ".join(f"{PHASES[phase]} {sign}" for phase, sign in zip(STRIP, signs, strict=True))
    return Line(strip, "failure" if now is Phase.FAILED else "result", mark="▸")


def _reached(state: AgentState) -> int:
    """Return the index of the last phase entered by a failed run; 0 for a run between two plans."""
    if state.current_phase is not Phase.FAILED:
        return 0
    entered = [change["to"] for change in state.phase_history if change["to"] in STRIP]
    return STRIP.index(Phase(entered[-1])) if entered else 0


def _meter(state: AgentState, sources: int) -> Line:
    """Return `7 of 10 sources ▓▓▓▓▓▓▓░░░ · iteration 2 of 3 · quality 0.65`. The most important part comes
    first, because a narrow terminal cuts the rest."""
    wanted = state.wanted_sources
    full = min(sources * BAR // wanted, BAR)
    progress = f"{sources_text(state, sources)} {'▓' * full}{'░' * (BAR - full)}"
    parts = [progress, f"iteration {state.iteration_count} of {state.max_iterations}"]
    scores = " → ".join(f"{evaluation.quality:.2f}" for evaluation in state.evaluations)
    parts += [f"quality {scores}"] if scores else []
    return Line(" · ".join(parts), "result" if sources >= wanted else "routine", mark=" ")


def sources_text(state: AgentState, sources: int) -> str:
    """Return `7 of 10 sources`."""
    return f"{sources} of {count(state.wanted_sources, 'source')}"


def _grid(state: AgentState, *, alive: bool) -> Iterator[Line]:
    """Return a row for each step of the plan, with a cell for each worker."""
    tasks = {task.worker: task for task in state.all_tasks if task.iteration == state.iteration_count}
    steps: list[dict[str, Any]] = state.current_plan.get("steps", []) if state.current_plan else []
    for step in steps:
        cells = [
            _cell(str(worker), tasks.get(str(worker)), alive=alive) for worker in step.get("workers", ())
        ]
        working = any(cell.startswith("●") for cell in cells)
        name = one_line(str(step.get("name", "")), 20)
        yield Line(f"{name:<9} {'  '.join(cells)}", "result" if working else "routine", mark=" ")


def _cell(worker: str, task: TaskState | None, *, alive: bool) -> str:
    status = "kept" if task and task.kept else task.status if task else "pending"
    status = "stopped" if status == "running" and not alive else status
    sign = "~" if task and task.fallback else STATUSES.get(status, "·")
    tries = f" ({task.attempts})" if task and task.attempts > 1 and not task.kept else ""
    return f"{sign} {label_of(worker)}{tries}"
