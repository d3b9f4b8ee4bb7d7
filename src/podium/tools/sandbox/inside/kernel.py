"""Raw system calls and Landlock rules."""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterable

_LIBC = ctypes.CDLL(None, use_errno=True)

NO_NEW_PRIVILEGES, PARENT_DEATH_SIGNAL, SUBREAPER, SECCOMP = 38, 1, 36, 22
_UNSHARE_MOUNTS, _UNSHARE_USER = 0x0002_0000, 0x1000_0000
_PRIVATE_ALL, _TMPFS_FLAGS = 0x0004_0000 | 0x4000, 0x2 | 0x4 | 0x8
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CLONE_TREE, _CLOSE_ON_EXEC, _RECURSIVE, _EMPTY_PATH = 0x1, 0o2000000, 0x8000, 0x1000
_MOVE_FROM_EMPTY_PATH, _ATTRIBUTE_ID_MAP = 0x4, 0x0010_0000
_NO_SETUID, _NO_DEVICES = 0x2, 0x4
_HERE = -100


def call(result: int, what: str) -> int:
    """Return the result of a call, or raise an `OSError` that names the call."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def control(option: int, value: int = 1, more: int = 0) -> None:
    """Call `prctl`."""
    call(_LIBC.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(more), 0, 0), f"prctl {option}")


def system_call(number: int, *arguments: int | bytes | None) -> int:
    """Make a system call by number; the numbers used here are the same on all current architectures."""
    converted = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return call(_LIBC.syscall(ctypes.c_long(number), *converted), f"system call {number}")


def own_mounts() -> None:
    """Enter a private mount namespace: later mounts are visible to this process only."""
    call(_LIBC.unshare(_UNSHARE_MOUNTS), "unshare mounts")
    call(_LIBC.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE_ALL), None), "make mounts private")


def mount_memory(place: str) -> None:
    """Mount a small tmpfs that holds mount points."""
    options = b"mode=755,size=1m"
    made = _LIBC.mount(b"podium", os.fsencode(place), b"tmpfs", ctypes.c_ulong(_TMPFS_FLAGS), options)
    call(made, f"mount a tmpfs on {place}")


def clone_tree(path: str) -> int:
    """Clone the mounts at a path, not yet attached anywhere; return a descriptor."""
    return system_call(_OPEN_TREE, _HERE, os.fsencode(path), _CLONE_TREE | _CLOSE_ON_EXEC | _RECURSIVE)


def map_owners(tree: int, users: int) -> None:
    """Id-map a cloned tree by the user namespace `users`. In that mount setuid bits have no effect and device
    files cannot be opened."""
    attributes = struct.pack("=QQQQ", _ATTRIBUTE_ID_MAP | _NO_SETUID | _NO_DEVICES, 0, 0, users)
    system_call(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH | _RECURSIVE, attributes, len(attributes))


def hang(tree: int, place: str) -> None:
    """Attach a cloned tree at a path."""
    system_call(_MOVE_MOUNT, tree, b"", _HERE, os.fsencode(place), _MOVE_FROM_EMPTY_PATH)


def user_namespace(mapping: str, group_mapping: str) -> int:
    """Return a descriptor of a user namespace with these maps, without any process in it."""
    ready, done = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        code = 1 if _LIBC.unshare(_UNSHARE_USER) else 0
        os.write(ready[1], b"!" if code else b".")
        os.close(done[1])
        os.read(done[0], 1)
        os._exit(code)
    try:
        if os.read(ready[0], 1) != b".":
            raise OSError("no user namespace could be made")
        for name, text in (("uid_map", mapping), ("gid_map", group_mapping)):
            with open(f"/proc/{child}/{name}", "w", encoding="ascii") as file:
                file.write(text)
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    finally:
        os.close(done[1])
        os.waitpid(child, 0)


_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_ASK_VERSION, _PATH_BENEATH = 1, 1

_EXECUTE, _WRITE, _READ, _LIST = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _DEVICES = 1 << 13, 1 << 14, 1 << 15
_FIRST_VERSION = (1 << 13) - 1
"""All rights of the first version, including creating and removing files, folders, links and devices."""

_MAKE_DEVICES = (1 << 6) | (1 << 11)
_TCP, _SCOPES = 0b11, 0b11
"""TCP bind and connect; abstract sockets and signals."""


def version() -> int:
    """Return the Landlock version of this kernel; 0 if it is missing or disabled."""
    try:
        return system_call(_CREATE, None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str], devices: Iterable[str]) -> None:
    """Drop all access except to these paths. Irreversible, and inherited by all child processes."""
    known = version()
    files = _FIRST_VERSION
    files |= _REFER if known >= 2 else 0
    files |= _TRUNCATE if known >= 3 else 0
    files |= _DEVICES if known >= 5 else 0
    attributes = struct.pack("=QQQ", files, _TCP if known >= 4 else 0, _SCOPES if known >= 6 else 0)
    size = 24 if known >= 6 else 16 if known >= 4 else 8
    rules = system_call(_CREATE, attributes[:size], size, 0)
    allow(rules, readable, _EXECUTE | _READ | _LIST)
    allow(rules, writable, files & ~_MAKE_DEVICES & ~_DEVICES)
    allow(rules, devices, _READ | _WRITE | (files & _DEVICES))
    system_call(_RESTRICT, rules, 0)
    os.close(rules)


def allow(rules: int, paths: Iterable[str], access: int) -> None:
    """Add a rule for each existing path; rights that only folders have are removed for files."""
    of_files = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICES
    for path in paths:
        with contextlib.suppress(FileNotFoundError, PermissionError):  # inaccessible paths stay blocked
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            granted = access if os.path.isdir(path) else access & of_files
            system_call(_ADD_RULE, rules, _PATH_BENEATH, struct.pack("=Qi", granted, place), 0)
            os.close(place)
