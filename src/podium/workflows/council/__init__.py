"""A team discusses a topic in rounds; every idea is scored, and the best one is recommended in a report."""

from __future__ import annotations
