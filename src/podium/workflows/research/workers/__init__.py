"""The workers, by what they do: research, analysis, writing, quality. `doing.py` finds the right one."""

from __future__ import annotations
