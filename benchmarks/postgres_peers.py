"""Podium, LangGraph and DBOS on one PostgreSQL, every fsync on: `python -m benchmarks.postgres_peers`.

In each round every contender does each workload once, in a process of its own and in a database of its own,
interleaved with plain asyncio. Beside the time of a step it is counted what a step makes the database do.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
from tests.stores.postgres import Server, server

from benchmarks.common import POSTGRES, ROOT
from benchmarks.environments import PeerError, postgres_peers_environment, python_of
from benchmarks.worker import Measured

WORKLOADS = {"fanout": "fan-out of 200", "many": "500 runs x 10 steps"}
PEERS = ("langgraph_postgres", "dbos")
TIMEOUT_S = 600.0
CONNECTED = "SELECT pid FROM pg_stat_activity WHERE datname = %s LIMIT 1"
COUNTED = (
    "SELECT xact_commit, tup_inserted + tup_updated + tup_deleted FROM pg_stat_database WHERE datname = %s"
)


@dataclass
class Taken:
    """One figure a round."""

    version: str = ""
    step_us: list[float] = field(default_factory=list[float])
    """Wall time of a step, beyond what plain asyncio takes in the same process."""
    times_plain: list[float] = field(default_factory=list[float])
    commits: list[float] = field(default_factory=list[float])
    """Transactions for each step."""
    rows: list[float] = field(default_factory=list[float])
    """Rows written for each step."""


class Database:
    """What a database has done so far."""

    def __init__(self, running: Server) -> None:
        self.url = running.new_database()
        self._name = self.url.rsplit("/", 1)[1]
        self._server = running.url("postgres")

    def counted(self) -> tuple[int, int]:
        """Transactions and rows, once nobody is connected any more: only then all is counted."""
        with psycopg.connect(self._server, autocommit=True) as db:
            while db.execute(CONNECTED, (self._name,)).fetchone() is not None:
                time.sleep(0.05)
            found = db.execute(COUNTED, (self._name,)).fetchone()
        return (0, 0) if found is None else (int(found[0]), int(found[1]))


def measure(python: Path, subject: str, workload: str, url: str, quick: bool) -> Measured:
    """One process: as many repetitions as fit into a few seconds."""
    with tempfile.TemporaryDirectory() as folder:
        command = [str(python), "-m", "benchmarks.worker", subject, workload, folder, "--seconds", "20"]
        done = subprocess.run(
            [*command, "--quick"] if quick else command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            env={**os.environ, POSTGRES: url},
        )
    if done.returncode != 0:
        raise PeerError(f"{subject}, {workload}: {done.stderr.strip()[-600:] or done.returncode}")
    return Measured(**json.loads(done.stdout.splitlines()[-1]))


def add(taken: Taken, found: Measured, before: tuple[int, int], after: tuple[int, int]) -> None:
    own, plain = found.walls[found.subject], found.walls["plain"]
    taken.version = found.version
    taken.step_us += [(a - b) / found.calls * 1e6 for a, b in zip(own, plain, strict=True)]
    taken.times_plain += [a / b for a, b in zip(own, plain, strict=True)]
    made = found.calls * len(own)
    taken.commits.append((after[0] - before[0]) / made)
    taken.rows.append((after[1] - before[1]) / made)


def compare(running: Server, rounds: int, quick: bool) -> dict[str, dict[str, Taken]]:
    """All workloads and contenders, round by round."""
    peers = python_of(postgres_peers_environment())
    pythons = {"podium_postgres": Path(sys.executable), **dict.fromkeys(PEERS, peers)}
    found = {workload: {name: Taken() for name in pythons} for workload in WORKLOADS}
    for _ in range(rounds):
        for workload, contenders in found.items():
            for name, taken in contenders.items():
                database = Database(running)
                before = database.counted()
                measured = measure(pythons[name], name, workload, database.url, quick)
                add(taken, measured, before, database.counted())
    return found


def render(found: dict[str, dict[str, Taken]]) -> str:
    lines = [
        "| workload | who | version | µs a step | × Podium | × plain | commits a step | rows a step |",
        "|---" * 8 + "|",
    ]
    for workload, contenders in found.items():
        own = statistics.median(contenders["podium_postgres"].step_us)
        for name, taken in contenders.items():
            step = statistics.median(taken.step_us)
            lines.append(
                f"| {WORKLOADS[workload]} | {name.removesuffix('_postgres')} | {taken.version} | {step:,.0f} "
                f"| {step / own:.1f} | {statistics.median(taken.times_plain):,.0f} "
                f"| {statistics.median(taken.commits):.3f} | {statistics.median(taken.rows):.1f} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.postgres_peers")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    with server(fsync=True) as running:
        print(render(compare(running, given.rounds, given.quick)))


if __name__ == "__main__":
    main()
