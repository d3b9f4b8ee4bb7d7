"""Python API: start, run, resume, fork, replay, cancel and answer.

handle = await podium.start("flow.py:haiku", "the sea", model="rehearsal")
async for event in handle.events():
    print(event.type, event.path)
result = await handle.result()
"""

from __future__ import annotations

from podium.api.admission import enqueue, enqueue_fork
from podium.api.control import answer, cancel, raise_budget, replay
from podium.api.launch import RunHandle, fork, resume, run, start

__all__ = [
    "RunHandle",
    "answer",
    "cancel",
    "enqueue",
    "enqueue_fork",
    "fork",
    "raise_budget",
    "replay",
    "resume",
    "run",
    "start",
]
