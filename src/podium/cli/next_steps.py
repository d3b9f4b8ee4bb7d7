"""What somebody will want to do next with a run, as commands that can be pasted."""

from __future__ import annotations

import shlex
from math import ceil

from podium.cli.opening import Commands
from podium.engine.state import RunState
from podium.report.presentation import GENERIC, Presentation

_FLAGS = {"usd": "--max-usd", "tokens": "--max-tokens", "calls": "--max-calls", "seconds": "--time-limit"}


def next_steps(
    state: RunState, status: str, commands: Commands, shown: Presentation = GENERIC
) -> list[tuple[str, str]]:
    """Pairs of a command and why one would use it, the most useful first."""
    run_id = state.run_id
    own = [(commands(*words), why) for words, why in shown.suggestions()]
    show = (commands("show", run_id), "details")
    report = (commands("report", run_id, "-o", "report.html"), "report")
    if status == "waiting":
        return [(command, "answer") for command in answers(state, commands)] + [show]
    if status in ("paused", "queued", "failed"):
        return [(commands("resume", run_id), "resume"), show]
    if status == "partial":
        goes_on = [(commands("resume", run_id, *_larger_budget(state)), "resume")]
        return [*(goes_on if state.can_go_on else own), show, report]
    if status == "running":
        return [(commands("events", run_id, "--follow"), "watch")]
    return [*own, show, report] if status == "completed" else [show]


def answers(state: RunState, commands: Commands) -> list[str]:
    """One command per way to answer the first open question."""
    found: list[str] = []
    for path, question in list(state.questions.items())[:3]:
        which = () if len(state.questions) == 1 else ("--question", shlex.quote(path))
        given = [shlex.quote(choice) for choice in question.choices] or ["TEXT"]
        found += [commands("answer", state.run_id, choice, *which) for choice in given[:4]]
    return found


def _larger_budget(state: RunState) -> tuple[str, ...]:
    """The ceiling that was met, doubled, and never less than what is needed: a starting point, not advice."""
    met = state.exhausted
    if met is None or met.scope or met.kind not in _FLAGS:
        return ()
    total = max(met.limit * 2, met.spent + met.needed)
    if met.kind in ("tokens", "calls"):
        return _FLAGS[met.kind], str(ceil(total))
    rounded = f"{ceil(total * 100) / 100:.2f}".rstrip("0").rstrip(".")
    return _FLAGS[met.kind], rounded + ("s" if met.kind == "seconds" else "")
