"""Turns at the event loop: bursts of work are spread over many short iterations.

When sixty replies arrive at once, reading all of them in one iteration would keep every new call, every
commit and every reader of the process waiting until the last is read. So whoever is about to work for a
while takes a turn first: at once while the iteration is young, otherwise behind those who wait.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter
from weakref import WeakKeyDictionary

SLICE_S = 0.002
"""How long one iteration should be busy."""
_MOST = 64
"""More in one iteration than this is a burst, however short each of them was so far."""


class Turns:
    """The turns of one event loop, shared by all runs that it drives."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._patient: deque[asyncio.Future[None]] = deque()
        self._began = 0.0
        self._counting = False
        self._share = 8
        """How many may go in one iteration: more while iterations are short."""

    def take(self, *, urgent: bool = False) -> asyncio.Future[None] | None:
        """`None`: go on at once; else wait for the future first. Urgent is what frees a slot for a call."""
        if not self._counting:
            self._counting = True
            self._began = perf_counter()
            self._loop.call_soon(self._next)
            return None
        if not self._urgent and not self._patient and perf_counter() - self._began < SLICE_S:
            return None
        turn: asyncio.Future[None] = self._loop.create_future()
        (self._urgent if urgent else self._patient).append(turn)
        return turn

    def _next(self) -> None:
        """An iteration is over: let the next ones go."""
        if not self._urgent and not self._patient:
            self._counting = False
            return
        now = perf_counter()
        took, self._began = now - self._began, now
        if took > SLICE_S:
            self._share = max(1, self._share - self._share // 4 - 1)
        elif took < SLICE_S / 2:
            self._share = min(_MOST, self._share + 1)
        left = self._share
        for line in (self._urgent, self._patient):
            while line and left:
                turn = line.popleft()
                if not turn.done():
                    turn.set_result(None)
                    left -= 1
        self._loop.call_soon(self._next)


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def turns_of(loop: asyncio.AbstractEventLoop) -> Turns:
    """Those of a loop: runs that share it take turns with each other."""
    found = _TURNS.get(loop)
    if found is None:
        found = _TURNS[loop] = Turns(loop)
    return found
