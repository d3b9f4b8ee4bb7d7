"""Shared start and end of several workflows: a direct draft first, an editor and a blind comparison last."""

from __future__ import annotations
