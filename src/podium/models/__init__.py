"""Talking to models: what a call is, what it costs, and who can answer it."""

from __future__ import annotations
