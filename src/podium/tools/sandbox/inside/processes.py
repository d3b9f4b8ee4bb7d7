"""Process families and hidden memory."""

from __future__ import annotations

import contextlib
import os
import signal
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator
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


_ANONYMOUS = ("/dev/zero (deleted)", "/SYSV", "/memfd:")
"""How the kernel names mappings of memory that several processes can share."""


_SMALLEST = 1024
"""What the smallest file or folder costs a disk: a million empty files are not nothing."""


def disk_bytes(found: os.stat_result) -> int:
    """Bytes on disk of a file or folder."""
    return max(found.st_blocks * 512, _SMALLEST)


def nameless_files(pids: Iterable[int]) -> tuple[int, int]:
    """Bytes on disk and number of files that were removed and are still open. `PermissionError` if a process
    does not let us look."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        for found in _open_files(pid):
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                sizes[found.st_dev, found.st_ino] = found.st_blocks * 512
    return sum(sizes.values()), len(sizes)


def _open_files(pid: int) -> Iterator[os.stat_result]:
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except (FileNotFoundError, ProcessLookupError):  # it has just ended
        return
    for name in names:
        try:
            yield os.stat(f"/proc/{pid}/fd/{name}")
        except (FileNotFoundError, ProcessLookupError):  # closed meanwhile
            continue


def free_space(folder: str) -> int:
    """Bytes that are free on the disk of a folder."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def free_inodes(folder: str) -> int:
    """Files that can still be made on the disk of a folder; 0 where the file system has no such limit."""
    return os.statvfs(folder).f_favail


def shared_memory() -> int:
    """Bytes of memory on this machine that belong to files and mappings in memory; 0 where it is not told."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            line = next((line for line in file if line.startswith("Shmem:")), "Shmem: 0 kB")
    except OSError:  # not Linux
        return 0
    return int(line.split()[1]) * 1024


def mapped_together(pids: Iterable[int]) -> int:
    """Bytes that processes have mapped to share, touched or not, each mapping once."""
    sizes: dict[str, int] = {}
    for pid in pids:
        for span, identity, name in _mappings(pid):
            if name.startswith(_ANONYMOUS):
                sizes[identity] = max(sizes.get(identity, 0), span)
    return sum(sizes.values())


def maps_nameless_files(pids: Iterable[int]) -> bool:
    """Whether a process has mapped a file of a disk that was removed: nobody can tell how large it is."""
    return any(
        name.endswith("(deleted)") and not name.startswith(_ANONYMOUS)
        for pid in pids
        for _, _, name in _mappings(pid)
    )


def _mappings(pid: int) -> Iterator[tuple[int, str, str]]:
    """Size, device and number, and name of every mapping that has one."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:  # it has just ended, or is closed to us: what can be known of it is counted elsewhere
        return
    for line in lines:
        place, _, _, device, number, *name = line.split(maxsplit=5)
        if name:
            start, _, end = place.partition("-")
            yield int(end, 16) - int(start, 16), f"{device} {number}", name[0].strip()
