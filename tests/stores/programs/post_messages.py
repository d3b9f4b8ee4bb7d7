"""`post_messages URL COUNT RUN…`: put COUNT messages into each run's inbox, in turns; prints their ids."""

from __future__ import annotations

import asyncio
import sys

from podium.stores import open_store


async def main(url: str, count: int, run_ids: list[str]) -> None:
    async with open_store(url) as store:
        for number in range(count):
            for run_id in run_ids:
                print(await store.post(run_id, "answer", {"number": number}), flush=True)


asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3:]))
