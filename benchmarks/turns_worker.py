"""A subject in a process of its own: for each number on its input it makes so many turns."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path

from benchmarks.turns_common import MODULES, Subject


async def work(name: str, folder: Path) -> None:
    subject: Subject = getattr(import_module(f"benchmarks.{MODULES[name]}"), name)
    async with subject.opened(folder):
        await subject.turns(10)
        print(json.dumps({"version": subject.version}), flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            turns = int(line)
            gc.collect()
            before, began = time.process_time(), time.perf_counter()
            await subject.turns(turns)
            wall, cpu = time.perf_counter() - began, time.process_time() - before
            print(json.dumps({"cpu": cpu / turns, "wall": wall / turns}), flush=True)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], Path(sys.argv[2])))
    os._exit(0)  # a peer's left-over threads must not hold up the next measurement
