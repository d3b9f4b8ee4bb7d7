"""Research workflow: a state machine plans, runs workers, evaluates, replans, and writes a cited article."""

from __future__ import annotations
