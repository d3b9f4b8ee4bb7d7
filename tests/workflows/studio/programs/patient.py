"""A studio in a process of its own, whose model counts its calls in a file: to be killed half-way."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

import podium
from podium.stores import open_store
from tests.workflows.studio.crew import WORKED, Crew, graded


class Counting(Crew):
    """Answers, writes each call down, and at one of them kills its own process."""

    def __init__(self, log: Path, kill_at: int) -> None:
        super().__init__({"story/plot/attempt/grade": graded(50, "once more")})
        self.log = log
        self.kill_at = kill_at

    async def __call__(self, call: podium.Call) -> object:
        if self._note(call.path) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().__call__(call)

    def _note(self, path: str) -> int:
        with self.log.open("a") as file:
            file.write(f"{path}\n")
        return len(self.log.read_text().splitlines())


async def main(store_path: str, log: str, kill_at: int, run_id: str) -> None:
    async with open_store(f"sqlite:///{store_path}") as store:
        model = Counting(Path(log), kill_at)
        if run_id:
            result = await (await podium.resume(run_id, model=model, store=store)).result()
        else:
            result = await podium.run("studio", WORKED, model=model, store=store)
        print(result.to_json().decode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else ""))
