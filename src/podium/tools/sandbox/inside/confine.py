"""Program: Landlock entry and reaper.

A spare user gets access to the folders as in `drop.py`: by mounts that only this process has, but at the
folders' own paths. Where root may not mount (most containers) the workspace is lent: the spare user owns it
while the program runs.

Without PID namespaces, init would adopt a program's orphans. This process adopts them instead (subreaper),
kills them all when the program ends or on a signal, and only then exits.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import json
import os
import resource
import signal
import stat
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from podium.tools.openat_walk import open_folder, open_root, visit_folders
from podium.tools.sandbox.inside import kernel
from podium.tools.sandbox.inside.drop import take
from podium.tools.sandbox.inside.processes import family_of

Loan = tuple[str, int, int, int]
"""A folder, its original uid and gid, and the spare uid that owns it now."""


def open_ways(folders: list[str], writable: list[str], spare: int, lent: list[Loan]) -> None:
    """Give the spare user access to all folders, and write access to some. Each loan is added to `lent` as it
    is made, so that it can always be returned."""
    try:
        kernel.own_mounts()
        _mount_in_place(folders, writable, spare)
    except OSError:  # mounting is not permitted, or the file system does not support id-mapped mounts
        for folder in writable:
            owner = os.stat(folder)
            lent.append((folder, owner.st_uid, owner.st_gid, spare))
            _change_owner(folder, (owner.st_uid, owner.st_gid), (spare, spare), lend=True)


def give_back(lent: Iterable[Loan]) -> None:
    """Give everything that the spare user owns in these folders back to the original owner."""
    for folder, user, group, spare in lent:
        _change_owner(folder, (spare, spare), (user, group), lend=False)


def _mount_in_place(folders: list[str], writable: list[str], spare: int) -> None:
    """Clone all trees before anything is covered; then cover the folders that the spare user may not
    enter."""
    checked = [(folder, _closed_above(folder)) for folder in sorted(set(folders), key=len)]
    wanted = [(folder, closed) for folder, closed in checked if closed or folder in writable]
    trees = [_clone(folder, folder in writable, spare) for folder, _ in wanted]
    for closed in dict.fromkeys(closed for _, closed in wanted if closed):
        kernel.mount_memory(closed)
    for (folder, closed), tree in zip(wanted, trees, strict=True):
        if closed:
            os.makedirs(folder, exist_ok=True)
        kernel.hang(tree, folder)
        os.close(tree)


def _clone(folder: str, writable: bool, spare: int) -> int:
    return take(folder, spare) if writable else kernel.clone_tree(folder)


def _closed_above(folder: str) -> str:
    """Return the first parent folder that others may not enter; empty if all are open."""
    place = ""
    for part in folder.strip("/").split("/")[:-1]:
        place += f"/{part}"
        if not os.stat(place).st_mode & stat.S_IXOTH:
            return place
    return ""


def _change_owner(folder: str, old: tuple[int, int], new: tuple[int, int], *, lend: bool) -> None:
    """Change the owner of a folder and its contents; no symlink is followed.

    Files with several hard links are not lent, since another name may lie elsewhere. Device files, pipes and
    sockets are not lent either.
    """
    root = open_root(Path(folder))
    try:
        _change_one("", root, os.fstat(root), old, new)
        for visit in visit_folders(root, open_folder):
            for entry in visit.entries:
                with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                    info = entry.stat(follow_symlinks=False)
                    if not lend or _may_be_lent(info):
                        _change_one(entry.name, visit.handle, info, old, new)
    finally:
        os.close(root)


def _may_be_lent(info: os.stat_result) -> bool:
    kind = stat.S_IFMT(info.st_mode)
    return kind in (stat.S_IFDIR, stat.S_IFLNK) or (kind == stat.S_IFREG and info.st_nlink == 1)


def _change_one(
    name: str, handle: int, info: os.stat_result, old: tuple[int, int], new: tuple[int, int]
) -> None:
    if info.st_uid != old[0]:
        return
    if name:
        os.chown(name, *new, dir_fd=handle, follow_symlinks=False)
    else:
        os.fchown(handle, *new)


_PASSES = 500


def sweep(spare: int | None) -> None:
    """Kill all descendants of this process, which adopts their orphans. Returns when none is left."""
    if spare is not None:
        _kill_as(spare)
    _freeze()
    while True:
        for pid in _descendants():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if not _reap():
            return


def _kill_as(spare: int) -> None:
    """Kill all processes of the spare user at once, which the kernel does atomically."""
    child = os.fork()
    if child == 0:
        os.setresuid(spare, spare, spare)
        with contextlib.suppress(ProcessLookupError):
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    os.waitpid(child, 0)


def _freeze() -> None:
    """Stop all processes before killing any: a stopped process cannot fork, and still counts towards the
    limit."""
    known: set[int] = set()
    for _ in range(_PASSES):
        new = set(_descendants()) - known
        if not new:
            return
        for pid in new:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGSTOP)
        known |= new


def _reap() -> bool:
    """Reap ended children; return True if others are left."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _descendants() -> list[int]:
    """Return all descendants of this process; empty without /proc (not Linux)."""
    if not os.path.isdir("/proc/self"):
        return []
    return [pid for pid in family_of(os.getpid()).pids if pid != os.getpid()]


