"""Holds a council until a certain call, in the middle of which the process is killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from typing import Any

import podium
from tests.workflows.council.team import Team
from tests.workflows.scripted import BARE


async def main(url: str, at: int) -> None:
    team = Team()

    async def answer(call: podium.Call) -> Any:
        if len(team.calls) + 1 == at:
            os.kill(os.getpid(), signal.SIGKILL)
        return await team(call)

    async with podium.open_store(url) as store:
        options = {**BARE, "preset": "extended"}
        await podium.run("council", "the topic", model=answer, store=store, options=options)


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
