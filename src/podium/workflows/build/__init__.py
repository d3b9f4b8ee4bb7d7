"""Coding workflow: a supervisor, a planner, a coder and a tester change a real workspace until its tests
pass."""

from __future__ import annotations
