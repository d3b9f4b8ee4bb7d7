"""Models that count their calls in a file, and answer the same question always in the same way.

A call writes one line when it begins and one when it ends: `begin PATH ATTEMPT MODEL`. The environment names
the file, because a model that is opened by its name is loaded anew in each process.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from typing import Any

import podium
from podium.engine.codec import encode
from podium.models.model import FREE, Call, OnDelta, Price, Reply, Usage, worst_case

CALLS = "KILL_CALLS"
"""The environment variable that names the file."""

PAUSE_S = 0.001
"""How long a call takes at least, so that kills fall into calls, too."""

_PLAN = re.compile(r"repairs=(\d) fails_at=(\d)")
_CUTS = re.compile(r"cuts=(\d) kind=(\w+)")


def note(moment: str, call: Call, model: str) -> None:
    """Append one line. A single write to a file opened with O_APPEND is whole, and survives the process."""
    line = f"{moment} {call.path} {call.attempt} {model}\n"
    file = os.open(os.environ[CALLS], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(file, line.encode())
    finally:
        os.close(file)


class Counting:
    """A model that notes its calls around the function that answers them."""

    rehearsal = False
    price: Price = FREE
    name = "counting"

    def __init__(self, answer: Callable[[Call], Awaitable[Any]]) -> None:
        self._answer = answer

    async def complete(self, call: Call, on_delta: OnDelta | None = None) -> Reply:
        note("begin", call, self.name)
        await asyncio.sleep(PAUSE_S)
        reply = await self._answer(call)
        note("end", call, self.name)
        if isinstance(reply, Reply):
            return reply
        text = reply if isinstance(reply, str) else encode(reply).decode()
        return Reply(text, Usage(10, 10))

    def worst_case(self, call: Call) -> podium.Charge:
        return worst_case(call, self.price)


# ── a profile of two models ──


async def first(call: Call) -> Any:
    """The first model of a profile: it fails at the attempt that the prompt names."""
    note("begin", call, "first")
    await asyncio.sleep(PAUSE_S)
    note("end", call, "first")
    if int(_planned(call)[1]) == call.attempt:
        raise RuntimeError("the first model is down")
    return _graded(call, "first")


async def second(call: Call) -> Any:
    """The second model of a profile, which takes over when the first fails."""
    note("begin", call, "second")
    await asyncio.sleep(PAUSE_S)
    note("end", call, "second")
    return _graded(call, "second")


async def grading(call: Call) -> Any:
    """Data, after as many repairs as the prompt names."""
    return _graded(call, "counting")


def _graded(call: Call, model: str) -> Any:
    """Data that fits, after as many replies that do not as the prompt names. It tells which model gave it and
    with which attempt."""
    if call.attempt <= int(_planned(call)[0]):
        return f"{model} has no data for {call.path}"
    return {"score": call.attempt, "by": model}


def _planned(call: Call) -> tuple[str, str]:
    match = _PLAN.search(call.prompt)
    assert match is not None, call.prompt
    return match[1], match[2]


# ── replies that are cut off ──


async def cutting(call: Call) -> Reply:
    """A text, data or nothing at all, cut off as often as the prompt names."""
    match = _CUTS.search(call.prompt)
    assert match is not None, call.prompt
    whole = call.attempt > int(match[1])
    if match[2] == "data":
        text = f'{{"score": {call.attempt}, "by": "cutting"}}'
        text = text if whole else text[:12]
    elif match[2] == "empty":
        text = "filled" if whole else ""
    else:
        text = f"part {call.attempt} of {call.path}."
    return Reply(text, Usage(10, 10), finish="stop" if whole else "length")
