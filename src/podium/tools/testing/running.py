"""Test detection and runs."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import msgspec

from podium.errors import ResultRefusedError
from podium.tools.sandbox.sandbox import Sandbox, read_result
from podium.tools.sandbox.tier import Executed
from podium.tools.testing.pytest_runner import COVERAGE, environment, find_interpreter, find_pytest, options
from podium.tools.testing.pytest_runner import RESULTS as PYTEST_RESULTS
from podium.tools.testing.report import (
    MAX_FAILURES,
    MAX_NAMES,
    MAX_OUTPUT,
    Counts,
    Project,
    TestCommand,
    TestReport,
    ends_of,
    plain,
)
from podium.tools.testing.runners import ENVIRONMENT as NODE_ENVIRONMENT
from podium.tools.testing.runners import RESULTS as NODE_RESULTS
from podium.tools.testing.runners import (
    ResultsError,
    find_cargo,
    find_go,
    find_npm,
    read_cargo,
    read_go,
    read_junit,
    read_node,
    read_node_test,
)
from podium.tools.workspace.tree import WorkTree
from podium.tools.workspace.workspace import Workspace, remove_folder

_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)


async def find_command(project: Project, sandbox: Sandbox, given: str = "") -> TestCommand | None:
    """Return the command for this project's tests; None if there are none."""
    if given.strip():
        return given_command(project, given.strip())
    found = await find_pytest(project, sandbox)
    return found or find_npm(project) or find_go(project) or find_cargo(project) or find_make(project)


def find_make(project: Project) -> TestCommand | None:
    """Return `make test`. Only its exit code is known, unless it runs a framework with readable results."""
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if _TARGET.search(project.text(name)):
            return _anything(project, ["make", "test"], "make", "make test", f"{name} has a target `test`")
    return None


def given_command(project: Project, given: str) -> TestCommand:
    """Return the command that the user gave, run by a shell."""
    return _anything(project, ["sh", "-c", given], "command", given, "the user said so")


def _anything(project: Project, argv: list[str], framework: str, told_as: str, why: str) -> TestCommand:
    """Build a command that may run any framework: it gets the environment of all of them, and pytest writes
    results."""
    parts = [find_npm(project), find_go(project), find_cargo(project)]
    others = [part for part in parts if part is not None]
    interpreter = find_interpreter(project)
    env = {**NODE_ENVIRONMENT, **{name: value for part in others for name, value in part.env.items()}}
    env |= {**environment(project), "PYTEST_ADDOPTS": " ".join(options(project.results))}
    readable = [*interpreter.readable, *(folder for part in others for folder in part.readable)]
    return TestCommand(
        argv=argv,
        framework=framework,
        told_as=told_as,
        why=why,
        env=env,
        readable=list(dict.fromkeys(readable)),
        links={name: target for part in others for name, target in part.links.items()},
    )


MAX_RESULTS = 50_000_000
NO_TESTS = "There are no tests: nothing that pytest, npm, go, cargo or make would run was found."
COUNTING = ("pytest", "jest", "vitest", "go", "cargo")
"""Frameworks whose results must report counts; without them a run proves nothing."""


_PASSED = re.compile(r"\b\d+ (?:passed|skipped|xfailed|xpassed|deselected)\b|no tests ran")
"""Pytest's closing summary, printed even with quiet settings."""


class _Totals(msgspec.Struct):
    percent_covered: float


class _Coverage(msgspec.Struct):
    totals: _Totals


class _Line(msgspec.Struct, rename="pascal"):
    output: str = ""


async def run_tests(
    workspace: Workspace, sandbox: Sandbox, *, command: str = "", seconds: float | None = None
) -> TestReport:
    """Run the given or detected command. Afterwards the workspace is reset to its state before the run."""
    remove_folder(workspace.home / "results")
    await workspace.reset()
    project = project_of(workspace)
    found = await find_command(project, sandbox, command)
    if found is None:
        return TestReport(command="", framework="", exit_code=None, ok=False, reason=NO_TESTS)
    if shutil.which(found.argv[0]) is None:
        told = f"{found.argv[0]} is not installed: {found.why}, so it is needed."
        return TestReport(
            command=found.told_as, framework=found.framework, exit_code=None, ok=False, reason=told
        )
    try:
        done = await _run(found, project, sandbox, seconds)
        return report_of(found, done, project)
    finally:
        await workspace.reset()


def project_of(workspace: Workspace, results: Path | None = None) -> Project:
    """Return the project part of the workspace that the user named, with a results folder beside it."""
    origin, results = workspace.made.origin, results or workspace.home / "results"
    results.mkdir(mode=0o700, exist_ok=True)
    return Project(workspace.folder, frozenset(workspace.files), workspace.origin, results, origin.below)


