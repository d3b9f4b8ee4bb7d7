"""The host's side of the watch: started when an execution lasts, asked once more when it has ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from typing import cast, get_args

import msgspec

from podium.errors import SandboxUnavailableError
from podium.tools.sandbox.bare import bare_python
from podium.tools.sandbox.inside.holding import free_inodes, free_space, shared_memory
from podium.tools.sandbox.limits import Limits, StoppedBy

_PATIENCE = 0.2
"""Seconds before a watch is started: most programs have ended by then, and the kernel limits them."""


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """Folders that a program may write, and what is in them before it starts."""

    folders: Sequence[str]
    """Those that count as a whole."""
    grown: Sequence[str]
    """Those of which only the growth counts."""
    grown_before: int
    """Bytes on disk in the latter."""
    files_before: int
    """Files and folders in all of them."""


class Watch:
    """Over one execution. It dies with the host: then its input ends."""

    def __init__(self, limits: Limits, watched: Watched) -> None:
        self._plan = {
            **msgspec.to_builtins(limits),
            **msgspec.to_builtins(watched),
            "shared_before": shared_memory(),
            "free_before": free_space(watched.folders[0]),
            "inodes_before": free_inodes(watched.folders[0]),
        }
        self._starting: asyncio.Future[asyncio.subprocess.Process] | None = None
        self._process: asyncio.subprocess.Process | None = None

    async def look(self, root: int, tell: Callable[[StoppedBy], None]) -> None:
        """Wait for a limit to be passed, and tell which."""
        await asyncio.sleep(_PATIENCE)
        plan = json.dumps({**self._plan, "root": root})
        start = asyncio.create_subprocess_exec(
            *bare_python("watch"),
            plan,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env={},
            cwd="/",
        )
        self._starting = asyncio.ensure_future(start)
        self._process = await asyncio.shield(self._starting)
        if reason := await self._said():
            tell(reason)

    async def last_look(self) -> StoppedBy:
        """The program has ended by itself: whether it has filled its folders meanwhile."""
        if self._process is None or self._process.stdin is None:
            return ""
        self._process.stdin.close()
        return await self._said()

    async def end(self) -> None:
        """Nobody needs to know any more."""
        if self._starting is not None:
            process = await self._starting
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.communicate()

    async def _said(self) -> StoppedBy:
        assert self._process is not None
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:  # it ended without a word: nobody looks any more, so nothing may go on
            _, told = await self._process.communicate()
            reason = (told.decode("utf-8", "replace").strip().splitlines() or ["no reason given"])[-1]
            raise SandboxUnavailableError(f"The watch over a program ended: {reason[:200]}.")
        word = line.decode().strip()
        return cast("StoppedBy", word) if word in get_args(StoppedBy) else ""
