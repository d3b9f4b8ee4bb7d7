"""`create_runs URL FIRST`: create one run after the other for ever; prints the id of each that exists."""

from __future__ import annotations

import asyncio
import sys
from itertools import count

from podium.stores import open_store
from tests.stores.samples import a_row, a_run


async def main(url: str, first: int) -> None:
    async with open_store(url) as store:
        for number in count(first):
            run = a_run(number)
            await store.create(run, [a_row(1, "run.created")], [b"blob of %d" % number])
            print(run.run_id, flush=True)


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
