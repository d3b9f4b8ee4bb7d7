"""Agents, their prompts, and `ask`."""

from __future__ import annotations
