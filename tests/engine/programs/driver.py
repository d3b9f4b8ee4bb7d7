"""Drives a workflow of numbered steps in a process of its own.

    python -m tests.engine.programs.driver STORE start            prints the run id, then one line a step
    python -m tests.engine.programs.driver STORE ask              prints the run id, then one line a step
    python -m tests.engine.programs.driver STORE resume RUN [take-over]

`GATE` names a file: a step waits until it exists. `DIE=1`: the second step kills the process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import podium
from podium.errors import PodiumError
from podium.settings import Settings


def say(text: str) -> None:
    print(text, flush=True)


async def count(n: int) -> int:
    say(f"step {n}")
    if n == 1 and os.environ.get("DIE"):
        os.kill(os.getpid(), signal.SIGKILL)
    gate = os.environ.get("GATE")
    while gate and n == 1 and not os.path.exists(gate):  # noqa: ASYNC240, ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    return n


@podium.workflow
async def counting(run: podium.Run, request: str) -> list[int]:
    return [await run.step("count", count, n) for n in range(4)]


@podium.workflow
async def asking(run: podium.Run, request: str) -> str:
    """Ask, and do something else meanwhile: who only waits is not driven."""
    both = {"color": run.wait_for("Which color?"), "count": run.step("count", count, 1)}
    return str((await run.gather(both))["color"].unwrap())


async def main(store: str, what: str, *rest: str) -> None:
    settings = Settings.load(cwd="/", env={})
    try:
        if what in ("start", "ask"):
            workflow = counting if what == "start" else asking
            handle = await podium.start(workflow, "count", store=store, settings=settings)
            say(handle.run_id)
        else:
            take_over = "take-over" in rest
            handle = await podium.resume(rest[0], store=store, settings=settings, take_over=take_over)
        result = await handle.result()
        say(f"{result.status} {result.output} {result.error}")
    except PodiumError as error:
        say(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
