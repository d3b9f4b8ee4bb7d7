"""Workers by category: research, analysis, writing, quality. `orchestrator.py` dispatches them."""

from __future__ import annotations
