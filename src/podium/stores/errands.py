"""What a store's writer is asked for beside rows: new runs, anything rare, and what the cache learns."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from typing import Any

from podium.engine.log import Row, RunRow
from podium.engine.samples import Sample
from podium.stores.batch import Blob, Creation, Job
from podium.stores.commits import Bells, Commits, Writer

TRIM_EVERY = 64
"""So many answers are kept between two looks at the size of the cache, the first of a process included."""


class Errands(Commits):
    """Each errand is done in the writer's next transaction, with whatever rows are in it."""

    def __init__(self, writer: Writer, bells: Bells) -> None:
        super().__init__(writer, bells)
        self._kept = 0
        """Answers that were put into the cache."""

    async def create(self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes] = ()) -> None:
        await self._create(run, rows, blobs)

    def _create(
        self, run: RunRow, rows: Sequence[Row], blobs: Iterable[bytes], driver: str = ""
    ) -> asyncio.Future[Any]:
        """Queue a new run; with a `driver` the future gets the run's `Standing`."""
        named = [Blob(sha256(data).digest(), data, 0) for data in blobs]
        creation = Creation(self._loop.create_future(), run, rows, named, driver)
        self._batch.creations.append(creation)
        self._schedule()
        return creation.future

    async def _do(self, call: Callable[..., Any], *args: Any) -> Any:
        """Have something rare done; `call` gets the writer's connection first."""
        job = Job(self._loop.create_future(), lambda db: call(db, *args))
        self._queue_job(job)
        return await job.future

    def _queue_job(self, job: Job) -> None:
        self._batch.jobs.append(job)
        self._schedule()

    # ── the cache ──

    def keep_sample(self, sample: Sample, most_bytes: int) -> None:
        notes = self.notes()
        notes.kept.append(sample)
        if self._kept % TRIM_EVERY == 0:
            notes.most_bytes = most_bytes
        self._kept += 1

    def use_sample(self, sample: Sample, now_us: int) -> None:
        self.notes().used.append((sample, now_us))

    def drop_sample(self, sample_id: str) -> None:
        self.notes().dropped.append(sample_id)


def heard(future: asyncio.Future[Any]) -> None:
    """Whoever waited was told; nobody else has to be."""
    if not future.cancelled():
        future.exception()
