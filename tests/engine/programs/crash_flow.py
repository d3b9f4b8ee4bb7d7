"""A 30-step workflow with parallel branches, whose steps write down when they run, and can kill."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path

import podium

CALLS = Path(os.environ.get("CRASH_CALLS", "calls.log"))


class Trigger:
    """When this process kills itself: at the nth beginning or end of a step's function."""

    moment = ""
    countdown = 0


def note(moment: str, label: str) -> None:
    """Write a line that survives the process, then die if it is time."""
    with CALLS.open("a") as file:
        file.write(f"{moment} {label}\n")
    if Trigger.moment == moment:
        Trigger.countdown -= 1
        if Trigger.countdown == 0:
            os.kill(os.getpid(), signal.SIGKILL)


async def work(label: str, before: str) -> str:
    note("begin", label)
    await asyncio.sleep(0.0005)
    note("end", label)
    return f"{before}|{label}"[-60:]


async def line(run: podium.Run, name: str, steps: int, text: str) -> str:
    for n in range(steps):
        label = f"{name}-{n}"
        text = await run.step("work", work, label, text)
    return text


@podium.workflow
async def crash(run: podium.Run, request: str) -> str:
    """5 steps in a row, 5 branches of 4, 5 in a row: 30 steps."""
    text = await line(run, "head", 5, request)
    branches = await run.gather({f"b{k}": line(run, f"b{k}", 4, text) for k in range(5)})
    joined = "+".join(branch.unwrap() for branch in branches.values())
    return await line(run, "tail", 5, joined) + f"#{len(joined)}"


@podium.workflow
async def capped(run: podium.Run, request: str) -> int:
    """50 parallel calls, each charged with one call."""

    async def one(label: str) -> str:
        return await run.step("call", work, label, "", cost=podium.Charge(calls=1))

    out = await run.gather({str(n): one(f"call-{n}") for n in range(50)})
    return sum(isinstance(result, podium.Ok) for result in out.values())