async def _run(command: TestCommand, project: Project, sandbox: Sandbox, seconds: float | None) -> Executed:
    tree = WorkTree(project.tree)
    for name, target in command.links.items():
        path = f"{project.below}/{name}" if project.below else name
        if tree.look(path).kind == "missing":
            tree.link(path, target)
    limits = sandbox.limits
    if seconds is not None:
        limits = msgspec.structs.replace(limits, seconds=min(seconds, limits.seconds))
    argv = list(command.argv)
    if command.framework == "pytest":  # dumps the stack of a hanging test before the time limit
        argv += ["-o", f"faulthandler_timeout={limits.seconds / 2:.1f}"]
    return await sandbox.run(
        argv,
        folder=project.tree,
        cwd=project.below or ".",
        readable=[Path(folder) for folder in command.readable],
        also_writable=[project.results],
        env=command.env,
        limits=limits,
    )


def report_of(command: TestCommand, done: Executed, project: Project) -> TestReport:
    """Build the report of a run."""
    trouble = ""
    try:
        counts = _read(command, done, project)
    except (ResultsError, ResultRefusedError) as error:
        counts, trouble = None, str(error)
    told = counts or Counts()
    reason = _reason(command, done, counts, trouble)
    return TestReport(
        command=command.told_as,
        framework=command.framework,
        exit_code=done.exit_code,
        ok=not reason,
        reason=reason,
        passed=told.passed,
        failed=told.failed,
        errors=told.errors,
        skipped=told.skipped,
        total=told.total,
        counted=counts is not None,
        failures=told.failures[:MAX_FAILURES],
        tests=sorted(told.tests)[:MAX_NAMES],
        seconds=round(done.seconds, 3),
        timed_out=done.stopped_by == "time",
        coverage=_coverage(project.results),
        output=_output(command, done, project.tree),
        tier=done.tier,
        warnings=list(done.warnings),
    )


def _read(command: TestCommand, done: Executed, project: Project) -> Counts | None:
    """Return the framework's own results; None if it left none."""
    tree, results = project.tree, project.results
    if (data := _result(results, PYTEST_RESULTS)) is not None:
        return read_junit(data, tree)
    if (data := _result(results, NODE_RESULTS)) is not None:
        return read_node(data, tree)
    if command.framework in ("go", "command", "make") and (counts := read_go(done.stdout, tree)):
        return counts
    if command.framework in ("cargo", "command", "make"):
        return read_cargo(done.stdout, done.stderr, tree)
    return read_node_test(plain(done.stdout)) if command.framework == "npm" else None


def _reason(command: TestCommand, done: Executed, counts: Counts | None, trouble: str) -> str:
    """Return why the run is not a success; empty if it is one."""
    if done.stopped_by == "time":
        return f"The tests were stopped after {done.seconds:.0f} s: one of them hangs, or they take too long."
    if done.stopped_by:
        return f"The tests were stopped: they passed the limit of {done.stopped_by}."
    if trouble:
        return trouble
    if counts and counts.failed + counts.errors:
        return f"{counts.failed} failed and {counts.errors} broke of {counts.total} tests."
    if done.exit_code:
        if command.framework == "pytest" and done.exit_code == 5:
            return "No test was found."
        if command.framework == "pytest" and "No module named pytest" in done.stderr:
            return f"pytest is not installed for {command.argv[0]}: a .venv of the project with it is used."
        return f"The tests ended with exit code {done.exit_code}."
    if counts is None and command.framework in COUNTING:
        return f"{command.framework} ended well but left no results, so that nothing is known to have passed."
    if command.framework == "pytest" and not _PASSED.search(plain(done.stdout)):
        return "pytest was ended before it told what passed."
    if counts is not None and not counts.passed:
        return "Every test was skipped." if counts.skipped else "No test was run."
    return ""


def _coverage(results: Path) -> float | None:
    try:
        data = _result(results, COVERAGE)
        return round(msgspec.json.decode(data, type=_Coverage).totals.percent_covered, 2) if data else None
    except (
        msgspec.MsgspecError,
        ResultRefusedError,
    ):  # written by test code: no figure is better than a wrong one
        return None


def _result(results: Path, name: str) -> bytes | None:
    try:
        return read_result(results, name, max_bytes=MAX_RESULTS)
    except FileNotFoundError:
        return None


def _output(command: TestCommand, done: Executed, tree: Path) -> str:
    """Return the printed output; for Go, the text of its events."""
    out = plain(done.stdout, tree)
    if command.framework == "go":
        out = _go_text(out)
    err = plain(done.stderr, tree)
    both = "\n".join(part.strip("\n") for part in (out, err) if part.strip())
    return ends_of(both, MAX_OUTPUT)


def _go_text(output: str) -> str:
    parts = list[str]()
    for line in output.splitlines():
        try:
            parts.append(msgspec.json.decode(line, type=_Line).output)
        except msgspec.MsgspecError:  # not an event: keep the line
            parts.append(line + "\n")
    return "".join(parts)
