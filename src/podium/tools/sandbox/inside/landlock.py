"""Landlock: the kernel's own way for a process to give up access to files, for itself and all it starts."""

from __future__ import annotations

import contextlib
import os
import struct
from collections.abc import Iterable

from podium.tools.sandbox.inside import kernel

_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _DEVICES = 1 << 13, 1 << 14, 1 << 15
_FIRST_VERSION = (1 << 13) - 1
"""Everything that the first version knows: also making and removing files, folders, links and devices."""

_MAKE_DEVICES = (1 << 6) | (1 << 11)
_TCP, _SCOPES = 0b11, 0b11
"""Binding and connecting; abstract sockets and signals."""


def version() -> int:
    """The version of Landlock in this kernel; 0: it has none, or it is switched off."""
    try:
        return kernel.system_call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> None:
    """Give up everything but these. It cannot be undone, and holds for all that is started from here."""
    known = version()
    files = _FIRST_VERSION
    files |= _REFER if known >= 2 else 0
    files |= _TRUNCATE if known >= 3 else 0
    files |= _DEVICES if known >= 5 else 0
    attributes = struct.pack("=QQQ", files, _TCP if known >= 4 else 0, _SCOPES if known >= 6 else 0)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    rules = kernel.system_call(_CREATE, attributes[:size], size, 0)
    allow(rules, readable, _EXECUTE | _READ | _LIST)
    allow(rules, writable, files & ~_MAKE_DEVICES & ~_DEVICES)
    allow(rules, devices, _READ | _WRITE | (files & _DEVICES))
    kernel.system_call(_RESTRICT, rules, 0)
    os.close(rules)


def allow(rules: int, paths: Iterable[str], access: int) -> None:
    """One rule for each path that is there; a plain file has no folder's rights."""
    of_files = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICES
    for path in paths:
        with contextlib.suppress(FileNotFoundError, PermissionError):  # what cannot be opened stays closed
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            granted = access if os.path.isdir(path) else access & of_files
            kernel.system_call(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", granted, place), 0)
            os.close(place)
