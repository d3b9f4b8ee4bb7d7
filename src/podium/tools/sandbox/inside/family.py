"""Which processes belong to an execution, and what they use."""

from __future__ import annotations

import contextlib
import os
import signal
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

_PAGE = os.sysconf("SC_PAGE_SIZE")


class Usage(NamedTuple):
    """What a family of processes uses at one moment."""

    pids: tuple[int, ...]
    threads: int
    resident: int
    """Bytes in memory; pages that several share are counted for each of them."""


def family_of(root: int) -> Usage:
    """A process and everything below it. Orphans stay in the family: the first process inside adopts them."""
    children: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    top: tuple[int, int, int] | None = None
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := _look(int(name))) is not None:
            parent, threads, resident = found
            children[parent].append((int(name), threads, resident))
            top = (int(name), threads, resident) if int(name) == root else top
    family, waiting = list[tuple[int, int, int]](), [top] if top else []
    while waiting:
        member = waiting.pop()
        family.append(member)
        waiting += children[member[0]]
    pids, threads, resident = zip(*family, strict=True) if family else ((), (), ())
    return Usage(pids, sum(threads), sum(resident))


def _look(pid: int) -> tuple[int, int, int] | None:
    """Parent, threads and bytes in memory; `None` if it has just ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:  # it ended between the listing and the look
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    return int(fields[1]), int(fields[17]), int(fields[21]) * _PAGE


def threads_of_user(user: int) -> int:
    """How many threads a user has on the whole machine."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and (found := _look(int(name))) is not None:
            with contextlib.suppress(OSError):  # it has just ended
                total += found[1] if os.stat(f"/proc/{name}").st_uid == user else 0
    return total


def shared_once(usage: Usage) -> int:
    """Bytes in memory with shared pages counted once; slower, so asked only when the sum looks too large."""
    total = 0
    for pid in usage.pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        except (ProcessLookupError, FileNotFoundError):  # it has just ended
            continue
        except OSError:  # closed to us, or an older kernel: the plain sum has to do
            return usage.resident
        line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
        total += int(line.split()[1]) * 1024
    return total


def kill_family(root: int) -> None:
    """End a process and all below it at once. It is stopped first: one that is just being started could
    otherwise have a child after we looked, which nobody would ever end."""
    _signal(root, signal.SIGSTOP)
    for pid in (*family_of(root).pids, root):
        _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended already
        os.kill(pid, number)
