"""The warden: waits for the death of its host, and ends the sandboxes that do not notice it themselves.

The kernel ends a bubblewrap whose parent dies, but only from the moment on at which bubblewrap has asked for
it; and between its two processes there is a moment in which the outer one is ended while the inner one waits
for its word, for ever. So a host that is killed while it starts a sandbox could leave one behind.
"""

from __future__ import annotations

import os
import signal
import sys
import time

_PASSES, _PAUSE = 600, 0.05
"""How often it looks at the most, and the seconds between two looks."""

_QUIET = 2
"""So many looks in a row must find nothing: a program that is just being started has let go of the host's
pipe a moment before its arguments can be read."""


def main() -> None:
    """Read the mark that all sandboxes of the host carry; the input ends with the host, and with each process
    that the host has begun to start. Signals are for the host: whoever ends it does not end this."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    mark = sys.stdin.buffer.read()
    if mark:
        end_marked(mark)


def end_marked(mark: bytes) -> None:
    """End every process that has the mark among its arguments, and those that they start meanwhile."""
    quiet = 0
    for _ in range(_PASSES):
        ended = [pid for pid in marked(mark) if _end(pid)]
        quiet = 0 if ended else quiet + 1
        if quiet == _QUIET:
            return
        time.sleep(_PAUSE)


def marked(mark: bytes) -> list[int]:
    """The processes that carry the mark: everybody may read the arguments of everybody's processes."""
    found: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    text = file.read()
            except OSError:  # it has just ended
                continue
            if mark in text:
                found.append(int(name))
    return found


def _end(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # it has just ended, or is somebody's who repeats the mark
        return False
    return True


if __name__ == "__main__":
    main()
