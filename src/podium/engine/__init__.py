"""Durable execution: a run is an append-only log, and everything else is a fold over it."""

from __future__ import annotations
