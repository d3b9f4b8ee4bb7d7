"""Test detection and runs."""

from __future__ import annotations

import re
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import msgspec

from podium.errors import ResultRefusedError
from podium.tools.sandbox.sandbox import Sandbox, read_result
from podium.tools.sandbox.tier import Executed, interpreter_folders, search_path
from podium.tools.testing.javascript import ENVIRONMENT as NODE_ENVIRONMENT
from podium.tools.testing.javascript import MOCHA_RESULTS, find_npm, read_mocha, read_node
from podium.tools.testing.javascript import RESULTS as NODE_RESULTS
from podium.tools.testing.node_output import read_node_test
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
from podium.tools.testing.runners import ResultsError, find_cargo, find_go, read_cargo, read_go, read_junit
from podium.tools.testing.selection import select, without_selector
from podium.tools.workspace.snapshots import remove_folder
from podium.tools.workspace.tree import WorkTree
from podium.tools.workspace.workspace import Workspace

_TARGET = re.compile(r"^test\s*:(?!=)", re.MULTILINE)


async def find_command(project: Project, sandbox: Sandbox, requested: str = "") -> TestCommand | None:
    """Return the command for this project's tests; None if there are none."""
    if requested.strip():
        return requested_command(project, requested.strip())
    pytest = await find_pytest(project, sandbox)
    return pytest or find_npm(project) or find_go(project) or find_cargo(project) or find_make(project)


def find_make(project: Project) -> TestCommand | None:
    """Return `make test`. Only its exit code is known, unless it runs a framework with readable results."""
    for name in ("GNUmakefile", "makefile", "Makefile"):
        if _TARGET.search(project.text(name)):
            return _any_framework(
                project, ["make", "test"], "make", "make test", f"{name} has a target `test`"
            )
    return None


def requested_command(project: Project, requested: str) -> TestCommand:
    """Return the command that the user gave, run by a shell."""
    return _any_framework(project, ["sh", "-c", requested], "command", requested, "the user requested it")


async def shell_command(project: Project, sandbox: Sandbox, argv: list[str]) -> TestCommand:
    """Return any command with the environment and folders of the project's tests."""
    command = _any_framework(project, argv, "command", argv[-1], "the coder requested it")
    pytest = await find_pytest(project, sandbox)
    plugins = [name for option, name in pairwise(pytest.argv if pytest else []) if option == "-p"]
    options = [
        "--color=no",
        "--no-header",
        "--tb=short",
        *(f"-p {name}" for name in plugins or ["no:cacheprovider"]),
    ]
    env = {**command.env, **(pytest.env if pytest else {}), "PYTEST_ADDOPTS": " ".join(options)}
    return msgspec.structs.replace(command, env=env)


def _any_framework(project: Project, argv: list[str], framework: str, shown_as: str, why: str) -> TestCommand:
    """Build a command that may run any framework: it gets the environment of all of them, and pytest writes
    results. The project's own programs come first in PATH."""
    parts = [find_npm(project), find_go(project), find_cargo(project)]
    others = [part for part in parts if part is not None]
    interpreter, modules = find_interpreter(project), project.installed("node_modules")
    env = {**NODE_ENVIRONMENT, **{name: value for part in others for name, value in part.env.items()}}
    env |= {**environment(project), "PYTEST_ADDOPTS": " ".join(options(project.results))}
    readable = [*interpreter.readable, *(folder for part in others for folder in part.readable)]
    readable += [str(modules)] if modules else []
    programs = [str(project.tree / project.below / "node_modules" / ".bin")]
    if interpreter.program != sys.executable:
        programs.insert(0, str(Path(interpreter.program).parent))
        env["VIRTUAL_ENV"] = str(Path(interpreter.program).parents[1])
    visible = search_path([*interpreter_folders(), *map(Path, readable)])
    env["PATH"] = ":".join([*programs, *(visible.split(":"))])
    return TestCommand(
        argv=argv,
        framework=framework,
        shown_as=shown_as,
        why=why,
        env=env,
        readable=list(dict.fromkeys(readable)),
        links={"node_modules": str(modules)} if modules else {},
    )


