"""Landlock tier and unsandboxed tier.

Landlock is weaker than bubblewrap: a program has no network and no sockets at all, but it can see that other
files exist (not their contents), and cannot change file modes.
"""

from __future__ import annotations

import base64
import json
import os
import sys

import msgspec

from podium.errors import UsageError
from podium.tools.openat_walk import printable
from podium.tools.sandbox.inside import kernel as landlock
from podium.tools.sandbox.seccomp import MODES, OWNERS, SIGNALLING, Machine, machine, write_filter
from podium.tools.sandbox.tier import (
    Launch,
    SandboxJob,
    bare_python,
    kernel_limits,
    limits_of_whole_user,
    system_mounts,
)

_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_FACTS = tuple(
    f"/proc/{name}"
    for name in ("cpuinfo", "filesystems", "loadavg", "meminfo", "stat", "uptime", "version", "sys/kernel")
)
"""Entries of /proc about the machine; those of other processes are not readable."""

_TRUNCATE_SINCE, _SIGNALS_SINCE = 3, 6


class Landlock:
    """The tier for kernels from 5.13 on; from 6.12 on it also confines signals."""

    name = "landlock"

    def check(self) -> str:
        """Return why it is unusable: not Linux, no Landlock, or no seccomp filter for this machine."""
        if sys.platform != "linux":
            return "this is not Linux"
        if machine() is None:
            return "no filter of system calls is known for this processor"
        return "" if landlock.version() else "this kernel has no Landlock, or it is switched off"

    def launch(self, job: SandboxJob) -> Launch:
        """Return the command line of `inside/confine.py`."""
        known = machine()
        assert known is not None, "call `check` first"
        _refuse_special(job)
        return launch_confined(job, base64.b64encode(_rules(known, job.spare)).decode())


def _refuse_special(job: SandboxJob) -> None:
    """Raise if the workspace holds a pipe or a device, which Landlock cannot block. Sockets are unavailable
    in this tier anyway."""
    path = next((special.path for special in job.special if not special.is_socket), "")
    if path:
        raise UsageError(
            f"{printable(path)} is a pipe or a device file, and programs in the sandbox could use it.",
            hint="Remove it, or work in a copy of the folder.",
        )


def launch_confined(job: SandboxJob, rules: str) -> Launch:
    """Launch a job under `inside/confine.py`; with empty rules it is not confined."""
    status, writer = os.pipe()
    places = [mount for mount in job.mounts if mount.source == mount.target]
    scratch = [f"{job.scratch}/tmp", f"{job.scratch}/shm"]
    plan = {
        "host": os.getpid(),
        "status": writer,
        "spare": job.spare,
        "argv": list(job.argv),
        "start": os.path.realpath(job.start),  # a symlink to it may lie below a covered folder
        "limits": limits_of_whole_user(job.limits) if job.spare is None else kernel_limits(job.limits),
        "filter": rules,
        "readable": [
            *(mount.source for mount in system_mounts()),
            *(mount.source for mount in places if not mount.writable),
            *_FACTS,
        ],
        "writable": [*(mount.source for mount in places if mount.writable), *scratch],
        "devices": _DEVICES,
    }
    argv = [*bare_python("confine"), json.dumps(plan)]
    # The private /tmp: without namespaces there is no private mount.
    env = {"HOME": f"{job.scratch}/tmp/home", "TMPDIR": f"{job.scratch}/tmp"}
    return Launch(argv=argv, passed=(writer,), status=status, env=env, keeps=True)


def _rules(known: Machine, spare: int | None) -> bytes:
    """Build the seccomp filter. All sockets are denied: Landlock restricts neither UDP nor path-based Unix
    sockets. It does not restrict mode and owner changes of the user's own files either; a spare user has
    none."""
    version = landlock.version()
    denied = ["shmget", *(["truncate"] if version < _TRUNCATE_SINCE else [])]  # shmget: outlives the program
    if spare is not None:
        return write_filter(known, families=(), also_denied=denied)
    denied += [*OWNERS, *(SIGNALLING if version < _SIGNALS_SINCE else ())]
    return write_filter(known, families=(), also_denied=denied, ignored=MODES)


class Unsandboxed:
    """No sandbox: programs run as the user, with all of the user's file access."""

    name = "none"

    def check(self) -> str:
        """Return an empty reason: this tier always works."""
        return ""

    def launch(self, job: SandboxJob) -> Launch:
        """Return the command line of `inside/confine.py`, without any restriction."""
        return launch_confined(msgspec.structs.replace(job, spare=None), "")
