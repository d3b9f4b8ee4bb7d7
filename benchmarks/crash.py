"""`kill -9` in the middle of a chain, and how long a new process takes to its first new call."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import JOURNAL, MODEL, ROOT
from benchmarks.worker import SUBJECTS, load

PODIUM = Path(sys.executable).with_name("podium")


@dataclass
class Resumed:
    """Both lives of a killed chain."""

    done_before: int
    """Calls that were finished and paid for before the kill."""
    repeated: int
    """Calls among these that were made again. 0 is the promise."""
    complete: bool
    spawn_to_first_call_s: float
    """From starting the process to its first new call: what a person waits."""
    ask_to_first_call_s: float | None
    """From the request to resume to the first new call: reading the log and running to that point."""


async def drive(subject: str, folder: Path, steps: int, kill_at: int) -> None:
    """The first life: dies at the beginning of call `kill_at`."""
    MODEL.kill_at = str(kill_at)
    it = load(subject)
    async with it.opened(folder):
        await it.chain("run", steps)
    raise AssertionError("the process was not killed")


async def resume(subject: str, folder: Path, steps: int) -> float:
    """The second life. Returns the moment at which it asked to resume."""
    it = load(subject)
    async with it.opened(folder):
        asked_at = time.time()
        await it.resume("run", steps)
    return asked_at


def spawn(command: list[str], journal: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, JOURNAL: str(journal), "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment, timeout=300)


def calls(journal: Path) -> dict[str, float]:
    """Tags of finished calls and when they began."""
    lines = [line.split() for line in journal.read_text(encoding="utf-8").splitlines()]
    return {tag: float(moment) for tag, moment in lines}


def kill_and_resume(python: Path, subject: str, folder: Path, steps: int, kill_at: int) -> Resumed:
    """Both lives, each in a process of its own."""
    command = first_life(python, subject, folder, steps, kill_at)
    return second_life(command, folder, steps)


def kill_and_resume_by_command(folder: Path, steps: int, kill_at: int) -> Resumed:
    """The same, taken up by `podium resume` as a person would."""
    first_life(Path(sys.executable), "steps", folder, steps, kill_at)
    store = ["--store", f"sqlite:///{folder}/podium.sqlite"]
    listed = subprocess.run([PODIUM, "runs", "--json", *store], capture_output=True, text=True, check=True)
    run_id: str = json.loads(listed.stdout)["runs"][0]["run_id"]
    return second_life([str(PODIUM), "resume", run_id, *store], folder, steps)


def first_life(python: Path, subject: str, folder: Path, steps: int, kill_at: int) -> list[str]:
    """Let it work and die. Returns the command that takes it up again."""
    command = [str(python), "-m", "benchmarks.crash", subject, str(folder), str(steps)]
    first = spawn([*command, "--kill-at", str(kill_at)], folder / "first.calls")
    if first.returncode != -9:
        raise AssertionError(f"{subject} was not killed: {first.stderr.strip()[-400:]}")
    return command


def second_life(command: list[str], folder: Path, steps: int) -> Resumed:
    spawned_at = time.time()
    second = spawn(command, folder / "second.calls")
    if second.returncode != 0:
        raise AssertionError(f"it did not resume: {second.stderr.strip()[-400:]}")
    before, after = calls(folder / "first.calls"), calls(folder / "second.calls")
    first_call = min(after.values())
    last_line = second.stdout.splitlines()[-1]
    asked_at = float(last_line) if "benchmarks.crash" in command else None
    return Resumed(
        done_before=len(before),
        repeated=len(before.keys() & after.keys()),
        complete=len(before.keys() | after.keys()) == steps,
        spawn_to_first_call_s=first_call - spawned_at,
        ask_to_first_call_s=first_call - asked_at if asked_at else None,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("subject", choices=sorted(SUBJECTS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("steps", type=int)
    parser.add_argument("--kill-at", type=int)
    given = parser.parse_args()
    if given.kill_at is not None:
        asyncio.run(drive(given.subject, given.folder, given.steps, given.kill_at))
    else:
        print(repr(asyncio.run(resume(given.subject, given.folder, given.steps))), flush=True)
        os._exit(0)  # a peer's left-over threads must not keep it alive


if __name__ == "__main__":
    main()
