"""What the sandbox asks of each way to shut a program in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from podium.tools.sandbox.inspection import Special
from podium.tools.sandbox.limits import Limits
from podium.tools.sandbox.mounts import Mount


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """One execution, as it was asked for."""

    argv: Sequence[str]
    start: str
    """The folder in which it starts."""
    mounts: Sequence[Mount]
    """What it sees beside the system, the outer folders first."""
    scratch: Path
    """A folder of its own, outside: `tmp`, `shm` and a few files of /etc lie in it."""
    env: Mapping[str, str]
    """All variables that it gets."""
    limits: Limits
    special: Sequence[Special] = ()
    """Pipes, sockets and device files in writable folders that were there before."""
    spare: int | None
    """The user id that root drops to; `None`: Podium is not run by root."""


class Launch(msgspec.Struct, frozen=True, kw_only=True):
    """What has to be started for a job."""

    argv: Sequence[str]
    passed: Sequence[int] = ()
    """Descriptors that it inherits, closed on this side once it has started."""
    env: Mapping[str, str] = {}
    """Variables that this tier needs to be other than the job's."""
    keeps: bool = False
    """Whether what is started ends all others when it is asked to; otherwise they die with it."""
    status: int = -1
    """Where it tells, as lines of JSON, `child-pid` (whose end is the end of all) and `exit-code`."""


class Tier(Protocol):
    """A way to shut programs in."""

    @property
    def name(self) -> str:
        """What it is called in results, settings and messages."""
        ...

    def check(self) -> str:
        """Cheaply: why it cannot be used now; empty if it can."""
        ...

    def launch(self, job: Job) -> Launch:
        """How to start this job."""
        ...
