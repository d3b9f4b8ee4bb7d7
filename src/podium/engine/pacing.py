"""Driven clock, call slots, event loop fairness and GC tuning.

When sixty replies arrive at once, decoding all of them in one loop iteration would delay every new call,
commit and reader of the process until the last is decoded. So a task takes a turn before longer work: at once
while the iteration is young, otherwise behind the tasks that already wait.

A wide run holds tens of thousands of small objects that live until its steps end: collecting garbage after
every 700 new objects, Python's default, takes a sixth of its time and finds nothing. And with the default
switch interval, a thread that writes the log waits 5 ms for a busy event loop each time.
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
    """Total seconds that the run has been driven, without waits for people and timers."""

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
    """Concurrency slots of one run, granted in FIFO order. A free slot is taken without a wait."""

    __slots__ = ("_free", "_line", "_loop")

    def __init__(self, count: int) -> None:
        self._loop = asyncio.get_running_loop()
        self._free = count
        self._line: deque[asyncio.Future[None]] | None = None
        """Waiting tasks; `None` until the first one, because an empty deque takes half a kilobyte per idle
        run."""

    def take(self) -> asyncio.Future[None] | None:
        """Take a slot. Returns `None` if it was free, otherwise a future to pass to `taken`."""
        if self._free:
            self._free -= 1
            return None
        turn: asyncio.Future[None] = self._loop.create_future()
        if self._line is None:
            self._line = deque()
        self._line.append(turn)
        return turn

    async def taken(self, turn: asyncio.Future[None]) -> None:
        """Wait for the slot. If the wait is cancelled after the slot was granted, pass it on."""
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.give()
            raise

    def give(self) -> None:
        """Release a slot."""
        line = self._line
        while line:
            turn = line.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


SLICE_S = 0.002
"""Target duration of one loop iteration, in seconds."""
_MOST = 64
"""Maximum number of turns per iteration, even if each is short."""


class Turns:
    """The turns of one event loop, shared by all runs that it drives."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._urgent: deque[asyncio.Future[None]] = deque()
        self._patient: deque[asyncio.Future[None]] = deque()
        self._began = 0.0
        self._counting = False
        self._share = 8
        """Number of turns per iteration; grows while iterations are short."""

    def take(self, *, urgent: bool = False) -> asyncio.Future[None] | None:
        """Return `None` to continue at once, or a future to await first. `urgent` is for work that frees a
        call slot."""
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
        """Start the next turns when an iteration is over."""
        if not self._urgent and not self._patient:
            self._counting = False
            return
        now = perf_counter()
        took, self._began = now - self._began, now
        if took > SLICE_S:
            self._share = max(1, self._share - self._share // 4 - 1)
        elif took < SLICE_S / 2:
            self._share = min(_MOST, self._share + 1)
        turns_left = self._share
        for line in (self._urgent, self._patient):
            while line and turns_left:
                turn = line.popleft()
                if not turn.done():
                    turn.set_result(None)
                    turns_left -= 1
        self._loop.call_soon(self._next)


_TURNS: WeakKeyDictionary[asyncio.AbstractEventLoop, Turns] = WeakKeyDictionary()


def turns_of(loop: asyncio.AbstractEventLoop) -> Turns:
    """Return the turns of a loop, shared by all runs on it."""
    turns = _TURNS.get(loop)
    if turns is None:
        turns = _TURNS[loop] = Turns(loop)
    return turns


_COLLECT_AFTER = 10_000
"""Gen-0 collection threshold, in new objects."""
_ALL_AFTER = 50
"""Gen-1 collections per full collection, which blocks everything for tens of milliseconds."""
_SWITCH_S = 0.0003
"""Thread switch interval, in seconds."""

_lock = threading.Lock()
_drivers = 0
_before = (gc.get_threshold(), sys.getswitchinterval())


@contextmanager
def tuned() -> Generator[None]:
    """Tune GC and thread switching while runs are driven. Reentrant across threads; the last exit restores
    both."""
    global _drivers, _before
    with _lock:
        if _drivers == 0:
            _before = gc.get_threshold(), sys.getswitchinterval()
            (youngest, middle, oldest), switch_s = _before
            if youngest:  # 0: collection is disabled
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
                if _before[1] > _SWITCH_S:  # the read value is truncated, so setting it again would lower it
                    sys.setswitchinterval(_before[1])
