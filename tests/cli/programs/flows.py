"""Small workflows that the tests of the command line run in real processes."""

from __future__ import annotations

import asyncio
import os
import signal
from pathlib import Path
from typing import Literal

import podium

writer = podium.Agent("writer", role="author", instructions="You write.")
HOSTILE = "safe \x1b[31mred\x1b[0m \x1b]0;title\x07\x1b[2J\u202eend"


@podium.workflow
async def chain(
    run: podium.Run,
    request: str,
    *,
    rounds: int = 1,
    loud: bool = False,
    tone: Literal["dry", "warm"] = "dry",
    tags: tuple[str, ...] = (),
) -> dict[str, object]:
    """Write, then polish.

    Args:
        rounds: How often it is polished.
    """
    text = await run.ask(writer, "draft", prompt="Draft {{ topic }}", topic=request)
    for _ in range(rounds):
        async with run.branch("polish"):
            text = await run.ask(writer, "improve", prompt="Improve {{ text }}", text=text)
    await run.artifact("text.md", f"# {request}\n", "text/markdown")
    run.warn("only a test")
    return {"request": request, "rounds": rounds, "loud": loud, "tone": tone, "tags": list(tags)}


@podium.workflow
async def say(run: podium.Run, request: str) -> str:
    return f"# Heard\n\n{request}"


@podium.workflow
async def killed(run: podium.Run, request: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def explode() -> str:
    raise ValueError(f"no luck: {HOSTILE}")


@podium.workflow
async def failing(run: podium.Run, request: str) -> str:
    return await run.step("explode", explode)


@podium.workflow
async def unfinished(run: podium.Run, request: str) -> podium.Partial:
    return podium.Partial(output="half", reason="no more ideas", quality=0.4, missing=["the other half"])


@podium.workflow
async def asking(run: podium.Run, request: str) -> str:
    verdict = await run.wait_for("Publish it?", choices=["approve", "reject"], details={"text": request})
    name = await run.wait_for("Under which name?")
    return f"{verdict} as {name}"


@podium.workflow(gates=["plan"])
async def gated(run: podium.Run, request: str) -> str:
    return "planned"


@podium.workflow
async def hostile(run: podium.Run, request: str) -> str:
    run.warn(HOSTILE)
    await run.artifact("../../escape.md", HOSTILE)
    return await run.step("speak", speak)


def speak() -> str:
    return HOSTILE


async def wait_for_file(path: str) -> str:
    """Goes on when somebody makes the file."""
    while not await asyncio.to_thread(Path(path).exists):  # noqa: ASYNC110 - another process makes it
        await asyncio.sleep(0.01)
    return "found"


async def mark(path: str) -> str:
    """Leaves a line for every time that it really runs."""
    with Path(path).open("a", encoding="utf-8") as file:  # noqa: ASYNC230 - a test's own small file
        file.write("ran\n")
    return "marked"


@podium.workflow
async def patient(run: podium.Run, request: str, *, twice: bool = False) -> str:
    """`request` is a folder: marks it, waits for `go` in it, marks it again."""
    await run.step("mark", mark, f"{request}/marks")
    await run.step("wait", wait_for_file, f"{request}/go")
    if twice:
        await run.step("wait", wait_for_file, f"{request}/never")
    await run.step("end", mark, f"{request}/ends")
    return "done"


@podium.workflow
async def costly(run: podium.Run, request: str) -> str:
    for _ in range(4):
        await run.step("spend", mark, request, cost=podium.Charge(usd=0.25, calls=1, input_tokens=100))
    return "spent"


@podium.workflow
async def dozing(run: podium.Run, request: str) -> str:
    await run.step("doze", asyncio.sleep, 600.0, returns=None)
    return "awake"


@podium.workflow
async def counting(run: podium.Run, request: str) -> int:
    for n in range(200):
        await run.step("count", abs, n)
    return 200


async def refuse(call: object) -> str:
    """A model that never answers."""
    raise RuntimeError("no luck today")


@podium.workflow(name="shared")
async def shared_names(
    run: podium.Run, request: str, *, concurrency: int = 4, max_depth: int = 2
) -> list[int]:
    """Has an option of the same name as a common flag."""
    return [concurrency, max_depth]


async def press_ctrl_c(call: podium.Call) -> str:
    raise KeyboardInterrupt


async def never_answer(call: podium.Call) -> str:
    """Asked once, it says so in a file and never comes back."""
    Path("asked").touch()  # noqa: ASYNC240 - for another process to see
    await asyncio.Event().wait()
    return ""


async def reply(call: object) -> str:
    """A model of one's own."""
    return "from python"


@podium.workflow
async def notes(run: podium.Run, request: str) -> None:
    """Every branch leaves a file of the same name, and the run one of its own."""

    async def part(number: int) -> None:
        await run.artifact("notes.md", f"{number}: {request}\n", "text/markdown")

    await run.gather({number: part(number) for number in range(6)})
    await run.artifact("all.md", request, "text/markdown")


@podium.workflow
async def long_names(run: podium.Run, request: str) -> str:
    """Leave files whose names are too long for a file system between others."""
    await run.artifact("x" * 300 + ".md", request, "text/markdown")
    await run.artifact("second.md", "other" if request == "rain" else request, "text/markdown")
    await run.artifact("x" * 300 + "y.md", request, "text/markdown")
    await run.artifact("last.txt", request)
    return "done"
