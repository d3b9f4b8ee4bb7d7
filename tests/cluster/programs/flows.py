"""Workflows for a fleet. What their steps do is told in a file outside of every store: `FLEET_NOTES`."""

from __future__ import annotations

import asyncio
import os
import secrets
from pathlib import Path

import podium

NOTES = Path(os.environ.get("FLEET_NOTES", os.devnull))
STEP_S = float(os.environ.get("FLEET_STEP_S", "0.02"))


def note(*words: object) -> None:
    """One line, whole even when many processes write at once."""
    with NOTES.open("ab", buffering=0) as file:
        file.write((" ".join(str(word) for word in words) + "\n").encode())


@podium.workflow
async def three(run: podium.Run, request: str) -> list[str]:
    """Three paid steps; each gives a token that tells which of its calls was recorded."""

    async def pay(number: int) -> str:
        token = secrets.token_hex(8)
        note("paid", run.id, number, token, os.getpid())
        await asyncio.sleep(STEP_S)
        return token

    return [request, *[await run.step(f"pay-{number}", pay, number) for number in range(3)]]


@podium.workflow
async def gated(run: podium.Run, request: str) -> list[str]:
    """Three steps; the second lasts until there is a file of the run's request."""

    async def pay(number: int) -> str:
        token = secrets.token_hex(8)
        note("paid", run.id, number, token, os.getpid())
        while number == 1 and not os.path.exists(request):  # noqa: ASYNC110, ASYNC240 - another process
            await asyncio.sleep(0.01)
        return token

    return [await run.step(f"pay-{number}", pay, number) for number in range(3)]


@podium.workflow
async def asks(run: podium.Run, request: str) -> str:
    """A paid step, a question, and another paid step."""

    async def pay(number: int) -> str:
        note("paid", run.id, number, secrets.token_hex(8), os.getpid())
        return f"{os.getpid()}"

    await run.step("before", pay, 0)
    answer = await run.wait_for(request)
    await run.step("after", pay, 1)
    return str(answer)


@podium.workflow
async def steered(run: podium.Run, request: str) -> str:
    """A question in one branch, and in another a call that lasts until there is a file of the request."""

    async def wait() -> str:
        while not os.path.exists(request):  # noqa: ASYNC110, ASYNC240 - another process
            await asyncio.sleep(0.01)
        return "open"

    async def ask() -> str:
        return str(await run.wait_for("Which?"))

    async def call() -> str:
        return await run.step("call", wait)

    await run.gather({"ask": ask(), "call": call()})
    return "done"


@podium.workflow
async def a_workflow_whose_name_is_longer_than_a_channel_of_postgresql_may_be(
    run: podium.Run, request: str
) -> str:
    return request


@podium.workflow
async def sleeps(run: podium.Run, request: str) -> str:
    """Two paid steps, and a long sleep between them."""

    async def pay(number: int) -> str:
        note("paid", run.id, number, secrets.token_hex(8), os.getpid())
        return "paid"

    await run.step("before", pay, 0)
    await run.sleep(float(request))
    return await run.step("after", pay, 1)


@podium.workflow
async def counts(run: podium.Run, request: str) -> list[str]:
    """A call, a wait for a file, and two more calls."""
    writer = podium.Agent("writer", "Writes.")

    async def wait() -> str:
        while not os.path.exists(request):  # noqa: ASYNC110, ASYNC240 - another process
            await asyncio.sleep(0.01)
        return "open"

    first = await run.ask(writer, "write", prompt="One")
    await run.step("wait", wait)
    return [first, *[await run.ask(writer, "write", prompt=text) for text in ("Two", "Three")]]


VERSION = os.environ.get("FLEET_VERSION", "1")
"""Workers with another one have other code at the same place."""


@podium.workflow
async def upgraded(run: podium.Run, request: str) -> list[str]:
    """A step that both versions do alike, one that they do not, and a wait for a file."""

    async def pay(step: str, version: str) -> str:
        note("paid", run.id, step, version, os.getpid())
        return f"{step} {version}"

    async def wait() -> str:
        while not os.path.exists(request):  # noqa: ASYNC110, ASYNC240 - another process
            await asyncio.sleep(0.01)
        return "open"

    same = await run.step("same", pay, "same", "any")
    other = await run.step("other", pay, "other", VERSION)
    await run.step("wait", wait)
    return [same, other]
