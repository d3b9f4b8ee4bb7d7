"""Who drives runs, and whether they are still there.

A process that drives runs has one row, which says every few seconds that it is alive. One that has not said
so for longer than its lease is taken for dead; on the same machine it is known at once.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from podium.errors import StoreError
from podium.stores.postgres.database import Db

LEASE_S = 10.0
"""How long a process that is not heard of may still be alive."""
BEAT_S = 2.0

_JOIN = (
    "INSERT INTO driver (name, who, host, pid, began, lease_s) VALUES (%s, %s, %s, %s, %s, %s) "
    "ON CONFLICT (name) DO UPDATE SET seen = clock_timestamp()"
)
_CLEAR = "DELETE FROM driver WHERE seen < clock_timestamp() - make_interval(secs => lease_s * 10 + 60)"

Execute = Callable[[str, tuple[Any, ...]], Awaitable[object]]


def this_process() -> str:
    """How this process is named to people."""
    return f"pid {os.getpid()} on {socket.gethostname()}"


def is_gone(host: str, pid: int, began: str) -> bool:
    """A process of this machine that is not there any more."""
    return host == _machine() and bool(began) and _began(pid) != began


class Presence:
    """This process as one that drives runs."""

    def __init__(self, execute: Execute) -> None:
        self.name = f"{os.getpid()}-{os.urandom(6).hex()}"
        """What runs are marked with."""
        self._execute = execute
        self._beating: asyncio.Task[None] | None = None

    def join(self) -> bool:
        """Be there, from now on. `True` the first time: then `enter` belongs into the next transaction, so
        that no run bears the mark of a process that nobody knows."""
        if self._beating is not None:
            return False
        self._beating = asyncio.create_task(self._keep_beating(), name="podium-presence")
        return True

    async def enter(self, db: Db) -> None:
        """Say that this process is there; what processes that died long ago have left is cleared away."""
        await db.execute(_JOIN, self._row())
        await db.execute(_CLEAR)

    async def leave(self) -> None:
        """Drive nothing any more."""
        if self._beating is not None:
            self._beating.cancel()
            self._beating = None
            with suppress(StoreError):  # a row that cannot be removed now is taken for dead soon
                await self._execute("DELETE FROM driver WHERE name = %s", (self.name,))

    def _row(self) -> tuple[Any, ...]:
        pid = os.getpid()
        return (self.name, this_process(), _machine(), pid, _began(pid), LEASE_S)

    async def _keep_beating(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            with suppress(StoreError):  # a database that is away knows of no other driver either
                await self._execute(_JOIN, self._row())


def _machine() -> str:
    """The name of this machine and of its boot: a container may have the name of another one."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        boot = space = ""
    return f"{socket.gethostname()} {boot} {space}"


def _began(pid: int) -> str:
    """When a process began, in the kernel's own count; empty where that cannot be told."""
    try:
        return (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(")")[2]
            .split()[19]
        )
    except (OSError, IndexError):
        return ""
