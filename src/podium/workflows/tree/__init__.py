"""Recursive planning workflow: a node executes its task or splits it into bands of steps; parents
aggregate."""

from __future__ import annotations
