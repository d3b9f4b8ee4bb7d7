"""Recursive planning workflow: nodes execute a task or split it into bands of steps; parents aggregate."""

from __future__ import annotations
