"""OpenTelemetry traces of runs: a fold over the log, so that a run is independent of it and can be traced at
any time."""

from __future__ import annotations
