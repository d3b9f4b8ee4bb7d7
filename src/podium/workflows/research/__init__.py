"""Research workflow: a state machine plans, runs workers, evaluates, replans, and writes a cited article."""

from __future__ import annotations

from podium.workflows import Builtin

BUILTIN = Builtin(
    prompt_budget=3_000,
    shared_options=frozenset(
        {
            "content_type",
            "length",
            "tone",
            "depth",
            "min_sources",
            "preferred_sources",
            "min_quality",
            "citation_style",
            "online",
            "max_usd",
            "time_limit",
            "floor",
            "editor",
            "sources_only",
        }
    ),
)