MAX_RESULTS = 50_000_000
NO_TESTS = "There are no tests: nothing that pytest, npm, go, cargo or make would run was found."
COUNTING = ("pytest", "jest", "vitest", "mocha", "go", "cargo")
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
    workspace: Workspace,
    sandbox: Sandbox,
    *,
    command: str = "",
    seconds: float | None = None,
    selector: str = "",
    keep: bool = False,
) -> TestReport:
    """Run the given or detected command. Afterwards the workspace is reset to its state before the run.

    `selector` runs a part of the tests; see `selection`. Raises a `ToolError` if it is refused. With `keep`,
    files that the tests changed are recorded as a snapshot first, such as updated expectations.
    """
    remove_folder(workspace.home / "results")
    await workspace.reset()
    project = project_of(workspace)
    chosen = await find_command(project, sandbox, command)
    if chosen is None:
        return TestReport(command="", framework="", exit_code=None, ok=False, reason=NO_TESTS)
    chosen, note = select(chosen, selector, project) if selector.strip() else (without_selector(chosen), "")
    warnings = [note] if note else []
    if shutil.which(chosen.argv[0]) is None:
        reason = f"{chosen.argv[0]} is not installed, but needed: {chosen.why}."
        return TestReport(
            command=chosen.shown_as,
            framework=chosen.framework,
            exit_code=None,
            ok=False,
            reason=reason,
            warnings=warnings,
        )
    links = link_folders(chosen, project)
    try:
        done = await run_command(chosen, project, sandbox, seconds)
        report = report_of(chosen, done, project)
        if keep and not done.stopped_by:
            warnings += (await workspace.keep_changes(leave=links)).warnings
        return msgspec.structs.replace(report, warnings=[*warnings, *report.warnings])
    finally:
        await workspace.reset()


def project_of(workspace: Workspace, results: Path | None = None) -> Project:
    """Return the project part of the workspace that the user named, with a results folder beside it."""
    origin, results = workspace.made.origin, results or workspace.home / "results"
    results.mkdir(mode=0o700, exist_ok=True)
    return Project(workspace.folder, frozenset(workspace.files), workspace.origin, results, origin.below)


def link_folders(command: TestCommand, project: Project) -> list[str]:
    """Make the command's links in the work tree; return their paths."""
    tree, paths = WorkTree(project.tree), list[str]()
    for name, target in command.links.items():
        path = f"{project.below}/{name}" if project.below else name
        if tree.look(path).kind == "missing":
            tree.link(path, target)
            paths.append(path)
    return paths


async def run_command(
    command: TestCommand, project: Project, sandbox: Sandbox, seconds: float | None
) -> Executed:
    """Run a test command in the sandbox. Its links are in the work tree."""
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
    results = counts or Counts()
    reason = _reason(command, done, counts, trouble)
    return TestReport(
        command=command.shown_as,
        framework=command.framework,
        exit_code=done.exit_code,
        ok=not reason,
        reason=reason,
        passed=results.passed,
        failed=results.failed,
        errors=results.errors,
        skipped=results.skipped,
        total=results.total,
        counted=counts is not None,
        failures=results.failures[:MAX_FAILURES],
        tests=sorted(results.tests)[:MAX_NAMES],
        failed_tests=sorted(failure.name for failure in results.failures)[:MAX_NAMES],
        skipped_tests=sorted(results.skipped_tests)[:MAX_NAMES],
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
    if (data := _result(results, MOCHA_RESULTS)) is not None:
        return read_mocha(data, tree)
    if command.framework in ("go", "command", "make") and (
        counts := read_go(done.stdout, tree, project.below, done.stderr)
    ):
        return counts
    if command.framework in ("cargo", "command", "make") and (
        counts := read_cargo(done.stdout, done.stderr, tree)
    ):
        return counts
    if command.framework in ("node", "npm", "command", "make"):
        return read_node_test(done.stdout, tree)
    return None


def _reason(command: TestCommand, done: Executed, counts: Counts | None, trouble: str) -> str:
    """Return why the run is not a success; empty if it is one."""
    if done.stopped_by == "time":
        return f"The tests were stopped after {done.seconds:.0f} s: one of them hangs, or they take too long."
    if done.stopped_by:
        return f"The tests were stopped: they exceeded the limit of {done.stopped_by}."
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
        return f"{command.framework} exited with 0 but left no results, so nothing is known to have passed."
    if command.framework == "pytest" and not _PASSED.search(plain(done.stdout)):
        return "pytest ended before it reported its results."
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
