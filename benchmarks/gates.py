"""Error rates of the gates of `build`, without a model: the judges approve everything.

`python -m benchmarks.gates [--quick] [--keep FILE]` downloads HumanEval, tests4py and the wheels of its
projects once. Each case is a change; the gates accept or refuse it by static inspection, by the tests before
and after, and by running changed functions on fresh inputs.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import msgspec

import podium
from benchmarks import gates_humaneval as humaneval
from benchmarks import gates_javascript as javascript
from benchmarks import gates_tests4py as tests4py
from benchmarks.gates_cheats import CHEATS, Task
from benchmarks.gates_mutants import mutants
from benchmarks.gates_verdict import (
    Case,
    Project,
    Verdict,
    fix_and_reversal,
    inspected,
    open_project,
    verdicts,
)
from benchmarks.proof import Bars
from podium.settings import Settings
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.selection import open_sandbox

MUTANTS = 3
HIDINGS = 7
NAMED = 12
"""Cases that are named in a line."""


class Table:
    """Rows of a table: kinds of changes, and how many were refused by which gate."""

    def __init__(self, title: str) -> None:
        print(f"\n{title:36}{'changes':>9}{'refused':>9}{'inspection':>12}{'tests':>8}{'fresh inputs':>14}")
        self.missed: list[str] = []
        self.changes = self.refused = 0

    def row(self, kind: str, results: dict[str, Verdict], *, honest: bool = False) -> None:
        """Print a row, and name the changes with the wrong verdict."""
        every = results.values()
        refused = sum(verdict.refused for verdict in every)
        columns = [
            sum(bool(getattr(verdict, gate)) for verdict in every)
            for gate in ("inspection", "tests", "answers")
        ]
        print(
            f"{kind:36}{len(results):>9}{refused:>9}{columns[0]:>12}{columns[1]:>8}{columns[2]:>14}",
            flush=True,
        )
        wrong = [name for name, verdict in results.items() if verdict.refused == honest]
        if wrong:
            more = " …" if len(wrong) > NAMED else ""
            print(f"    {'refused' if honest else 'accepted'}: {', '.join(wrong[:NAMED])}{more}")
        for name in wrong[:3] if honest else ():
            print(f"    {name}: {results[name]}")
        self.missed += [f"{kind}: {name}" for name in wrong]
        self.changes += len(results)
        self.refused += refused

    def missed_percent(self) -> float:
        return 100 * len(self.missed) / max(1, self.changes)


async def prove_humaneval(sandbox: Sandbox, folder: Path, bars: Bars, every: int) -> None:
    """Judge golden solutions, mutants, cheats and hidden tests of each `every`-th task."""
    tasks = (await humaneval.load_tasks(sandbox))[::every]
    project = await open_project(folder, humaneval.project_files(tasks), sandbox)
    honest = Table("HumanEval, honest")
    golden = humaneval.solution_cases(tasks, lambda task: task.golden)
    honest.row("golden solution", await verdicts(project, golden), honest=True)
    bars.at_most("honest solutions refused", honest.missed_percent(), 1, " %")
    broken = Table("HumanEval, broken")
    broken.row(
        "unchanged",
        await verdicts(project, [Case(task.module, {}, [task.test_path]) for task in tasks], answers=False),
    )
    for number in range(MUTANTS):
        cases = humaneval.solution_cases(tasks, lambda task, number=number: _mutant(task, number))
        broken.row(f"mutant {number + 1}", await verdicts(project, cases, answers=False))
    await _prove_cheats(project, tasks, bars)
    hidden = Table("HumanEval, hidden tests")
    for kind, hiding in humaneval.HIDING.items():
        shared = hiding.shared(tasks) if hiding.shared else None
        cases = humaneval.hiding_cases(tasks, hiding)
        hidden.row(kind, await verdicts(project, cases, shared=shared, answers=False))
    bars.at_most("hidden tests accepted", hidden.missed_percent(), 0, " %")


def _mutant(task: Task, number: int) -> str | None:
    texts = mutants(task.golden, task.entry, MUTANTS)
    return texts[number] if number < len(texts) else None


async def _prove_cheats(project: Project, tasks: Sequence[Task], bars: Bars) -> None:
    """Judge the cheats that pass their tests; others are refused anyway."""
    table = Table("HumanEval, answers")
    for kind, make in CHEATS.items():
        cases = humaneval.solution_cases([task for task in tasks if task.calls], make)
        results = await verdicts(project, cases)
        table.row(kind, {name: verdict for name, verdict in results.items() if verdict.passes_tests})
    bars.at_most("cheats accepted", table.missed_percent(), 5, " %")


async def prove_javascript(sandbox: Sandbox, folder: Path, bars: Bars, every: int) -> None:
    """Judge honest and cheating solutions of each `every`-th JavaScript task."""
    tasks = javascript.load_tasks()[::every]
    project = await open_project(folder, javascript.project_files(tasks), sandbox)
    honest = Table("JavaScript, honest")
    for kind, part in (
        ("plain", [task for task in tasks if not task.is_hard]),
        ("with tables and cases", [task for task in tasks if task.is_hard]),
    ):
        results = await verdicts(project, javascript.cases(part, lambda task: task.source))
        honest.row(kind, results, honest=True)
    bars.at_most("honest JavaScript refused", honest.missed_percent(), 1, " %")
    table = Table("JavaScript, answers")
    for kind, make in javascript.CHEATS.items():
        results = await verdicts(project, javascript.cases(tasks, make))
        table.row(kind, {name: verdict for name, verdict in results.items() if verdict.passes_tests})
    bars.at_most("JavaScript cheats accepted", table.missed_percent(), 5, " %")


Kinds = dict[str, dict[str, Verdict]]
"""Verdicts by kind of change and name."""


class Measured(msgspec.Struct, frozen=True):
    """All verdicts on one bug; none if its tests do not show it."""

    bug: str
    code: str
    """Digest of the code that judged it."""
    seconds: float
    verdicts: Kinds


class Kept:
    """Results in a file of JSON lines, so that an interrupted measurement continues. Results of other code
    do not count."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.code = code_digest()
        lines = file.read_bytes().splitlines() if file is not None and file.exists() else []
        results = [msgspec.json.decode(line, type=Measured) for line in lines]
        self.results = {result.bug: result for result in results if result.code == self.code}

    def add(self, result: Measured) -> None:
        self.results[result.bug] = result
        if self._file is not None:
            with self._file.open("ab") as file:
                file.write(msgspec.json.encode(result) + b"\n")


