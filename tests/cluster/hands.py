"""A worker without a store, for tests of an engine alone."""

from __future__ import annotations

import asyncio
from typing import Self

from podium.cluster.port import Engine, Schedule, WorkerConfig

PATIENCE_S = 60.0
"""What does not come within so long does not come."""


class Hands:
    """A worker without a store: it notes what it is given, and lasts as long as it is told."""

    def __init__(self, engine: Engine) -> None:
        self.given: asyncio.Queue[str] = asyncio.Queue()
        self.fired: asyncio.Queue[tuple[Schedule, int]] = asyncio.Queue()
        self.answers: list[float | None] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.cancelled = asyncio.Event()
        self._stop = asyncio.Event()
        self._ready = asyncio.Event()
        self._engine = engine

    async def drive(self, run_id: str) -> float | None:
        self.given.put_nowait(run_id)
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return self.answers.pop(0) if self.answers else None

    async def fire(self, schedule: Schedule, moment: int) -> None:
        self.fired.put_nowait((schedule, moment))

    async def __aenter__(self) -> Self:
        config = WorkerConfig(
            drive=self.drive, fire=self.fire, concurrency=5, stop=self._stop, ready=self._ready.set
        )
        self._work = asyncio.create_task(self._engine.work(config))
        await self._ready.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.go_on.set()
        self.stop()
        async with asyncio.timeout(PATIENCE_S):
            await self._work

    def stop(self) -> None:
        """Take nothing new."""
        self._stop.set()

    async def next(self) -> str:
        async with asyncio.timeout(PATIENCE_S):
            return await self.given.get()


async def gone(engine: Engine, run_id: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while await engine.carried([run_id]):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.02)
