"""A workflow whose request, prompt, events and replies are full of keys. The test plants them."""

from __future__ import annotations

import os

import podium

KEYS = " ".join(os.environ.get(name, "") for name in ("OPENAI_API_KEY", "GATEWAY_TOKEN", "A_NOTE"))
"""What a careless author reads and hands on: two keys by their names, one only by its looks."""

NORA = podium.Agent("Nora", "critic", f"Be strict. Use {KEYS}.", max_tokens=500)


async def careless() -> None:
    raise ValueError(f"cannot use {KEYS}")


@podium.workflow
async def leaky(run: podium.Run, request: str) -> str:
    first = await run.ask(NORA, "draft", prompt=f"My keys are {request} {KEYS}. Keep them safe.")
    run.warn(f"I have seen {first} {KEYS}")
    await run.artifact("notes.md", f"# Notes\n\n{first} {request} {KEYS}", "text/markdown")
    try:
        await run.step("careless", careless)
    except podium.StepFailedError as error:
        run.warn(str(error))
        print(error)  # a workflow may show what it catches
    try:
        await run.ask(NORA, "grade", prompt=f"Again {request}", returns=int)
    except podium.ModelFailedError as error:
        return f"{first} / {error} / {KEYS}"
    return first
