"""Changes and commits in a workspace until it is killed; a line for each thing that is done."""

from __future__ import annotations

import asyncio
import sys
from itertools import count
from pathlib import Path

from podium.settings import Settings
from podium.tools.sandbox.selection import open_sandbox
from podium.tools.workspace.change import Change
from podium.tools.workspace.lifecycle import open_workspace


async def main(folder: Path, home: Path) -> None:
    sandbox = await open_sandbox(Settings())
    print("begun", flush=True)
    workspace = await open_workspace(folder, "run1", sandbox, home=home)
    print("opened", flush=True)
    for number in count():
        names = [f"f{number}-{part}.txt" for part in range(5)]
        changes = [Change(path=name, action="create", content=f"{name}\n" * 200) for name in names]
        applied = await workspace.apply(changes)
        print("applied", applied.snapshot, flush=True)
        print("committed", await workspace.commit(f"Number {number}"), flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