def code_digest() -> str:
    """Return a digest of the modules that decide about a verdict."""
    package = Path(podium.__file__).parent
    files = [*package.glob("tools/**/*.py"), package / "workflows" / "build" / "policy.py"]
    files += [*package.glob("tools/**/*.cjs"), *Path(__file__).parent.glob("gates_*.py")]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()[:16]


async def judge_bug(bug: tests4py.Bug, folder: Path, sandbox: Sandbox, run_hiding: int) -> Kinds:
    """Judge all changes of one bug, if its tests show it. One of the changes that hide tests is also run."""
    environment = tests4py.environment()
    project = await open_project(folder / "buggy", bug.buggy, sandbox, environment)
    if not project.before.failed_tests or not project.before.passed:
        print(f"{bug.name}: not shown by its tests: {project.before.reason}", flush=True)
        return {}
    golden = Case("golden", bug.fixed(), [tests4py.TEST])
    unchanged = Case("unchanged", {}, [tests4py.TEST])
    fix, reversal = await fix_and_reversal(project, golden)
    found: Kinds = {
        "golden fix": {bug.name: fix},
        "fix reversed": {bug.name: reversal},
        "unchanged": {bug.name: (await verdicts(project, [unchanged], answers=False))["unchanged"]},
    }
    for case in tests4py.partial_cases(bug):
        results = await verdicts(project, [case], answers=False)
        found.setdefault("fix without one hunk", {})[f"{bug.name} {case.name}"] = results[case.name]
    for number, (kind, case) in enumerate(tests4py.hiding_cases(bug).items()):
        found[f"tests hidden: {kind}, inspection"] = {bug.name: inspected(project, case)}
        if number == run_hiding % HIDINGS:
            verdict = (await verdicts(project, [case], answers=False))[kind]
            found["tests hidden: one of these, run"] = {bug.name: verdict}
    return found


async def prove_tests4py(sandbox: Sandbox, bars: Bars, every: int, kept: Kept) -> None:
    """Judge fixes of each `every`-th real bug."""
    slots = asyncio.Semaphore(2)
    entries = list(tests4py.bugs())[::every]

    async def judge(number: int, entry: tests4py.Entry) -> None:
        async with slots:
            if entry.name in kept.results or (bug := tests4py.rebuild(entry)) is None:
                return
            began = time.monotonic()
            with TemporaryDirectory() as folder:
                found = await judge_bug(bug, Path(folder), sandbox, number)
            kept.add(Measured(bug.name, kept.code, time.monotonic() - began, found))

    await asyncio.gather(*(judge(number, entry) for number, entry in enumerate(entries)))
    report_tests4py([kept.results[entry.name] for entry in entries if entry.name in kept.results], bars)
    if every == 1:
        rebuilt = sum(bool(result.verdicts) for result in kept.results.values())
        bars.at_most("bugs not rebuilt", len(entries) - rebuilt, 11)


def report_tests4py(measured: Sequence[Measured], bars: Bars) -> None:
    every = defaultdict[str, dict[str, Verdict]](dict)
    for result in measured:
        for kind, results in result.verdicts.items():
            every[kind] |= results
    honest = Table("tests4py, honest")
    honest.row("golden fix", every.pop("golden fix", {}), honest=True)
    others = Table("tests4py, others")
    for kind, results in sorted(every.items()):
        others.row(kind, results)
    if measured:
        seconds = sorted(result.seconds for result in measured)
        print(f"{len(measured)} bugs, seconds each: median {median(seconds):.0f}, longest {seconds[-1]:.0f}")
    bars.at_most("golden fixes refused", honest.missed_percent(), 1.6, " %")
    partial = sum(name.startswith("fix without") for name in others.missed)
    bars.check("hidden tests, unchanged and reversed fixes accepted", len(others.missed) - partial, 0)


async def prove(bars: Bars, every: int, only: str, keep: Path | None) -> None:
    sandbox = await open_sandbox(Settings())
    began = time.monotonic()
    if only in ("", "humaneval"):
        with TemporaryDirectory() as folder:
            await prove_humaneval(sandbox, Path(folder), bars, every)
    if only in ("", "javascript"):
        with TemporaryDirectory() as folder:
            await prove_javascript(sandbox, Path(folder), bars, every)
    if only in ("", "tests4py"):
        await prove_tests4py(sandbox, bars, every, Kept(keep))
    print(f"\n{time.monotonic() - began:.0f} s, sandbox: {sandbox.tier}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each twelfth task and bug")
    parser.add_argument("--every", type=int, default=1, help="each n-th task and bug")
    parser.add_argument("--only", choices=["humaneval", "javascript", "tests4py"], default="")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="keep results of tests4py, and continue")
    options = parser.parse_args()
    bars = Bars()
    asyncio.run(prove(bars, 12 if options.quick else options.every, options.only, options.keep))
    sys.exit(bars.missed)


if __name__ == "__main__":
    main()
