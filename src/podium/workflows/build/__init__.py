"""Coding workflow: supervisor, planner, coder and tester change a real workspace until its tests pass."""

from __future__ import annotations
