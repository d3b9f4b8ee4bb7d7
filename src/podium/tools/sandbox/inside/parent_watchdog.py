"""Watchdog program: waits for the death of its host and kills sandboxes that do not notice it themselves.

The kernel kills a bubblewrap whose parent dies, but only after bubblewrap has requested that. Also, if its
outer process is killed at the wrong moment, the inner one waits for it forever. So a host that is killed
while it starts a sandbox could leave one behind.
"""

from __future__ import annotations

import os
import signal
import sys
import time

_PASSES, _PAUSE = 600, 0.05
"""Maximum number of scans, and the seconds between two scans."""

_QUIET = 2
"""Consecutive scans that must find nothing: a process that is just being started has closed the host's pipe
shortly before its arguments become readable."""


def main() -> None:
    """Read the marker that all sandboxes of the host carry. Input ends when the host, and each process it was
    just starting, has ended or closed the pipe. Signals are ignored: they are meant for the host."""
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    mark = sys.stdin.buffer.read()
    if mark:
        end_marked(mark)


def end_marked(mark: bytes) -> None:
    """Kill every process with the marker in its arguments, and those that they start meanwhile."""
    quiet = 0
    for _ in range(_PASSES):
        ended = [pid for pid in marked(mark) if _end(pid)]
        quiet = 0 if ended else quiet + 1
        if quiet == _QUIET:
            return
        time.sleep(_PAUSE)


def marked(mark: bytes) -> list[int]:
    """Return the processes that carry the marker; process arguments are world-readable."""
    pids: list[int] = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    text = file.read()
            except OSError:  # it has just ended
                continue
            if mark in text:
                pids.append(int(name))
    return pids


def _end(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):  # just ended, or another user copied the marker
        return False
    return True


if __name__ == "__main__":
    main()
