"""The watch over an execution: memory, processes and disk, looked at from outside.

The kernel's limits are per process and per file, so none of them bounds the whole. It is a process of its own
because looking takes time that the event loop of the host, and everything it drives, would miss.
"""

from __future__ import annotations

import json
import os
import select
import stat
import sys
import time
from collections.abc import Sequence
from typing import Any

from podium.tools.sandbox.inside.family import family_of, shared_once
from podium.tools.sandbox.inside.holding import (
    free_space,
    mapped_together,
    maps_nameless_files,
    nameless_files,
    shared_memory,
)

_LOOK_EVERY = 0.1
_WALK_EVERY, _WALK_SHARE = 0.25, 4
"""Folders are walked this often, but never for more than one part in five of the time."""

_OWN = 2
"""Processes of the sandbox itself."""

_SMALLEST = 1024
"""What the smallest file or folder costs a disk: a million empty files are not nothing."""


def main() -> None:
    """Look until a limit is passed, and say which. When input ends, the program has: then once more at the
    folders, since it may have written the most at the very end."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    folders = Folders(plan["folders"], plan["grown"], int(plan["workspace_bytes"]), int(plan["free_before"]))
    next_walk = 0.0
    while not _has_ended(_LOOK_EVERY):
        if passed := _passed(plan):
            return print(passed)
        if time.monotonic() >= next_walk:
            began = time.monotonic()
            if folders.are_too_large(family_of(int(plan["root"])).pids):
                return print("workspace")
            took = time.monotonic() - began
            next_walk = time.monotonic() + max(_WALK_EVERY, took * _WALK_SHARE)
    return print("workspace" if folders.are_too_large() else "")


def _has_ended(seconds: float) -> bool:
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return bool(ready)


def _passed(plan: dict[str, Any]) -> str:
    """The limit on processes or memory that is passed now; empty if none is."""
    usage = family_of(int(plan["root"]))
    if usage.threads - _OWN > plan["processes"]:
        return "processes"
    most = plan["memory_bytes"]
    if usage.resident > most and shared_once(usage) > most:
        return "memory"
    # What is shared and was let go of is in no process, but it is still there.
    grown = shared_memory() - plan["shared_before"]
    return "memory" if grown > most and mapped_together(usage.pids) > most else ""


class Folders:
    """What a program may fill: some folders as a whole, of others only what it adds."""

    def __init__(self, whole: list[str], grown: list[str], most: int, free: int) -> None:
        self._whole = whole
        self._grown = grown
        self._most = most
        self._closed = False
        self._free = free
        self._before = sum(self._size(folder) for folder in grown)

    def are_too_large(self, pids: Sequence[int] = ()) -> bool:
        """Whether they hold more than they may, with files that these processes keep open without a name."""
        self._closed = False
        total = sum(self._size(folder) for folder in (*self._whole, *self._grown)) - self._before
        try:
            total += nameless_files(pids)
        except PermissionError:
            self._closed = True
        lost = self._free - free_space(self._whole[0])
        if lost > self._most >= total:  # where we may not look: then by what the disk has lost meanwhile
            return self._closed or maps_nameless_files(pids)
        return total > self._most

    def _size(self, folder: str) -> int:
        """Bytes on disk of everything in a folder; no link is followed, nothing is opened but folders."""
        total, waiting = 0, [folder]
        while waiting:
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


def _weigh(entry: os.DirEntry[str]) -> tuple[int, bool]:
    try:
        found = entry.stat(follow_symlinks=False)
    except OSError:  # it was removed meanwhile
        return 0, False
    return max(found.st_blocks * 512, _SMALLEST), stat.S_ISDIR(found.st_mode)


if __name__ == "__main__":
    main()
