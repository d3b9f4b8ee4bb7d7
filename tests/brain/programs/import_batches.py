"""`import_batches URL FIRST SIZE`: import facts batch by batch; prints the number of each one that is in."""

from __future__ import annotations

import asyncio
import sys

from podium.brain.review import import_facts
from podium.engine.store_parts import Fact
from podium.settings import Settings
from podium.stores import open_store


def batch_of(number: int, size: int) -> list[Fact]:
    return [
        Fact(id=f"{number}-{place}", subject=f"Subject {place}", predicate="batch", value=f"number {number}")
        for place in range(size)
    ]


async def main(url: str, first: int, size: int) -> None:
    async with open_store(url) as store:
        for number in range(first, first + 1_000_000):
            await import_facts(store, batch_of(number, size), settings=Settings(), project="p", accept=True)
            print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
