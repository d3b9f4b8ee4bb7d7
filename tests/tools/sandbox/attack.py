"""Attacks, as a model's program would try them, and looking for what they leave behind."""

from __future__ import annotations

import asyncio
import sys
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.tier import Executed, SandboxLimits

SOON = SandboxLimits(seconds=30)
"""Far more than any attack here needs: what runs into it was not stopped."""


def new_mark() -> str:
    return f"podium-mark-{uuid.uuid4().hex}"


async def attack(
    sandbox: Sandbox,
    workspace: Path,
    program: str,
    *arguments: str,
    limits: SandboxLimits = SOON,
    readable: Sequence[Path] = (),
    mark: str = "",
) -> Executed:
    """Run a program in Python inside, while the host shows that it still answers; nothing may be left."""
    mark = mark or new_mark()
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            await asyncio.sleep(0.005)
            beats += 1

    heart = asyncio.ensure_future(beat())
    try:
        result = await sandbox.run(
            [sys.executable, "-I", "-S", "-c", program, *arguments],
            folder=workspace,
            limits=limits,
            readable=readable,
            env={"MARK": mark},
        )
    finally:
        heart.cancel()
    assert beats > 1, "the host did not answer meanwhile"
    assert running_with(mark) == []
    return result


async def until(true: Callable[[], object]) -> None:
    """Wait for what another process does."""
    async with asyncio.timeout(30):
        while not true():  # noqa: ASYNC110 - it has no way to tell us
            await asyncio.sleep(0.02)


def running_with(mark: str) -> list[int]:
    """Processes, anywhere on this machine, that have the mark in their environment or their arguments."""
    pids: list[int] = []
    for folder in Path("/proc").glob("[0-9]*"):
        for name in ("environ", "cmdline"):
            try:
                text = (folder / name).read_bytes()
            except OSError:  # it has just ended, or it is somebody else's
                continue
            if mark.encode() in text:
                pids.append(int(folder.name))
                break
    return pids
