"""Program: watches memory, processes and disk usage of an execution from outside.

Kernel limits apply per process and per file, so none of them bounds the total. The watch is a separate
process, because its scans would block the host's event loop.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from podium.tools.openat_walk import open_folder, open_root, visit_folders
from podium.tools.sandbox.inside.processes import (
    disk_bytes,
    family_of,
    free_inodes,
    free_space,
    mapped_together,
    maps_nameless_files,
    nameless_files,
    shared_memory,
    shared_once,
)

_LOOK_EVERY = 0.1
_WALK_EVERY, _WALK_SHARE = 0.25, 4
"""Seconds between two walks over the folders; walks take at most one fifth of the time."""

_OWN = 2
"""Processes of the sandbox itself."""


def main() -> None:
    """Check until a limit is exceeded, and print which one. When stdin ends, the program has ended: check the
    folders once more, since it may have written most at the very end."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    folders = Folders(plan)
    next_walk = 0.0
    while not _has_ended(_LOOK_EVERY):
        if passed := _passed(plan):
            return print(passed)
        if time.monotonic() >= next_walk or folders.are_filling_up():
            began = time.monotonic()
            if passed := folders.passed(family_of(int(plan["root"])).pids):
                return print(passed)
            took = time.monotonic() - began
            next_walk = time.monotonic() + max(_WALK_EVERY, took * _WALK_SHARE)
    return print(folders.passed())


def _has_ended(seconds: float) -> bool:
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(ready)


def _passed(plan: dict[str, Any]) -> str:
    """Return the limit on processes or memory that is exceeded now; empty if none."""
    usage = family_of(int(plan["root"]))
    if usage.threads - _OWN > plan["processes"]:
        return "processes"
    most = plan["memory_bytes"]
    if usage.resident > most and shared_once(usage) > most:
        return "memory"
    # Shared memory that no process maps any more still occupies memory.
    grown = shared_memory() - plan["shared_before"]
    return "memory" if grown > most and mapped_together(usage.pids) > most else ""


class Folders:
    """The writable folders: some count as a whole, of others only the growth counts."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._folders: list[str] = [*plan["folders"], *plan["grown"]]
        self._max_bytes = int(plan["workspace_bytes"]) + int(plan["grown_before"])
        self._max_files = int(plan["files"]) + int(plan["files_before"])
        self._free, self._inodes = int(plan["free_before"]), int(plan["inodes_before"])
        self._inodes_at_walk = self._inodes
        self._new_files = int(plan["files"])
        self._closed = False
        """True if something could not be inspected."""

    def are_filling_up(self) -> bool:
        """Return True if the inodes lost since the last walk may exceed the limit.
        Other programs use inodes too, so only a walk is conclusive."""
        return self._inodes_at_walk - free_inodes(self._folders[0]) > self._new_files

    def passed(self, pids: Sequence[int] = ()) -> str:
        """Return the exceeded limit, counting deleted files that these processes keep open; empty if none."""
        self._closed = False
        inodes = self._inodes_at_walk = free_inodes(self._folders[0])
        size, count = self._measure()
        try:
            nameless_size, nameless_count = nameless_files(pids)
        except PermissionError:
            nameless_size = nameless_count = 0
            self._closed = True
        if count + nameless_count > self._max_files:
            return "files"
        if size + nameless_size > self._max_bytes:
            return "workspace"
        # If something could not be inspected, the free space and inodes of the disk decide.
        if self._closed and self._inodes - inodes > self._new_files:
            return "files"
        lost = self._free - free_space(self._folders[0])
        hidden = lost > self._max_bytes and (self._closed or maps_nameless_files(pids))
        return "workspace" if hidden else ""

    def _measure(self) -> tuple[int, int]:
        """Return bytes on disk and number of entries in all folders. Stops early when there are too many
        entries."""
        size = count = 0
        for folder in self._folders:
            try:
                root = open_root(Path(folder))
            except FileNotFoundError:  # removed by a program of the user
                continue
            except PermissionError:
                self._closed = True
                continue
            try:
                for visit in visit_folders(root, self._enter):
                    size += sum(_weigh(entry) for entry in visit.entries)
                    count += len(visit.entries)
                    self._closed = self._closed or visit.is_deepest
                    if count > self._max_files:
                        return size, count
            finally:
                os.close(root)
        return size, count

    def _enter(self, name: str, handle: int) -> int | None:
        try:
            return open_folder(name, handle)
        except PermissionError:
            self._closed = True
            return None


def _weigh(entry: os.DirEntry[str]) -> int:
    try:
        return disk_bytes(entry.stat(follow_symlinks=False))
    except OSError:  # it was removed meanwhile
        return 0


if __name__ == "__main__":
    main()
