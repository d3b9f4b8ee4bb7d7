"""Ending everything that a program has started, however far it ran from its parents."""

from __future__ import annotations

import contextlib
import os
import signal

_PASSES = 500


def sweep(spare: int | None) -> None:
    """End all descendants of this process, which adopts their orphans. Returns when none is left."""
    if spare is not None:
        _kill_as(spare)
    _freeze()
    while True:
        for pid in below(os.getpid()):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not _reap():
            return


def _kill_as(spare: int) -> None:
    """Everything of the spare user at once, which the kernel does without a gap."""
    child = os.fork()
    if child == 0:
        os.setresuid(spare, spare, spare)
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    os.waitpid(child, 0)


def _freeze() -> None:
    """Stop all before any is ended: one that is stopped makes no new ones, and still counts for the limit."""
    known: set[int] = set()
    for _ in range(_PASSES):
        new = set(below(os.getpid())) - known
        if not new:
            return
        for pid in new:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
        known |= new


def _reap() -> bool:
    """Take in those that have ended; whether there are others still."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def below(root: int) -> list[int]:
    """All descendants of a process. Without /proc (not Linux) none can be found."""
    children: dict[int, list[int]] = {}
    if not os.path.isdir("/proc/self"):
        return []
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:
                text = file.read()
                parent = int(text[text.rindex(b")") + 2 :].split()[1])
                children.setdefault(parent, []).append(int(name))
    found, waiting = list[int](), [root]
    while waiting:
        more = children.get(waiting.pop(), [])
        found += more
        waiting += more
    return found
