"""System calls that Python has no names for."""

from __future__ import annotations

import ctypes
import os
import struct

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
    """The result of a call, or its error with a name."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result


def control(option: int, value: int = 1, more: int = 0) -> None:
    """`prctl`."""
    call(_LIBC.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(more), 0, 0), f"prctl {option}")


def system_call(number: int, *arguments: int | bytes | None) -> int:
    """Any call by its number; these numbers are the same on all architectures of today."""
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    return call(_LIBC.syscall(ctypes.c_long(number), *given), f"system call {number}")


def own_mounts() -> None:
    """From here on this process mounts what it likes, and nobody else sees it."""
    call(_LIBC.unshare(_UNSHARE_MOUNTS), "unshare mounts")
    call(_LIBC.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE_ALL), None), "make mounts private")


def mount_memory(place: str) -> None:
    """A small tmpfs, to hang mounts into."""
    options = b"mode=755,size=1m"
    made = _LIBC.mount(b"podium", os.fsencode(place), b"tmpfs", ctypes.c_ulong(_TMPFS_FLAGS), options)
    call(made, f"mount a tmpfs on {place}")


def clone_tree(path: str) -> int:
    """A copy of what is mounted there, not yet hung in anywhere."""
    return system_call(_OPEN_TREE, _HERE, os.fsencode(path), _CLONE_TREE | _CLOSE_ON_EXEC | _RECURSIVE)


def map_owners(tree: int, users: int) -> None:
    """Show the files of a cloned tree as the user namespace `users` maps their owners. In that mount setuid
    bits have no effect and device files cannot be opened."""
    attributes = struct.pack("=QQQQ", _ATTRIBUTE_ID_MAP | _NO_SETUID | _NO_DEVICES, 0, 0, users)
    system_call(_MOUNT_SETATTR, tree, b"", _EMPTY_PATH | _RECURSIVE, attributes, len(attributes))


def hang(tree: int, place: str) -> None:
    """Hang a cloned tree in."""
    system_call(_MOVE_MOUNT, tree, b"", _HERE, os.fsencode(place), _MOVE_FROM_EMPTY_PATH)


def user_namespace(mapping: str, group_mapping: str) -> int:
    """A descriptor of a user namespace with these maps, which nobody lives in."""
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
