"""Durable conversation with one agent."""

from __future__ import annotations

from podium.workflows import Builtin

BUILTIN = Builtin(prompt_budget=1_000, shared_options=frozenset())
