"""`forget_to_close URL RUN`: write a row durably, and end without closing the store."""

from __future__ import annotations

import asyncio
import sys

from podium.stores import open_store
from tests.stores.samples import a_row


async def main(url: str, run_id: str) -> None:
    store = await open_store(url)
    lease = await store.acquire(run_id)
    store.live = 2
    store.append(lease, a_row(lease.last_seq + 1))
    pending = store.commit(lease)
    if pending is not None:
        await pending


asyncio.run(main(sys.argv[1], sys.argv[2]))
