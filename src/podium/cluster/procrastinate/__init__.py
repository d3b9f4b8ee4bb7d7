"""Procrastinate as the engine: PostgreSQL is all it needs. Needs the extra `cluster`."""

from __future__ import annotations
