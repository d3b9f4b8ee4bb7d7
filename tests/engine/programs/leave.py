"""Starts a run that never ends and leaves it: `leave.py STORE HOW`, HOW being a way or a number of turns
of the event loop. Whatever it prints is a fault."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable

import podium
from podium.engine.events import Charge

BEGUN: list[Callable[[], None]] = []
"""What happens as soon as a step is under way."""


async def forever() -> None:
    for then in BEGUN:
        then()
    await asyncio.sleep(600)


async def call(run: podium.Run) -> None:
    await run.step("call", forever, cost=Charge(calls=1))


async def ask(run: podium.Run) -> None:
    await run.wait_for("Sure?")


async def flow(run: podium.Run, request: str) -> None:
    await run.step("shout", str.upper, request)
    async with run.branch("part", budget=podium.Budget(calls=5, seconds=500)):
        await run.gather({"1": call(run), "2": call(run), "ask": ask(run)})


async def main(url: str, how: str) -> None:
    workflow = podium.Workflow(flow, "flow")
    if how == "timeout":
        try:
            async with asyncio.timeout(None) as limit:
                BEGUN.append(lambda: limit.reschedule(asyncio.get_running_loop().time() + 0.1))
                await podium.run(workflow, "go", store=url)
        except TimeoutError:
            return
    handle = await podium.start(workflow, "go", store=url)
    if how.isdigit():
        for _ in range(int(how)):
            await asyncio.sleep(0)
    elif how in {"break", "iterate"}:
        async for event in handle.events():
            if event.type == "run.waiting":
                if how == "iterate":
                    return
                break
        await handle.pause(at_once=True)
    else:
        await asyncio.sleep(0.3)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2]))
