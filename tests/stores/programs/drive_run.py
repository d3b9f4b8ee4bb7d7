"""`drive_run URL RUN`: take a run up and say `driving`; then, for every line read, append a row, commit it
and say `written`, or the name of the error. `release` lets go of it and says `released`; `spawn` starts a
process that lives on, and says its pid."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL

from podium.errors import StoreError
from podium.stores import open_store
from tests.stores.samples import a_row, commit


async def main(url: str, run_id: str) -> None:
    async with open_store(url) as store:
        lease = await store.acquire(run_id)
        seq = lease.last_seq
        print("driving", flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            if line.strip() == "release":
                await store.release(lease)
                print("released", flush=True)
                continue
            if line.strip() == "spawn":
                spawned = await asyncio.create_subprocess_exec(
                    sys.executable, "-c", "import time; time.sleep(600)", stdout=DEVNULL, close_fds=False
                )
                print(spawned.pid, flush=True)
                continue
            seq += 1
            store.append(lease, a_row(seq))
            try:
                await commit(store, lease)
                print("written", flush=True)
            except StoreError as error:
                print(type(error).__name__, flush=True)


asyncio.run(main(sys.argv[1], sys.argv[2]))
