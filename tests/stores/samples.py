"""Runs and rows to fill stores with, and ways to wait for things without hoping."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable

from podium.engine.budget import Budget
from podium.engine.log import Lease, Row, RunRow, Store

PATIENCE_S = 30.0
"""Far more than anything here takes; a test that waits so long has failed."""


def run_id(number: int) -> str:
    """Ids sort like the numbers."""
    return f"run-{number:06d}"


def a_run(number: int = 1, *, status: str = "queued", workflow: str = "demo") -> RunRow:
    return RunRow(
        run_id=run_id(number),
        workflow=workflow,
        request=f"request {number}",
        status=status,
        created_us=number,
        updated_us=number,
    )


def a_row(seq: int, kind: str = "step.completed", data: bytes = b"{}") -> Row:
    return Row(seq, 1_000_000 + seq, f"branch/step#{seq}", kind, data)


CEILINGS = [
    (1, 1, "run.created", b'{"budget": {"usd": 1, "calls": 5}}'),
    (1, 2, "run.resumed", b'{"budget": {"usd": 2.5, "tokens": 99999999999999999999}}'),
    (1, 3, "run.resumed", b'{"budget": {"calls": 7}, "config": {"x": "\\u0000"}}'),
    (1, 4, "run.resumed", b'{"budget": {}}'),
    (2, 1, "run.created", b"{}"),
]
"""Events of runs whose summaries did not know ceilings yet: number, seq, type, data."""
KNOWN = {run_id(1): Budget(usd=2.5, calls=7, tokens=2**63 - 1), run_id(2): Budget()}
"""What the summaries tell once they do."""
OLD_RUN = (
    "INSERT INTO run (run_id, status, stop_reason, updated_us, driven_s, usd, input_tokens, output_tokens, "
    "calls, unpriced_calls, model, rehearsal, created_us, parent, workflow, request) "
    "VALUES ('{}', 'completed', '', 0, 0, 0, 0, 0, 0, 0, '', false, 0, '', 'x', '')"
)


async def driven(store: Store, number: int = 1, *, status: str = "queued") -> Lease:
    """A new run with one row in its log, and the lease to go on with."""
    await store.create(a_run(number, status=status), [a_row(1, "run.created")])
    return await store.acquire(run_id(number))


def append(store: Store, lease: Lease, *seqs: int) -> None:
    for seq in seqs:
        store.append(lease, a_row(seq))


async def commit(store: Store, lease: Lease, first: Callable[[], None] | None = None) -> None:
    """Commit, on the spot or grouped."""
    pending = store.commit(lease, None, None, first)
    if pending is not None:
        await pending


async def seqs_of(store: Store, number: int = 1) -> list[int]:
    return [row.seq for row in await store.read(run_id(number))]


async def take(rows: AsyncGenerator[Row], count: int) -> list[int]:
    """The sequence numbers of the next rows of a tail."""
    taken: list[int] = []
    async with asyncio.timeout(PATIENCE_S):
        while len(taken) < count:
            taken.append((await anext(rows)).seq)
    return taken


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - what it asks about happens in other processes too
            await asyncio.sleep(0.005)
