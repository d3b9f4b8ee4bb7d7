"""All benchmarks in one go: `make bench`. Writes `.bench/results.md` and `.bench/results.json`."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from benchmarks import machine, readers, startup
from benchmarks.asking import Asked
from benchmarks.common import FULL, OUT, QUICK, ROOT, WORKLOADS
from benchmarks.crash import Resumed, kill_and_resume, kill_and_resume_by_command
from benchmarks.environments import PeerError, core_install_mb, langgraph_environment, python_of
from benchmarks.orchestration import Grown
from benchmarks.provider import serving
from benchmarks.report import render
from benchmarks.results import Results
from benchmarks.short import Short
from benchmarks.worker import Measured
from podium.errors import PodiumError

T = TypeVar("T")

LATENCY = 0.05
"""A fast model's answer: how much the overhead weighs in practice."""
CRASHES = 5
TIMEOUT_S = 300.0
EXPECTED = (PeerError, PodiumError, AssertionError, OSError, ValueError, subprocess.SubprocessError)


class Benchmarks:
    """One run of everything, each part in processes of its own; a part that fails is reported."""

    def __init__(self, quick: bool, peers: bool, folder: Path) -> None:
        self.sizes = QUICK if quick else FULL
        self.quick = quick
        self.peers = peers
        self.folder = folder
        self.results = Results(machine=machine.describe(folder))
        self.python = Path(sys.executable)

    def part(self, name: str, work: Callable[[], T]) -> T | None:
        start = time.perf_counter()
        try:
            found = work()
        except EXPECTED as error:
            self.results.failures[name] = str(error) or type(error).__name__
            print(f"  {name:<34} failed: {error}", file=sys.stderr, flush=True)
            return None
        print(f"  {name:<34} {time.perf_counter() - start:6.1f} s", file=sys.stderr, flush=True)
        return found

    def fresh(self, name: str) -> Path:
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))

    def child(self, python: Path, module: str, *arguments: object) -> str:
        """The last line that a measuring process prints."""
        command = [str(python), "-m", f"benchmarks.{module}", *map(str, arguments)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT_S)
        if done.returncode != 0:
            raise PeerError(done.stderr.strip()[-600:] or f"exit code {done.returncode}")
        return done.stdout.splitlines()[-1]

    def workload(self, python: Path, subject: str, workload: str, latency: float) -> None:
        def measure() -> Measured:
            extra = ["--quick"] if self.quick else []
            folder = self.fresh(subject)
            line = self.child(python, "worker", subject, workload, folder, "--latency", latency, *extra)
            return Measured(**json.loads(line))

        found = self.part(f"{subject}, {workload}, {latency * 1000:.0f} ms", measure)
        if found is not None:
            self.results.workloads.append(found)

    def workloads(self, python: Path, subject: str, names: tuple[str, ...] = WORKLOADS) -> None:
        for name in names:
            self.workload(python, subject, name, 0.0)
            self.workload(python, subject, name, LATENCY)

    def resume(self, python: Path, subject: str, length: str, steps: int, kill_at: int) -> Path:
        """Kill and resume a few times; the median counts. Returns the folder of the last store."""
        folder = self.folder

        def once() -> Resumed:
            nonlocal folder
            folder = self.fresh("crash")
            if subject == "command":
                return kill_and_resume_by_command(folder, steps, kill_at)
            return kill_and_resume(python, subject, folder, steps, kill_at)

        def median() -> Resumed:
            found = [once() for _ in range(CRASHES if length == "short" and not self.quick else 1)]
            return sorted(found, key=lambda one: one.spawn_to_first_call_s)[len(found) // 2]

        found = self.part(f"{subject}, kill -9 at call {kill_at:,}", median)
        if found is not None:
            self.results.resumed[f"{subject} {length}"] = found
        return folder

    def crashes(self) -> None:
        sizes, results = self.sizes, self.results
        self.resume(self.python, "steps", "short", sizes.chain, sizes.chain // 2)
        self.resume(self.python, "command", "short", sizes.chain, sizes.chain // 2)
        folder = self.resume(self.python, "steps", "long", sizes.long + 10, sizes.long)
        url = f"sqlite:///{folder}/podium.sqlite"
        line = self.part("replay of the long run", lambda: self.child(self.python, "replay", url))
        results.replay_s = float(line) if line else None
        results.startup = self.part("start-up", lambda: startup.measure(url, 3 if self.quick else 9)) or {}

    def waiting(self) -> None:
        for kind in ("sleep", "wait_for"):
            arguments = (kind, self.fresh("idle"), self.sizes.idle)
            line = self.part(
                f"idle runs, {kind}", lambda arguments=arguments: self.child(self.python, "idle", *arguments)
            )
            if line is not None:
                self.results.idle_kb[kind] = float(line)

    def asking(self, python: Path, askers: str, address: str) -> None:
        """Questions over HTTP; all askers of this run ask the same provider."""

        def measure() -> Asked:
            extra = ["--quick"] if self.quick else []
            line = self.child(python, "asking", askers, address, self.fresh("asked"), *extra)
            return Asked(**json.loads(line))

        found = self.part(f"over HTTP: {askers}", measure)
        if found is not None:
            self.results.asked.append(found)

    def orchestration(self) -> None:
        def measure() -> Grown:
            extra = ["--quick"] if self.quick else []
            return Grown(**json.loads(self.child(self.python, "orchestration", self.fresh("grown"), *extra)))

        def measure_real() -> Grown:
            extra = ["--quick"] if self.quick else []
            arguments = (self.fresh("grown"), "--real", *extra)
            return Grown(**json.loads(self.child(self.python, "orchestration", *arguments)))

        self.results.grown = self.part("the tree workflow", measure)
        self.results.real_tree = self.part("the tree workflow, 1-s model", measure_real)

    def short_runs(self) -> None:
        def measure() -> Short:
            extra = ["--quick"] if self.quick else []
            return Short(**json.loads(self.child(self.python, "short", self.fresh("short"), *extra)))

        self.results.short = self.part("runs of three steps", measure)

    def shutting_in(self) -> None:
        def measure() -> dict[str, dict[str, float]]:
            return json.loads(self.child(self.python, "sandbox", *(["--quick"] if self.quick else [])))

        self.results.shut_in = self.part("programs in the sandbox", measure) or {}

    def all(self) -> Results:
        self.workloads(self.python, "steps")
        self.orchestration()
        self.short_runs()
        self.workloads(self.python, "asks", ("chain", "fanout"))
        self.crashes()
        self.waiting()
        venv = self.part("LangGraph's environment", langgraph_environment) if self.peers else None
        with serving() as address:
            self.asking(self.python, f"http,adapter,ask{',pydantic_ai' if self.peers else ''}", address)
            if venv is not None:
                self.asking(python_of(venv), "http,langchain", address)
        watch = readers.measure(self.sizes, self.fresh("readers"))
        self.results.followed = self.part(f"{self.sizes.readers} readers", lambda: asyncio.run(watch))
        self.shutting_in()
        self.results.core_mb = self.part("core install", core_install_mb)
        if venv is not None:
            self.workloads(python_of(venv), "langgraph")
            self.resume(python_of(venv), "langgraph", "short", self.sizes.chain, self.sizes.chain // 2)
        return self.results


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench")
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, for a look whether all of it works"
    )
    parser.add_argument("--no-peers", action="store_true", help="Podium alone")
    given = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    if machine.file_system(OUT) in machine.MEMORY_FILE_SYSTEMS:
        print(
            f"{OUT} is in memory, where an fsync costs nothing; move the project to a disk.", file=sys.stderr
        )
        return 2
    folder = Path(tempfile.mkdtemp(prefix="stores-", dir=OUT))
    try:
        results = Benchmarks(given.quick, not given.no_peers, folder).all()
    finally:
        shutil.rmtree(folder)
    text = render(results, QUICK if given.quick else FULL, LATENCY)
    name = "quick" if given.quick else "results"
    (OUT / f"{name}.md").write_text(text, encoding="utf-8")
    (OUT / f"{name}.json").write_text(json.dumps(asdict(results), indent=1), encoding="utf-8")
    print(text)
    return 1 if results.failures else 0


if __name__ == "__main__":
    sys.exit(main())
