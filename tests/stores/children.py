"""Other processes: the programs in `programs/`, spoken to by lines."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from tests import warm
from tests.stores.samples import PATIENCE_S

ROOT = Path(__file__).parents[2]


class Child:
    """A program under way."""

    def __init__(self, process: warm.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.process = process
        self._stdin = process.stdin
        self._stdout = process.stdout

    @property
    def pid(self) -> int:
        return self.process.pid

    async def line(self) -> str:
        """The next line that it prints; empty when it prints no more."""
        async with asyncio.timeout(PATIENCE_S):
            return (await self._stdout.readline()).decode().strip()

    async def lines(self) -> list[str]:
        """Everything else that it prints."""
        async with asyncio.timeout(PATIENCE_S):
            return (await self._stdout.read()).decode().splitlines()

    async def say(self, line: str) -> None:
        self._stdin.write(f"{line}\n".encode())
        await self._stdin.drain()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def kill(self) -> None:
        """`kill -9`; returns when it is dead."""
        self.process.kill()
        await self.process.wait()

    async def end(self) -> int:
        async with asyncio.timeout(PATIENCE_S):
            return await self.process.wait()


@asynccontextmanager
async def child(program: str, *args: object) -> AsyncGenerator[Child]:
    """Run a program of `programs/` beside the test; it does not outlive the block."""
    process = await warm.spawn(
        sys.executable,
        "-m",
        f"tests.stores.programs.{program}",
        *map(str, args),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        cwd=ROOT,
    )
    running = Child(process)
    try:
        yield running
    finally:
        if process.returncode is None:
            await running.kill()
        await running.lines()  # so that the pipe is closed here and not when the loop is gone
