"""Research in a process of its own over a real corpus; its model counts its calls in a file: to be killed."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Any

import podium
from podium.models.model import Call
from podium.models.rehearsal import Rehearsal
from podium.stores import open_store
from podium.workflows.research.flow import WORKFLOW

CORPUS = Path(__file__).parents[4] / "examples" / "corpus"
TOPIC = "How much caffeine is safe in a day"


class Counting:
    """Answers as the rehearsal does, writes each call down, and at one of them kills its own process."""

    def __init__(self, log: Path, kill_at: int) -> None:
        self.log = log
        self.kill_at = kill_at
        self._model = Rehearsal()

    async def __call__(self, call: Call) -> Any:
        with self.log.open("a") as file:
            file.write(f"{call.path}\n")
        if len(self.log.read_text().splitlines()) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return (await self._model.complete(call)).text


async def main(store_path: str, log: str, kill_at: int, run_id: str) -> None:
    async with open_store(f"sqlite:///{store_path}") as store:
        model = Counting(Path(log), kill_at)
        if run_id:
            found = await (await podium.resume(run_id, model=model, store=store)).result()
        else:
            options = {"corpus": str(CORPUS), "length": 800, "min_quality": 0.97}
            found = await podium.run(WORKFLOW, TOPIC, model=model, store=store, options=options)
        print(found.to_json().decode())


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else ""))
