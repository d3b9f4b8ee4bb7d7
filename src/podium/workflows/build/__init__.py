"""Coding workflow: supervisor, planner, coder and tester change a real workspace until its tests pass."""

from __future__ import annotations

from podium.workflows import Builtin

BUILTIN = Builtin(
    prompt_budget=2_000,
    shared_options=frozenset({"max_iterations"}),
)
