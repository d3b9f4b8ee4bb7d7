"""MCP servers for the tests: a small one of our own, and real ones from npm."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from podium.engine.log import Store
from podium.settings import McpServer
from podium.stores import open_store

PROGRAMS = Path(__file__).parent / "programs"
SMALL = PROGRAMS / "mcp_server.py"
INSTALLED = Path(sys.prefix) / "mcp-servers" / "node_modules"


def small(*ways: str, timeout: float = 60, **more: object) -> McpServer:
    """The small server, told to behave in these ways."""
    options = {"command": sys.executable, "args": [str(SMALL), *ways], "timeout": timeout, **more}
    return McpServer(**options)  # type: ignore[arg-type]


def npm_server(name: str) -> Path:
    """The program of a server from npm, or a skip that says how to get it."""
    program = INSTALLED / ".bin" / name
    if not program.exists():
        pytest.skip(
            "the MCP servers from npm are not installed: `make test` does it where npm has a registry"
        )
    return program


def body(text: str) -> str:
    """What stands inside the fence."""
    return "\n".join(text.splitlines()[2:-1])


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


async def all_gone(pids: list[int]) -> None:
    """Waits until none of them runs."""
    await until(lambda: not any(is_alive(pid) for pid in pids))


async def until(true: Callable[[], bool]) -> None:
    """Waits for something that only another process can bring about, and cannot tell us of."""
    async with asyncio.timeout(60):
        while not true():  # noqa: ASYNC110 - it is outside this process
            await asyncio.sleep(0.02)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(str(tmp_path / "store.sqlite")) as opened:
        yield opened
