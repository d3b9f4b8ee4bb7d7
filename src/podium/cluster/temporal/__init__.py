"""Engine on Temporal: one workflow per run, with one long activity that drives it."""

from __future__ import annotations