_SECCOMP_FILTER = 2
_EVERY_SIGNAL = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class _Terminated(BaseException):
    """Raised by a signal: the program must be ended."""


def main() -> None:
    """Read the plan, run and supervise its program, and report how it ended."""
    plan: dict[str, Any] = json.loads(sys.argv[1])
    status, spare = int(plan["status"]), plan["spare"]
    os.set_inheritable(status, False)
    for number in _EVERY_SIGNAL:
        signal.signal(number, _raise)
    code: int | None = None
    lent: list[Loan] = []
    try:
        if sys.platform == "linux":
            kernel.control(kernel.PARENT_DEATH_SIGNAL, signal.SIGTERM)
            kernel.control(kernel.SUBREAPER)
        if os.getppid() != plan["host"]:  # the host died before PDEATHSIG was set
            return
        if spare is not None:
            open_ways([*plan["readable"], *plan["writable"]], plan["writable"], spare, lent)
        code = _wait_for(_start(plan))
    except _Terminated:
        code = None
    finally:
        for number in _EVERY_SIGNAL:
            signal.signal(number, signal.SIG_IGN)
        sweep(spare)
        give_back(lent)
        if code is not None:
            os.write(status, json.dumps({"exit-code": code}).encode() + b"\n")
    sys.exit(code or 0)


def _raise(number: int, frame: object) -> None:
    raise _Terminated


def _start(plan: dict[str, Any]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        for number in _EVERY_SIGNAL:
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        _give_up(plan)
        os.execvpe(plan["argv"][0], plan["argv"], os.environ)
    except OSError as error:
        os.write(2, f"{plan['argv'][0]}: {error.strerror or error}\n".encode())
        os._exit(127 if isinstance(error, (FileNotFoundError, PermissionError)) else 126)
    except BaseException as error:  # noqa: BLE001 - nothing of this child may run on
        os.write(2, f"the sandbox failed: {error!r}\n".encode())
    os._exit(126)


def _give_up(plan: dict[str, Any]) -> None:
    """Drop all rights that the program must not have. The seccomp filter comes last, since it forbids the
    other steps."""
    spare = plan["spare"]
    if spare is not None:
        os.setgroups([])
        os.setresgid(spare, spare, spare)
        os.setresuid(spare, spare, spare)
    os.chdir(plan["start"])
    for name, values in plan["limits"].items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name.upper()}"), tuple(values))
    if not plan["filter"]:  # allowed to run unsandboxed
        return
    kernel.control(kernel.NO_NEW_PRIVILEGES)
    kernel.restrict([*plan["readable"], f"/proc/{os.getpid()}"], plan["writable"], plan["devices"])
    _load_filter(base64.b64decode(plan["filter"]))


def _load_filter(rules: bytes) -> None:
    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("rules", ctypes.c_char_p))

    program = Program(len(rules) // 8, rules)
    kernel.control(kernel.SECCOMP, _SECCOMP_FILTER, ctypes.addressof(program))


def _wait_for(child: int) -> int:
    """Return the exit code as in a shell; orphans that end meanwhile are reaped."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
