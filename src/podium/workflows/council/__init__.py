"""Discussion workflow: a team discusses a topic in rounds, scores every idea and recommends the best one."""

from __future__ import annotations
