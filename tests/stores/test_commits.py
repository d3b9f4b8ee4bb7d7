"""The queue of a store: what goes to the writer, and when."""

from __future__ import annotations

from asyncio import sleep
from collections.abc import Callable, Collection

from podium.engine.log import Written
from podium.stores.batch import ROW_WIDTH, Batch, HeldLease, Key
from podium.stores.commit_queue import CommitQueue, Report

MANY = 384


class Kept:
    """A writer that only keeps what it is given."""

    def __init__(self) -> None:
        self.settle: Callable[[Report], None] = lambda report: None
        self.batches: list[int] = []

    def submit(self, batch: Batch) -> None:
        self.batches.append(len(batch.rows) // ROW_WIDTH)


def unexpected(batch: Batch, failures: Collection[Key]) -> None:
    raise AssertionError("nothing is written in this test")


def row(seq: int) -> Written:
    return (seq, seq, "", "t", b"{}")


async def test_many_rows_go_out_without_a_commit_and_a_few_wait_for_one() -> None:
    writer = Kept()
    commits = CommitQueue(writer, unexpected)
    lease = HeldLease("run", (1, 1), 0, 0)
    for seq in range(1, MANY):
        commits.append(lease, row(seq))
    await sleep(0)
    assert writer.batches == []
    commits.append(lease, row(MANY))
    commits.append(lease, row(MANY + 1))
    await sleep(0)
    assert writer.batches == [MANY + 1], "whoever commits next would have to wait for all of them"
    commits.append(lease, row(MANY + 2))
    await sleep(0)
    assert writer.batches == [MANY + 1]
