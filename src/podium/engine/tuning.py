"""How the interpreter behaves while runs are driven.

A wide run holds tens of thousands of small objects that live until its steps end: looking through them for
garbage after every 700 new ones, as Python does by itself, takes a sixth of its time and finds nothing. And
a thread that writes the log waits 5 ms for a busy event loop to make room, each time.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager

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
