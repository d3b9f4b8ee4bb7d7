"""A program that starts another one and ends with its parent: whatever happens, nothing is left running.

`keeper.py PARENT COMMAND ARG…` runs the command on its own input and output. When the parent dies, even by
`kill -9`, or sends SIGTERM, every process that the command has started is killed, also those that left its
group. What `npx` or a shell has started is not a child of ours: a signal to our child alone would miss it.

Only the standard library is used: it must start in a moment.
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
    """Start the command, wait for its end or the parent's, and leave nothing behind."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGTERM, told_to_end)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    _prctl(_SUBREAPER, 1)  # orphans of the command become ours
    _prctl(_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it was gone before we could ask to be told
        sys.exit(143)
    child = os.fork()
    if child == 0:
        run(command)
    quiet = os.open(os.devnull, os.O_RDWR)
    for ours in (0, 1, 2):  # the pipes are the command's alone: their end is its end
        os.dup2(quiet, ours)
    end(wait(child, parent))


def told_to_end(number: int, frame: object) -> None:
    """By the parent, or by the kernel because the parent is gone."""
    end(143)


def run(command: list[str]) -> None:
    """Become the command."""
    _prctl(_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        os.write(2, f"{command[0]} cannot be started: {error.strerror}\n".encode())
        os._exit(127)


def wait(child: int, parent: int) -> int:
    """The command's exit code. Where the kernel does not tell of the parent's death, it is looked for."""
    while True:
        pid, status = os.waitpid(-1 if _LINUX else child, 0 if _LINUX else os.WNOHANG)
        if pid == child:
            return os.waitstatus_to_exitcode(status) % 256
        if not _LINUX:
            if os.getppid() != parent:
                return 143
            time.sleep(0.1)


def end(code: int) -> None:
    """Kill every descendant: whose parent dies comes to us and is killed in the next round."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for _ in range(_ROUNDS):
        left = children()
        for pid in left:
            _kill(pid)
        if not left:
            break
    if not _LINUX:
        os.killpg(0, signal.SIGKILL)  # and us with it
    os._exit(code)


def children() -> list[int]:
    """Processes whose parent is this one."""
    found = list[int]()
    for entry in Path("/proc").glob("[0-9]*/stat") if _LINUX else ():
        try:
            parent = int(entry.read_text(errors="replace").rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):  # it has just ended
            continue
        if parent == os.getpid():
            found.append(int(entry.parent.name))
    return found


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError, PermissionError):  # it has ended, or is not ours to kill
        return


def _prctl(option: int, value: int) -> None:
    if _LINUX:
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


if __name__ == "__main__":
    main()
