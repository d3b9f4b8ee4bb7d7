"""Discussion workflow: a team discusses a topic in rounds, every idea is scored, and the best one is
recommended."""

from __future__ import annotations
