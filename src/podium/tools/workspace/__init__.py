"""Workspace of a run: a private repository and work tree, separate from the user's checkout."""

from __future__ import annotations
