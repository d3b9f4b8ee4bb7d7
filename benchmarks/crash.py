"""`kill -9` in the middle of a chain, and how long a new process takes to its first new call."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.common import MODEL, ROOT
from benchmarks.worker import SUBJECTS, load


@dataclass
class Resumed:
    """What the second process reports."""

    done_before: int
    """Calls that were finished and paid for before the kill."""
    repeated: int
    """Calls among these that were made again. 0 is the promise."""
    complete: bool
    spawn_to_first_call_s: float
    """From starting the process to its first new call: what a person waits."""
    ask_to_first_call_s: float
    """From the request to resume to the first new call: reading the log and running to that point."""
    total_s: float


async def drive(subject: str, folder: Path, steps: int, kill_at: int) -> None:
    """The first life: dies at the beginning of call `kill_at`."""
    MODEL.kill_at = str(kill_at)
    MODEL.journal = os.open(folder / "first.calls", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    it = load(subject)
    async with it.opened(folder):
        await it.chain("run", steps)
    raise AssertionError("the process was not killed")


async def resume(subject: str, folder: Path, steps: int, spawned_at: float) -> Resumed:
    """The second life."""
    MODEL.journal = os.open(folder / "second.calls", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    it = load(subject)
    async with it.opened(folder):
        asked_at = time.time()
        await it.resume("run", steps)
    first = MODEL.first_call_at or time.time()
    before = (folder / "first.calls").read_text().split()
    after = (folder / "second.calls").read_text().split()
    return Resumed(
        done_before=len(before),
        repeated=len(set(before) & set(after)),
        complete=len(set(before) | set(after)) == steps,
        spawn_to_first_call_s=first - spawned_at,
        ask_to_first_call_s=first - asked_at,
        total_s=time.time() - spawned_at,
    )


def kill_and_resume(python: Path, subject: str, folder: Path, steps: int, kill_at: int) -> Resumed:
    """Both lives, each in a process of its own."""
    folder.mkdir(parents=True)
    command = [str(python), "-m", "benchmarks.crash", subject, str(folder), str(steps)]
    first = subprocess.run([*command, "--kill-at", str(kill_at)], cwd=ROOT, capture_output=True, text=True)
    if first.returncode != -9:
        raise AssertionError(f"{subject} was not killed: {first.stderr.strip()[-400:]}")
    spawned = ["--spawned-at", repr(time.time())]
    second = subprocess.run([*command, *spawned], cwd=ROOT, capture_output=True, text=True)
    if second.returncode != 0:
        raise AssertionError(f"{subject} did not resume: {second.stderr.strip()[-400:]}")
    return Resumed(**json.loads(second.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=sorted(SUBJECTS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("steps", type=int)
    parser.add_argument("--kill-at", type=int)
    parser.add_argument("--spawned-at", type=float)
    given = parser.parse_args()
    if given.kill_at is not None:
        asyncio.run(drive(given.subject, given.folder, given.steps, given.kill_at))
    else:
        found = asyncio.run(resume(given.subject, given.folder, given.steps, given.spawned_at))
        print(json.dumps(asdict(found)), flush=True)
        os._exit(0)


if __name__ == "__main__":
    main()
