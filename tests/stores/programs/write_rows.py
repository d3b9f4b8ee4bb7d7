"""`write_rows URL RUN COUNT GROUP`: drive a run and append COUNT rows, GROUP commits at a time.

Prints the sequence number of every row as soon as its commit is done.
"""

from __future__ import annotations

import asyncio
import sys

from podium.stores import open_store
from tests.stores.samples import a_row


async def main(url: str, run_id: str, count: int, group: int) -> None:
    async with open_store(url) as store:
        lease = await store.acquire(run_id)
        store.live = group
        first = lease.last_seq + 1
        for start in range(first, first + count, group):
            seqs = range(start, min(start + group, first + count))
            pending = [(seq, store.append(lease, a_row(seq)) or store.commit(lease)) for seq in seqs]
            for seq, commit in pending:
                if commit is not None:
                    await commit
                print(seq, flush=True)
        await store.release(lease)


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
