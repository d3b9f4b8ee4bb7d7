"""The Python interface: start, run, resume, fork, replay, cancel and answer.

handle = await podium.start("flow.py:haiku", "the sea", model="rehearsal")
async for event in handle.events():
    print(event.type, event.path)
result = await handle.result()
"""

from podium.api.control import answer, cancel, raise_budget, replay
from podium.api.handle import RunHandle
from podium.api.launch import fork, resume, run, start
from podium.api.queueing import enqueue, enqueue_fork

__all__ = [
    "RunHandle", "answer", "cancel", "enqueue", "enqueue_fork", "fork",
    "raise_budget", "replay", "resume", "run", "start",
]  # fmt: skip
