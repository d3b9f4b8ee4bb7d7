"""The limits that the kernel keeps by itself, for each process."""

from __future__ import annotations

import os
import platform
import re
import resource

from podium.tools.sandbox.inside.family import threads_of_user
from podium.tools.sandbox.limits import Limits

_ROOM = 1_024
_PER_NAMESPACE = (5, 14)
"""The first kernel that counts a user's processes in each user namespace."""


def kernel_limits(limits: Limits) -> dict[str, tuple[int, int]]:
    """Name for `prlimit`, soft and hard value. The ones on memory and processes are twice what was asked for:
    they only bound what can happen between two looks of the watch, which ends the program and says why.

    Memory is RLIMIT_DATA and not RLIMIT_AS: runtimes such as V8, Go and Java reserve much more than they use.
    """
    wanted = {
        "core": 0,
        "cpu": limits.cpu_seconds,
        "data": limits.memory_bytes * 2,
        "fsize": limits.file_bytes,
        "nofile": limits.open_files,
        "nproc": limits.processes * 2,
    }
    found = {name: (_possible(name, value), _possible(name, value)) for name, value in wanted.items()}
    # Between the two a program gets SIGXCPU, by which we know what ended it; at the second it is killed.
    return {**found, "cpu": (found["cpu"][0], _possible("cpu", limits.cpu_seconds + 1))}


def limits_of_whole_user(limits: Limits) -> dict[str, tuple[int, int]]:
    """The same where the kernel counts a user's processes over the whole machine: those that are there are
    added, and room for what else the user starts meanwhile. The watch still counts exactly."""
    found = kernel_limits(limits)
    most = _possible("nproc", threads_of_user(os.getuid()) + max(limits.processes * 2, _ROOM))
    return {**found, "nproc": (most, most)}


def counts_per_namespace() -> bool:
    """Whether this kernel counts the processes of a user namespace by themselves."""
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    return found is not None and (int(found[1]), int(found[2])) >= _PER_NAMESPACE


def _possible(name: str, value: int) -> int:
    """Nobody may raise a hard limit."""
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    return value if hard == resource.RLIM_INFINITY else min(value, hard)
