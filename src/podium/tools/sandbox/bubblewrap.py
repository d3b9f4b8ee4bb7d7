"""Bubblewrap tier and its watchdog."""

from __future__ import annotations

import json
import os
import shutil
import uuid
from collections.abc import Iterable, Sequence

import msgspec

from podium.errors import UsageError
from podium.tools.openat_walk import printable
from podium.tools.sandbox.sandbox import MASK
from podium.tools.sandbox.seccomp import AF_INET, AF_UNIX, machine, write_filter
from podium.tools.sandbox.tier import (
    Launch,
    Mount,
    SandboxJob,
    bare_python,
    counts_per_namespace,
    host_sockets,
    kernel_limits,
    limits_of_whole_user,
    places_of,
    system_mounts,
)


class _Watchdog(msgspec.Struct, frozen=True):
    """A started watchdog process."""

    host: int
    """Pid of the process whose death it waits for. A process forked from that one has no watchdog yet."""
    pid: int
    mark: str


_watchdog: _Watchdog | None = None


def watchdog_mark() -> str:
    """Return the marker that a sandbox must carry in its arguments to be killed when this process dies, at
    any time. It is not a secret: a process that copies it only gets itself killed."""
    global _watchdog
    if _watchdog is None or not _is_alive(_watchdog):
        _watchdog = _started()
    return _watchdog.mark


def _is_alive(watchdog: _Watchdog) -> bool:
    if watchdog.host != os.getpid():
        return False
    try:
        return os.waitpid(watchdog.pid, os.WNOHANG) == (0, 0)
    except ChildProcessError:  # it was reaped elsewhere
        return False


def _started() -> _Watchdog:
    """Start the watchdog in its own session, so that it is not killed with the host's process group. The
    write end of its stdin is never closed explicitly: the kernel closes it when the host dies."""
    mark = f"podium-warded-{uuid.uuid4().hex}"
    reading, writing = os.pipe()
    os.write(writing, mark.encode())
    argv = bare_python("parent_watchdog")
    nowhere = (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0), nowhere, (os.POSIX_SPAWN_DUP2, 1, 2)]
    try:
        pid = os.posix_spawn(argv[0], argv, {}, file_actions=actions, setsid=True)
    except BaseException:
        os.close(writing)
        raise
    finally:
        os.close(reading)
    return _Watchdog(os.getpid(), pid, mark)


_USER = "1000"
"""Uid and gid that a program sees inside, whichever user runs it."""

_STAGE = "/tmp"

_MAX_MASKS = 100


class Bubblewrap:
    """The tier that uses `bwrap`, from the user's PATH or from the configured path."""

    name = "bubblewrap"

    def __init__(self, program: str = "") -> None:
        self.program = program or shutil.which("bwrap") or ""

    def check(self) -> str:
        """Return why it is unusable: `bwrap` or `prlimit` is missing, or there is no seccomp filter for this
        machine."""
        if not self.program:
            return "bubblewrap is not installed"
        if not os.access(self.program, os.X_OK):
            return f"{self.program} no longer exists"
        if shutil.which("prlimit") is None:
            return "prlimit (of util-linux) is not installed"
        return "" if machine() is not None else "no filter of system calls is known for this processor"

    def launch(self, job: SandboxJob) -> Launch:
        """Return the bwrap command line; for root, wrapped in the program that drops to a spare user."""
        status, writer = os.pipe()
        rules = _filter()
        mark = watchdog_mark()  # passed as a no-op: no program has a variable of that name
        staged = list(_staged(job.mounts)) if job.spare is not None else list(job.mounts)
        scratch = f"{_STAGE}/{len(staged)}" if job.spare is not None else str(job.scratch)
        argv = [self.program, *_NAMESPACES, *_binds(system_mounts()), *_private(scratch), *_binds(staged)]
        argv += [*_masks(job, f"{scratch}/{MASK}"), "--remount-ro", "/", "--chdir", job.start]
        argv += ["--seccomp", str(rules), "--json-status-fd", str(writer), "--unsetenv", mark, "--"]
        argv += [*_limited(job), *job.argv]
        if job.spare is not None:
            sources = [*(mount.source for mount in job.mounts), str(job.scratch)]
            plan = {"spare": job.spare, "sources": sources, "argv": argv}
            argv = [*bare_python("drop"), json.dumps(plan)]
        return Launch(argv=argv, passed=(rules, writer), status=status)


_NAMESPACES = (
    "--unshare-user",
    "--unshare-pid",
    "--unshare-net",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--new-session",
    "--die-with-parent",
    "--hostname",
    "sandbox",
    "--uid",
    _USER,
    "--gid",
    _USER,
)


def _staged(mounts: Iterable[Mount]) -> Iterable[Mount]:
    """Return the same mounts with the sources where `inside/drop.py` mounts them."""
    for number, mount in enumerate(mounts):
        yield Mount(f"{_STAGE}/{number}", mount.target, mount.writable)


def _private(scratch: str) -> Sequence[str]:
    """Return the private mounts of each execution: /proc, /dev, temporary files and user database."""
    return (
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--bind",
        f"{scratch}/shm",
        "/dev/shm",
        "--remount-ro",
        "/dev",
        "--bind",
        f"{scratch}/tmp",
        "/tmp",
        "--dir",
        "/var",
        "--symlink",
        "../tmp",
        "/var/tmp",
        "--ro-bind",
        f"{scratch}/passwd",
        "/etc/passwd",
        "--ro-bind",
        f"{scratch}/group",
        "/etc/group",
        "--ro-bind",
        f"{scratch}/hosts",
        "/etc/hosts",
    )


def _binds(mounts: Iterable[Mount]) -> list[str]:
    words: list[str] = []
    for mount in mounts:
        words += ["--bind" if mount.writable else "--ro-bind", mount.source, mount.target]
    return words


def _masks(job: SandboxJob, mask: str) -> list[str]:
    """Cover pipes, sockets and device files of the host. Only those that already exist can be covered."""
    mounts = [*system_mounts(), *job.mounts]
    hidden = dict.fromkeys((*(special.path for special in job.special), *host_sockets(mounts)))
    places = dict.fromkeys(place for path in hidden for place in places_of(path, mounts))
    if len(places) > _MAX_MASKS:
        raise UsageError(
            f"Programs in the sandbox could use {len(places):,} pipes, sockets and device files, such as "
            f"{printable(next(iter(places)))}; at most {_MAX_MASKS} can be closed.",
            hint="Remove them, or work in a copy of the folder.",
        )
    return [word for place in places for word in ("--ro-bind", mask, place)]


def _limited(job: SandboxJob) -> list[str]:
    """Return the `prlimit` prefix. The limits are set inside: outside, all processes of the user would share
    them."""
    alone = job.spare is not None or counts_per_namespace()
    limits = kernel_limits(job.limits) if alone else limits_of_whole_user(job.limits)
    return ["prlimit", *(f"--{name}={soft}:{hard}" for name, (soft, hard) in limits.items()), "--"]


def _filter() -> int:
    """Write the seccomp filter to an in-memory file and return its descriptor."""
    known = machine()
    assert known is not None, "call `check` first"
    rules = os.memfd_create("podium-seccomp")
    os.write(rules, write_filter(known, families=(AF_UNIX, AF_INET)))
    os.lseek(rules, 0, os.SEEK_SET)
    return rules
