"""Department workflow: a master routes a request; heads brief, grade, retry and merge specialists."""

from __future__ import annotations

from podium.workflows import Builtin

BUILTIN = Builtin(
    prompt_budget=4_000,
    shared_options=frozenset(
        {
            "team",
            "departments",
            "router",
            "specialists",
            "synthesis_rounds",
            "batch_grading",
            "adaptive",
            "project",
            "floor",
            "editor",
        }
    ),
)
