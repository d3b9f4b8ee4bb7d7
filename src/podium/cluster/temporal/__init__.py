"""Runs carried by Temporal: one workflow a run, one long activity that drives it."""

from __future__ import annotations
