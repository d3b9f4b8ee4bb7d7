"""A workflow whose request, prompt, events and replies are full of keys. The test plants them."""

from __future__ import annotations

import podium

NORA = podium.Agent("Nora", "critic", "Be strict.", max_tokens=500)


@podium.workflow
async def leaky(run: podium.Run, request: str) -> str:
    first = await run.ask(NORA, "draft", prompt=f"My key is {request}. Keep it safe.")
    run.warn(f"I have seen {first}")
    await run.artifact("notes.md", f"# Notes\n\n{first} {request}", "text/markdown")
    try:
        await run.ask(NORA, "grade", prompt=f"Again {request}", returns=int)
    except podium.ModelFailedError as error:
        return f"{first} / {error}"
    return first
