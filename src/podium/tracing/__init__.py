"""Traces of runs for OpenTelemetry: a fold over the log, so that a run need not know of it
and can be traced at any time."""

from __future__ import annotations
