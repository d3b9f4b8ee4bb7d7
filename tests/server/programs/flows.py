"""Workflows for the server's tests. What has to wait, waits for a file: the test decides when."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import ClassVar

import podium

writer = podium.Agent("writer", role="writer")


class Counted(podium.EventData, frozen=True, kw_only=True):
    """A number was counted."""

    type: ClassVar[str] = "tests.counted"
    number: int
    text: str = ""


@podium.workflow
async def quick(run: podium.Run, request: str, *, length: int = 1) -> str:
    """One question, one answer.

    Nothing else.
    """
    return await run.ask(writer, "write", prompt="Write {{ n }} about {{ r }}", n=length, r=request)


@podium.workflow(gates=["result"])
async def asks(run: podium.Run, request: str) -> podium.Partial | str:
    """Asks a person before it is done."""
    text = await run.ask(writer, "write", prompt="Write about {{ r }}", r=request)
    answer = await run.wait_for("Is it good?", choices=["yes", "no"])
    return f"{answer}: {text}"


@podium.workflow
async def waits(run: podium.Run, request: str) -> str:
    """Two steps; the second is done when a file of the name that was asked for is there."""

    async def first() -> str:
        began = Path(f"{request}.began")
        before = began.read_text() if began.exists() else ""  # noqa: ASYNC240 - it is tiny
        began.write_text(f"{before}began\n")  # noqa: ASYNC240
        return "first"

    async def second() -> str:
        while not Path(request).exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.01)
        return "second"

    return await run.step("first", first) + await run.step("second", second)


@podium.workflow
async def speaks(run: podium.Run, request: str) -> str:
    """Writes as soon as a file of the name that was asked for is there."""

    async def wait() -> None:
        while not Path(request).exists():  # noqa: ASYNC110, ASYNC240 - another process makes it
            await asyncio.sleep(0.01)

    await run.step("wait", wait)
    return await run.ask(writer, "write", prompt="Write a long text about the sea")


@podium.workflow
async def hogs(run: podium.Run, request: str) -> str:
    """Keeps its event loop for itself until a file exists: what a workflow should not do."""
    while not Path(request).exists():  # noqa: ASYNC240 - the point of it
        time.sleep(0.005)  # noqa: ASYNC251 - the point of it
    return "done"


@podium.workflow
async def counts(run: podium.Run, request: str) -> int:
    """Counts `N:SIZE` events, each with a text of that size, with a step in between now and then."""
    number, _, size = request.partition(":")
    for n in range(int(number)):
        run.emit(Counted(number=n, text="x" * int(size or 0)))
        if n % 20 == 0:
            await run.step("pause", asyncio.sleep, 0.001, key=str(n))
    return int(number)


@podium.workflow
async def makes(run: podium.Run, request: str) -> str:
    """Makes files that a browser should not trust."""
    await run.artifact("page.html", "<script>alert(1)</script><h1>Hello</h1>", "text/html")
    await run.artifact("../../etc/pass\r\nwd.svg", "<svg onload='alert(1)'/>", "image/svg+xml")
    await run.artifact("notes.md", "# Notes\n\n<img src=x onerror=alert(1)>", "text/markdown")
    return f"<script>alert(1)</script> {request}"


@podium.workflow
async def half(run: podium.Run, request: str) -> podium.Partial:
    """Says itself that it is only half done."""
    return podium.Partial(output=request, reason="half")
