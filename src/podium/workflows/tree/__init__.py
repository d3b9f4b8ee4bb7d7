"""Recursive planning workflow: nodes execute a task or split it into bands of steps; parents aggregate."""

from __future__ import annotations

from podium.workflows import Builtin

BUILTIN = Builtin(
    prompt_budget=4_500,
    shared_options=frozenset(
        {
            "max_depth",
            "max_bands",
            "max_steps",
            "replans",
            "max_nodes",
            "deliverable",
            "web",
            "floor",
            "editor",
        }
    ),
)
