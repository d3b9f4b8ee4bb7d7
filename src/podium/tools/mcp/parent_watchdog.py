"""Wrapper program that runs a command and kills all of its processes when its parent ends.

`parent_watchdog.py PARENT COMMAND ARG…` runs the command with its own stdin and stdout. When the parent dies,
even by `kill -9`, or sends SIGTERM, every process that the command has started is killed, including those
that left its process group. Processes started by `npx` or a shell are not direct children of the parent: a
signal to the child alone would miss them.

It uses only the standard library, to start quickly.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from pathlib import Path

_PDEATHSIG, _SUBREAPER = 1, 36
_LINUX = sys.platform == "linux"
_ROUNDS = 50


def main() -> None:
    """Start the command, wait until it or the parent ends, and kill all remaining processes."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGTERM, told_to_end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    _prctl(_SUBREAPER, 1)  # become the parent of the command's orphans
    _prctl(_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # the parent died before PDEATHSIG was set
        sys.exit(143)
    child = os.fork()
    if child == 0:
        run(command)
    quiet = os.open(os.devnull, os.O_RDWR)
    for ours in (0, 1, 2):  # only the command holds the pipes: they close when it ends
        os.dup2(quiet, ours)
    end(wait(child, parent))


def told_to_end(number: int, frame: object) -> None:
    """Handle SIGTERM from the parent, or from the kernel because the parent died."""
    end(143)


def run(command: list[str]) -> None:
    """Replace this process with the command."""
    _prctl(_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started: {error.strerror}\n".encode())
        os._exit(127)


def wait(child: int, parent: int) -> int:
    """Return the command's exit code. Off Linux, poll for the parent's death."""
    while True:
        pid, status = os.waitpid(-1 if _LINUX else child, 0 if _LINUX else os.WNOHANG)
        if pid == child:
            return os.waitstatus_to_exitcode(status) % 256
        if not _LINUX:
            if os.getppid() != parent:
                return 143
            time.sleep(0.1)


def end(code: int) -> None:
    """Kill every descendant. Orphans are reparented to this process and killed in the next round."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(_ROUNDS):
        remaining = children()
        for pid in remaining:
            _kill(pid)
        if not remaining:
            break
    if not _LINUX:
        os.killpg(0, signal.SIGKILL)  # including this process
    os._exit(code)


def children() -> list[int]:
    """Return the child processes of this process."""
    pids = list[int]()
    for entry in Path("/proc").glob("[0-9]*/stat") if _LINUX else ():
        try:
            parent = int(entry.read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):  # it has just ended
            continue
        if parent == os.getpid():
            pids.append(int(entry.parent.name))
    return pids


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError, PermissionError):  # already ended, or not permitted
        return


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
