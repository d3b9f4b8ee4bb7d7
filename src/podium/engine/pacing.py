"""Driven clock, call slots, loop fairness, GC tuning.

When sixty replies arrive at once, reading all of them in one iteration would keep every new call, every
commit and every reader of the process waiting until the last is read. So whoever is about to work for a
while takes a turn first: at once while the iteration is young, otherwise behind those who wait.

A wide run holds tens of thousands of small objects that live until its steps end: looking through them for
garbage after every 700 new ones, as Python does by itself, takes a sixth of its time and finds nothing. And
a thread that writes the log waits 5 ms for a busy event loop to make room, each time.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from time import perf_counter
from weakref import WeakKeyDictionary


class RecordedClock:
    """Seconds that the run has been driven in all. Waiting for people and timers does not count."""

    def __init__(self, before: float) -> None:
        self._total = before
        self._since: float | None = None

    def start(self) -> None:
        if self._since is None:
            self._since = time.monotonic()

    def stop(self) -> None:
        if self._since is not None:
            self._total += time.monotonic() - self._since
            self._since = None

    def now(self) -> float:
        return self._total if self._since is None else self._total + time.monotonic() - self._since


class Slots:
    """The slots of one run. Whoever gives one back hands it to the one who has waited longest: nobody who
    comes just then is quicker, and a slot that is free is taken without a wait."""

    __slots__ = ("_free", "_line", "_loop")

    def __init__(self, count: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = count
        self._line: deque[asyncio.Future[None]] | None = None
        """Those who wait; most runs that are idle never had any, and an empty line takes half a kilobyte."""

    def take(self) -> asyncio.Future[None] | None:
        """`None`: it is yours; else it is when `taken` of this returns."""
        if self._free:
            self._free -= 1
            return None
        turn: asyncio.Future[None] = self._loop.create_future()
        if self._line is None:
            self._line = deque()
        self._line.append(turn)
        return turn

    async def taken(self, turn: asyncio.Future[None]) -> None:
        """Wait in line. Whoever leaves it when the slot is there already hands it on."""
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Give one back."""
        line = self._line
        while line:
            turn = line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


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


_COLLECT_AFTER = 10_000
"""New objects, before the youngest are looked through."""
_ALL_AFTER = 50
"""So many looks at the middle-aged, before all there are are looked through: tens of milliseconds in which
nothing else goes on."""
_SWITCH_S = 0.0003
"""After so long a thread that waits gets its turn."""

_lock = threading.Lock()
_drivers = 0
_before = (gc.get_threshold(), sys.getswitchinterval())


@contextmanager
def tuned() -> Generator[None]:
    """Around the driving of a run: any number of them, on any thread. The last one puts it all back."""
    global _drivers, _before
    with _lock:
        if _drivers == 0:
            _before = gc.get_threshold(), sys.getswitchinterval()
            (youngest, middle, oldest), switch_s = _before
            if youngest:  # 0: never
                gc.set_threshold(max(youngest, _COLLECT_AFTER), middle, max(oldest, _ALL_AFTER))
            if switch_s > _SWITCH_S:
                sys.setswitchinterval(_SWITCH_S)
        _drivers += 1
    try:
        yield
    finally:
        with _lock:
            _drivers -= 1
            if _drivers == 0:
                gc.set_threshold(*_before[0])
                if _before[1] > _SWITCH_S:  # it is kept cut off: to set what was read would make it smaller
                    sys.setswitchinterval(_before[1])
