"""The watch over an execution: memory, processes and disk, looked at from outside, in threads of its own.

The kernel's limits are per process and per file, so none of them bounds the whole. The threads never touch
the event loop but to say, once, that a limit was passed.
"""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from podium.tools.sandbox.limits import Limits, StoppedBy
from podium.tools.sandbox.processes import family_of, shared_once

_LOOK_EVERY = 0.1
_WALK_EVERY, _WALK_SHARE = 0.25, 4
"""Folders are walked this often, but never for more than one part in five of the time."""

_OWN = 2
"""Processes of the sandbox itself."""

_SMALLEST = 1024
"""What the smallest file or folder costs a disk: a million empty files are not nothing."""


class Watch:
    """Looks until it is told to end or has something to say."""

    def __init__(
        self, root: int, limits: Limits, folders: Sequence[Path], grown: Sequence[Path],
        tell: Callable[[StoppedBy], None],
    ) -> None:  # fmt: skip
        self._root = root
        self._limits = limits
        self._folders = folders
        self._grown = grown
        self._before = 0
        self._free_before = _free(folders[0])
        self._closed = False
        self._tell = tell
        self._end = threading.Event()

    def start(self) -> None:
        """Begin to look."""
        for look in (self._look_at_processes, self._look_at_folders):
            threading.Thread(target=look, name="podium-watch", daemon=True).start()

    def end(self) -> None:
        """Stop looking, also in the middle of a folder."""
        self._end.set()

    def measure_before(self) -> None:
        """What lies in the folders of which only the growth counts. Blocks."""
        self._before = sum(self._size(folder) for folder in self._grown)

    def too_large(self) -> bool:
        """Whether the folders hold more than they may. Blocks."""
        self._closed = False
        total = -self._before
        for folder in (*self._grown, *self._folders):
            total += self._size(folder)
        if self._closed:  # a folder that we may not look into: then by what the disk has lost meanwhile
            total = max(total, self._free_before - _free(self._folders[0]))
        return total > self._limits.workspace_bytes

    def _look_at_processes(self) -> None:
        while not self._end.wait(_LOOK_EVERY):
            usage = family_of(self._root)
            if usage.threads - _OWN > self._limits.processes:
                return self._tell("processes")
            if usage.resident > self._limits.memory_bytes and shared_once(usage) > self._limits.memory_bytes:
                return self._tell("memory")
        return None

    def _look_at_folders(self) -> None:
        took = 0.0
        while not self._end.wait(max(_WALK_EVERY, took * _WALK_SHARE)):
            began = time.monotonic()
            if self.too_large():
                return self._tell("workspace")
            took = time.monotonic() - began
        return None

    def _size(self, folder: Path) -> int:
        """Bytes on disk of everything in a folder; no link is followed, nothing is opened but folders."""
        total, waiting = 0, [str(folder)]
        while waiting and not self._end.is_set():
            try:
                entries = os.scandir(waiting.pop())
            except PermissionError:
                self._closed = True
                continue
            except OSError:  # it was removed meanwhile
                continue
            with entries:
                for entry in entries:
                    size, is_folder = _weigh(entry)
                    total += size
                    if is_folder:
                        waiting.append(entry.path)
        return total


def _free(folder: Path) -> int:
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _weigh(entry: os.DirEntry[str]) -> tuple[int, bool]:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:  # it was removed meanwhile
        return 0, False
    return max(found.st_blocks * 512, _SMALLEST), stat.S_ISDIR(found.st_mode)
