"""A research run as a few lines, while it goes and afterwards: the phases as a strip with the laps, sources
against the minimum, and the workers of the plan as a grid, a row for each step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from podium.report.lines import Line
from podium.report.words import count, one_line
from podium.workflows.research.folding import AgentState, TaskState
from podium.workflows.research.machine import Phase
from podium.workflows.research.telling import PHASES, STATUSES, label_of

STRIP = (Phase.PLANNING, Phase.STRATEGY, Phase.EXECUTING, Phase.EVALUATING, Phase.MERGING)
"""The way of every iteration; the last only once."""
BAR = 10


def draw(state: AgentState, sources: int, most: int, *, alive: bool) -> list[Line]:
    """At most `most` lines; steps that are not at work go first, then the meter of the sources."""
    if state.current_phase is None or most < 1:
        return []
    rows = list(_grid(state, alive=alive))
    lines = [_strip(state, alive=alive), _meter(state, sources), *rows]
    if len(lines) > most:
        lines = [line for line in lines if line not in rows or "●" in line.what]
    return lines[:most]


def _strip(state: AgentState, *, alive: bool) -> Line:
    """`plan ✓ → strategy ✓ → work ● → evaluation ○ → merge ○`."""
    now = state.current_phase
    at = STRIP.index(now) if now in STRIP else len(STRIP) if now is Phase.COMPLETED else _reached(state)
    signs = ["✓" if nth < at else "○" for nth in range(len(STRIP))]
    if at < len(STRIP) and now is not Phase.INITIALIZED:
        signs[at] = "✗" if now is Phase.FAILED else "●" if alive else "■"
    told = " → ".join(f"{PHASES[phase]} {sign}" for phase, sign in zip(STRIP, signs, strict=True))
    return Line(told, "failure" if now is Phase.FAILED else "result", mark="▸")


def _reached(state: AgentState) -> int:
    """Where a run stands that is between two plans, or failed: the last phase of the strip that it was in."""
    if state.current_phase is not Phase.FAILED:
        return 0
    entered = [one["to"] for one in state.phase_history if one["to"] in STRIP]
    return STRIP.index(Phase(entered[-1])) if entered else 0


def _meter(state: AgentState, sources: int) -> Line:
    """`7 of 10 sources ▓▓▓▓▓▓▓░░░ · iteration 2 of 3 · quality 0.65`: what matters most stands first, because
    a narrow terminal cuts the rest."""
    wanted: Any = state.brief.get("min_sources")
    told, enough = count(sources, "source"), True
    if isinstance(wanted, int) and wanted > 0:
        full, enough = min(sources * BAR // wanted, BAR), sources >= wanted
        told = f"{sources} of {count(wanted, 'source')} {'▓' * full}{'░' * (BAR - full)}"
    parts = [told, f"iteration {state.iteration_count} of {state.max_iterations}"]
    scores = " → ".join(f"{one.quality:.2f}" for one in state.evaluations)
    parts += [f"quality {scores}"] if scores else []
    return Line(" · ".join(parts), "result" if enough else "routine", mark=" ")


def _grid(state: AgentState, *, alive: bool) -> Iterator[Line]:
    """A row for each step of the plan, a cell for each worker."""
    tasks = {one.worker: one for one in state.all_tasks if one.iteration == state.iteration_count}
    steps: list[dict[str, Any]] = state.current_plan.get("steps", []) if state.current_plan else []
    for step in steps:
        cells = [_cell(str(one), tasks.get(str(one)), alive=alive) for one in step.get("workers", ())]
        working = any(cell.startswith("●") for cell in cells)
        name = one_line(str(step.get("name", "")), 20)
        yield Line(f"{name:<9} {'  '.join(cells)}", "result" if working else "routine", mark=" ")


def _cell(worker: str, task: TaskState | None, *, alive: bool) -> str:
    status = "kept" if task and task.kept else task.status if task else "pending"
    status = "stopped" if status == "running" and not alive else status
    sign = "~" if task and task.fallback else STATUSES.get(status, "·")
    tries = f" ({task.attempts})" if task and task.attempts > 1 and not task.kept else ""
    return f"{sign} {label_of(worker)}{tries}"
