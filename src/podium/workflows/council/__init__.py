"""Discussion workflow: a team discusses a topic in rounds, scores every idea and recommends the best one."""

from __future__ import annotations

from podium.workflows import Builtin

BUILTIN = Builtin(
    prompt_budget=3_000,
    shared_options=frozenset(
        {
            "preset",
            "roles",
            "rounds",
            "passes",
            "min_ideas",
            "min_score",
            "deep_dive",
            "context_window",
            "web",
            "floor",
            "editor",
            "baseline",
        }
    ),
)
