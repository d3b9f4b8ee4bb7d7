"""What a family of processes holds where nobody looks: files without a name, memory that is in no process."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

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
