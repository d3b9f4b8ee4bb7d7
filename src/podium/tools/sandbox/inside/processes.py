"""Process trees, and memory and disk space that no file or process shows."""

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
    """Resource usage of a process tree at one moment."""

    pids: tuple[int, ...]
    threads: int
    resident: int
    """Resident bytes; shared pages are counted for each process."""


def family_of(root: int) -> Usage:
    """Return the usage of a process and its descendants. Orphans stay included: the sandbox's first process
    adopts them."""
    children: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    top: tuple[int, int, int] | None = None
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := _look(int(name))) is not None:
            parent, threads, resident = process
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
    """Return parent, threads and resident bytes; None if the process has just ended."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:  # it ended after the listing
        return None
    fields = text[text.rindex(b")") + 2 :].split()
    return int(fields[1]), int(fields[17]), int(fields[21]) * _PAGE


def threads_of_user(user: int) -> int:
    """Return the number of threads a user has on the whole machine."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit() and (process := _look(int(name))) is not None:
            with contextlib.suppress(OSError):  # it has just ended
                total += process[1] if os.stat(f"/proc/{name}").st_uid == user else 0
    return total


def shared_once(usage: Usage) -> int:
    """Return resident bytes with shared pages counted once. Slower, so used only when the plain sum looks too
    large."""
    total = 0
    for pid in usage.pids:
        try:
            text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
        except (ProcessLookupError, FileNotFoundError):  # it has just ended
            continue
        except OSError:  # no permission, or an older kernel: use the plain sum
            return usage.resident
        line = next((line for line in text.splitlines() if line.startswith("Pss:")), "Pss: 0 kB")
        total += int(line.split()[1]) * 1024
    return total


def kill_family(root: int) -> None:
    """Kill a process and all its descendants. It is stopped first: a process that is just starting could
    otherwise fork after the scan, and that child would never be killed."""
    _signal(root, signal.SIGSTOP)
    for pid in (*family_of(root).pids, root):
        _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended already
        os.kill(pid, number)


_ANONYMOUS = ("/dev/zero (deleted)", "/SYSV", "/memfd:")
"""Kernel names of anonymous mappings that several processes can share."""


_SMALLEST = 1024
"""Minimum disk usage counted per file or folder, so that a million empty files are not free."""


def disk_bytes(info: os.stat_result) -> int:
    """Return the bytes on disk of a file or folder."""
    return max(info.st_blocks * 512, _SMALLEST)


def nameless_files(pids: Iterable[int]) -> tuple[int, int]:
    """Return bytes on disk and number of deleted files that are still open. Raises `PermissionError` if a
    process cannot be inspected."""
    sizes: dict[tuple[int, int], int] = {}
    for pid in pids:
        for info in _open_files(pid):
            if stat.S_ISREG(info.st_mode) and info.st_nlink == 0:
                sizes[info.st_dev, info.st_ino] = info.st_blocks * 512
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
    """Return the free bytes on the disk of a folder."""
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def free_inodes(folder: str) -> int:
    """Return the free inodes on the disk of a folder; 0 if the file system has no such limit."""
    return os.statvfs(folder).f_favail


def shared_memory() -> int:
    """Return the machine's shared memory (tmpfs and shared mappings) in bytes; 0 if unknown."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            line = next((line for line in file if line.startswith("Shmem:")), "Shmem: 0 kB")
    except OSError:  # not Linux
        return 0
    return int(line.split()[1]) * 1024


def mapped_together(pids: Iterable[int]) -> int:
    """Return the bytes of shared mappings, touched or not, each mapping counted once."""
    sizes: dict[str, int] = {}
    for pid in pids:
        for span, identity, name in _mappings(pid):
            if name.startswith(_ANONYMOUS):
                sizes[identity] = max(sizes.get(identity, 0), span)
    return sum(sizes.values())


def maps_nameless_files(pids: Iterable[int]) -> bool:
    """Return True if a process has mapped a deleted file of a disk, whose size cannot be determined."""
    return any(
        name.endswith("(deleted)") and not name.startswith(_ANONYMOUS)
        for pid in pids
        for _, _, name in _mappings(pid)
    )


def _mappings(pid: int) -> Iterator[tuple[int, str, str]]:
    """Yield size, device and inode, and name of every named mapping."""
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
            lines = file.readlines()
    except OSError:  # just ended, or no permission: what can be known of it is counted elsewhere
        return
    for line in lines:
        place, _, _, device, number, *name = line.split(maxsplit=5)
        if name:
            start, _, end = place.partition("-")
            yield int(end, 16) - int(start, 16), f"{device} {number}", name[0].strip()
