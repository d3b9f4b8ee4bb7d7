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
