"""The least that a word and its answer take between two processes that share only a database: a `NOTIFY`
each way, nothing read and nothing kept. `python -m benchmarks.echo URL` is the one that answers."""

from __future__ import annotations

import asyncio
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from psycopg import AsyncConnection

ROOT = Path(__file__).parents[1]
PATIENCE_S = 60.0
Db = AsyncConnection[tuple[Any, ...]]


async def listening(url: str, channel: bytes) -> Db:
    db = await AsyncConnection.connect(url, autocommit=True)
    await db.execute(b"LISTEN " + channel)
    return db


async def heard(db: Db) -> bool:
    """The next word; `False`: none came for long."""
    return bool([word async for word in db.notifies(timeout=PATIENCE_S, stop_after=1)])


async def answer(url: str) -> None:
    """Until nobody asks any more."""
    async with await listening(url, b"bench_there") as db:
        print("ready", flush=True)
        while await heard(db):
            await db.execute("NOTIFY bench_back")


@asynccontextmanager
async def echo(url: str) -> AsyncGenerator[Callable[[], Awaitable[float]]]:
    """Gives what takes one round trip, and tells its seconds."""
    far = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.echo", url, stdout=PIPE, cwd=ROOT
    )
    assert far.stdout is not None
    assert await far.stdout.readline() == b"ready\n"
    async with await listening(url, b"bench_back") as db:

        async def trip() -> float:
            began = time.perf_counter()
            await db.execute("NOTIFY bench_there")
            assert await heard(db)
            return time.perf_counter() - began

        try:
            yield trip
        finally:
            far.kill()
            await far.wait()


if __name__ == "__main__":
    asyncio.run(answer(sys.argv[1]))
