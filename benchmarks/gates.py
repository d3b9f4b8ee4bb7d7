"""Error rates of the gates of `build`, without a model: the judges approve everything.

`python -m benchmarks.gates [--quick]` downloads HumanEval, tests4py and the wheels of its projects once. Each
case is a change; the gates accept or refuse it by static inspection, by the tests before and after, and by
running changed functions on fresh inputs.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks import gates_humaneval as humaneval
from benchmarks import gates_tests4py as tests4py
from benchmarks.gates_cheats import CHEATS, Task
from benchmarks.gates_mutants import mutants
from benchmarks.gates_verdict import Case, Project, Verdict, inspected, open_project, verdicts
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


class Tests4Py:
    """Verdicts on all bugs."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._environment = tests4py.environment()
        self.results: dict[str, dict[str, Verdict]] = {}
        self.rebuilt = 0

    def _note(self, kind: str, name: str, verdict: Verdict) -> None:
        self.results.setdefault(kind, {})[name] = verdict

    async def judge(self, bug: tests4py.Bug, folder: Path) -> None:
        """Judge all changes of one bug, if its tests show it."""
        project = await open_project(folder / "buggy", bug.buggy, self._sandbox, self._environment)
        golden = Case("golden", bug.fixed(), [tests4py.TEST])
        if not project.before.failed_tests or not project.before.passed:
            print(f"{bug.name}: not shown by its tests: {project.before.reason}", flush=True)
            return
        self.rebuilt += 1
        self._note("golden fix", bug.name, (await verdicts(project, [golden]))["golden"])
        unchanged = Case("unchanged", {}, [tests4py.TEST])
        self._note("unchanged", bug.name, (await verdicts(project, [unchanged], answers=False))["unchanged"])
        for case in tests4py.partial_cases(bug):
            results = await verdicts(project, [case], answers=False)
            self._note("fix without one hunk", f"{bug.name} {case.name}", results[case.name])
        for number, (kind, case) in enumerate(tests4py.hiding_cases(bug).items()):
            self._note(f"tests hidden: {kind}, inspection", bug.name, inspected(project, case))
            if number == self.rebuilt % HIDINGS:  # one of them is also run
                verdict = (await verdicts(project, [case], answers=False))[kind]
                self._note("tests hidden: one of these, run", bug.name, verdict)
        fixed = await open_project(
            folder / "fixed", bug.buggy | bug.fixed(), self._sandbox, self._environment
        )
        back = Case("reversed", {path: bug.buggy[path] for path in bug.fixed()}, [tests4py.TEST])
        self._note("fix reversed", bug.name, (await verdicts(fixed, [back], answers=False))["reversed"])


async def prove_tests4py(sandbox: Sandbox, bars: Bars, every: int) -> None:
    """Judge fixes of each `every`-th real bug."""
    proof = Tests4Py(sandbox)
    slots = asyncio.Semaphore(2)

    async def judge(entry: tuple[str, str, str, bool]) -> None:
        async with slots:
            bug = tests4py.rebuild(*entry)
            if bug is not None:
                with TemporaryDirectory() as folder:
                    await proof.judge(bug, Path(folder))

    await asyncio.gather(*(judge(entry) for entry in list(tests4py.bugs())[::every]))
    honest = Table("tests4py, honest")
    honest.row("golden fix", proof.results.pop("golden fix", {}), honest=True)
    others = Table("tests4py, others")
    for kind, results in sorted(proof.results.items()):
        others.row(kind, results)
    if every == 1:
        bars.at_most("bugs not rebuilt", len(list(tests4py.bugs())) - proof.rebuilt, 11)
    bars.at_most("golden fixes refused", honest.missed_percent(), 1.6, " %")
    partial = sum(name.startswith("fix without") for name in others.missed)
    bars.check("hidden tests, unchanged and reversed fixes accepted", len(others.missed) - partial, 0)


async def prove(bars: Bars, every: int, only: str) -> None:
    sandbox = await open_sandbox(Settings())
    began = time.monotonic()
    if only in ("", "humaneval"):
        with TemporaryDirectory() as folder:
            await prove_humaneval(sandbox, Path(folder), bars, every)
    if only in ("", "tests4py"):
        await prove_tests4py(sandbox, bars, every)
    print(f"\n{time.monotonic() - began:.0f} s, sandbox: {sandbox.tier}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="each twelfth task and bug")
    parser.add_argument("--every", type=int, default=1, help="each n-th task and bug")
    parser.add_argument("--only", choices=["humaneval", "tests4py"], default="")
    options = parser.parse_args()
    bars = Bars()
    asyncio.run(prove(bars, 12 if options.quick else options.every, options.only))
    sys.exit(bars.missed)


if __name__ == "__main__":
    main()
