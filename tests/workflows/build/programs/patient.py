"""A build in a process of its own, whose model counts its calls in a file: to be killed half-way."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import podium
from podium.engine.result import RunResult
from podium.stores import open_store
from tests.workflows.build.team import Team, coded, go_on, make, modified


class Counting(Team):
    """Answers, writes each call down, and at one of them kills its own process."""

    def __init__(self, log: Path, kill_at: int) -> None:
        super().__init__({"code": self.code})
        self.log = log
        self.kill_at = kill_at

    async def __call__(self, call: podium.Call) -> object:
        with self.log.open("a") as file:
            file.write(f"{call.path}\n")
        if len(self.log.read_text().splitlines()) == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return await super().__call__(call)

    @staticmethod
    def code(call: podium.Call) -> object:
        """Wrong at first, so that there is a fix cycle to be killed in."""
        return coded("wrong") if "# Step 1" in call.prompt else modified("right", "write it down again")


async def drive(folder: Path, log: str, kill_at: int, run_id: str) -> RunResult:
    async with open_store(f"sqlite:///{folder}/runs.sqlite") as store:
        team = Counting(folder / log, kill_at)
        return await go_on(store, run_id, team) if run_id else await make(store, team, folder / "project")


def main(folder: Path, log: str, kill_at: int, run_id: str) -> None:
    made = asyncio.run(drive(folder, log, kill_at, run_id))
    shown = subprocess.run(
        ["git", "show", f"{made.output['branch']}:answer.txt"],
        cwd=folder / "project",
        capture_output=True,
        text=True,
        check=True,
    )
    print(json.dumps({"status": made.status, "answer": shown.stdout.strip()}))


if __name__ == "__main__":
    words = sys.argv[1:]
    main(Path(words[0]), words[1], int(words[2]), words[3] if len(words) > 3 else "")
