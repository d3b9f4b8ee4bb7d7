"""The two floors: plain asyncio with nothing durable, and one bare fsynced SQLite commit per call."""

from __future__ import annotations

import asyncio
import platform
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from benchmarks.common import MODEL


class PlainAsyncio:
    """What the workloads cost by themselves."""

    version = platform.python_version()

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        yield

    async def call(self, run: str, tag: str) -> str:
        return await MODEL.answer(tag)

    async def chain(self, run: str, n: int) -> None:
        for i in range(n):
            await self.call(run, str(i))

    async def fanout(self, run: str, n: int) -> None:
        await self.call(run, "plan")
        await asyncio.gather(*(self.call(run, str(i)) for i in range(n)))
        await self.call(run, "merge")

    async def tree(self, run: str, depth: int, branching: int) -> None:
        await self._node(run, "r", depth, branching)

    async def _node(self, run: str, tag: str, depth: int, branching: int) -> None:
        if depth == 0:
            await self.call(run, tag)
            return
        await self.call(run, f"{tag}:plan")
        await asyncio.gather(*(self._node(run, f"{tag}.{k}", depth - 1, branching) for k in range(branching)))
        await self.call(run, f"{tag}:merge")

    async def many(self, run: str, runs: int, steps: int) -> None:
        await asyncio.gather(*(self.chain(f"{run}-{i}", steps) for i in range(runs)))

    async def resume(self, run: str, n: int) -> None:
        await self.chain(run, n)


class BareCommits(PlainAsyncio):
    """The least that durability can cost: one row, one transaction, one fsync per call, no engine."""

    version = sqlite3.sqlite_version

    @asynccontextmanager
    async def opened(self, folder: Path) -> AsyncGenerator[None]:
        self.db = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute(
            "CREATE TABLE done (run TEXT, tag TEXT, reply TEXT, PRIMARY KEY (run, tag)) WITHOUT ROWID"
        )
        try:
            yield
        finally:
            self.db.close()

    async def call(self, run: str, tag: str) -> str:
        reply = await MODEL.answer(tag)
        self.db.execute("INSERT INTO done VALUES (?, ?, ?)", (run, tag, reply))
        return reply


plain = PlainAsyncio()
commit = BareCommits()
