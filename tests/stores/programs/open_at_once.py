"""`open_at_once URL`: say `ready`, wait for a line, open the store, create a run of one's own, say its id."""

from __future__ import annotations

import asyncio
import os
import sys

from podium.stores import open_store
from tests.stores.samples import a_row, a_run


async def main(url: str) -> None:
    async with open_store(url) as store:
        run = a_run(os.getpid())
        await store.create(run, [a_row(1)])
        print(run.run_id, flush=True)


print("ready", flush=True)
sys.stdin.readline()
asyncio.run(main(sys.argv[1]))
