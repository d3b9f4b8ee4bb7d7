"""Many who submit at once share a transaction: whoever comes while one is under way goes with the next."""

from __future__ import annotations

import asyncio

from procrastinate.jobs import Job

from podium.cluster.procrastinate.jobs import Jobs


class Gate:
    """Lets jobs into the queue, batch by batch."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs
        self._waiting: list[tuple[list[Job], asyncio.Future[None]]] = []
        self._passing: asyncio.Task[None] | None = None

    async def pass_through(self, jobs: list[Job]) -> None:
        """Durable when this returns."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((jobs, done))
        if self._passing is None or self._passing.done():
            self._passing = asyncio.create_task(self._pass_all(), name="podium-gate")
        await done

    async def _pass_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await self._jobs.submit([job for jobs, _ in batch for job in jobs])
            except BaseException as error:
                for _, done in batch:
                    if not done.done():
                        done.set_exception(error)
                if not isinstance(error, Exception):
                    raise
            else:
                for _, done in batch:
                    if not done.done():
                        done.set_result(None)
