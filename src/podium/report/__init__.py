"""Presentation of a log: one line per event, and reports. Everything here is a fold over events."""

from __future__ import annotations
