"""`keep_pace URL PER_MINUTE SECONDS WAITING`: as one of several workers, call a provider as often as the pace
allows, with so many callers who wait. Says `ready`, begins when it reads a line, and prints the time of
each call."""

from __future__ import annotations

import asyncio
import sys
import time

from podium.models.provider_limits import GUARDS, RequestPace
from podium.stores import open_store


async def call(pace: RequestPace, until: float, times: list[float]) -> None:
    while time.time() < until:
        wait = pace.take(0)
        if wait <= 0:
            times.append(time.time())
        await asyncio.sleep(wait or 0.005)


async def main(url: str, per_minute: int, seconds: float, waiting: int) -> None:
    times: list[float] = []
    async with open_store(url) as store:
        pace = GUARDS.of("openai", "https://models.example", per_minute, None, store.limits).pace
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        until = time.time() + seconds
        await asyncio.gather(*(call(pace, until, times) for _ in range(waiting)))
    print(*times, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
