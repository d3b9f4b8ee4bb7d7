"""Test commands that do not work, told apart from tests that fail and from projects without tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing.diagnosis import command_trouble
from podium.tools.testing.execution import NO_TESTS, project_of, run_tests
from podium.tools.testing.report import Failure, Project, TestReport
from tests.tools.testing.test_running import user, with_files
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.users import UserRepository

__all__ = ["user"]


def report(framework: str, exit_code: int | None, output: str, **more: object) -> TestReport:
    fields = {"command": framework, "ok": False, "reason": "It failed.", **more}
    return TestReport(framework=framework, exit_code=exit_code, output=output, **fields)  # type: ignore[arg-type]


def broke(framework: str, text: str) -> TestReport:
    """A run in which the only test file could not be loaded."""
    failures = [Failure("test_a", "It broke.", output=text, is_error=True)]
    return report(framework, 2, text, counted=True, errors=1, total=1, failures=failures)


TROUBLES = {
    "the program is missing": (
        report("go", None, "", reason="go is not installed, but needed: there is a go.mod."),
        "go is not installed",
        "Install it",
    ),
    "the shell does not find it": (
        report("command", 127, "sh: 1: nose2: not found"),
        "needs `nose2`, which is not installed",
        ".venv",
    ),
    "bash does not find it": (
        report("command", 127, "bash: line 1: nose2: command not found"),
        "needs `nose2`",
        "--test-command",
    ),
    "make does not find it": (
        report("make", 2, "make: nose2: No such file or directory\nmake: *** [test] Error 127"),
        "needs `nose2`",
        "Install it",
    ),
    "npm does not find it": (
        report("npm", 127, "sh: 1: ava: not found"),
        "`ava` is not installed in the project's node_modules",
        "npm install",
    ),
    "it is not executable": (
        report("command", 126, "sh: 1: ./check.sh: Permission denied"),
        "cannot execute `./check.sh`",
        "chmod +x",
    ),
    "pytest is missing": (
        report("pytest", 1, "/x/.venv/bin/python: No module named pytest"),
        "pytest is not installed for /x/.venv/bin/python",
        ".venv/bin/pip install pytest",
    ),
    "a plugin is missing": (
        report("pytest", 4, "ERROR: usage: pytest\npytest: error: unrecognized arguments: --cov=src"),
        "--cov=src: pytest-cov is not installed",
        "pytest and pytest-cov",
    ),
    "an unknown option": (
        report("command", 1, "error: unknown option '--frobnicate'"),
        "not known: --frobnicate",
        "Correct",
    ),
    "an unknown flag of go": (
        report("command", 2, "flag provided but not defined: -frob\nusage: go test"),
        "not known: -frob",
        "Correct",
    ),
    "pytest cannot start": (
        report("pytest", 4, "ERROR: file or directory not found: nowhere"),
        "pytest cannot start: ERROR: file",
        "settings",
    ),
    "the default script of npm": (
        report("command", 1, "> test\n> echo ... && exit 1\n\nError: no test specified"),
        "no test is specified",
        "--test-command",
    ),
    "no script": (report("command", 1, 'npm error Missing script: "test"'), "no script `test`", "Add one"),
    "a package of node": (
        broke("node", "Error: Cannot find module 'chai'"),
        "Packages are not installed: chai",
        "npm install",
    ),
    "modules of go": (
        report("go", 1, "a.go:3:8: no required module provides package github.com/x/y; to add it:\n\tgo get"),
        "github.com/x/y",
        "go mod download",
    ),
    "the version of go": (
        report("go", 1, "go: go.mod requires go >= 1.24 (running go 1.19; GOTOOLCHAIN=local)"),
        "needs Go 1.24, but Go 1.19",
        "Install Go 1.24",
    ),
    "crates": (
        report("cargo", 101, "error: no matching package named `serde` found"),
        "no network: serde",
        "cargo fetch",
    ),
    "the version of rust": (
        report("cargo", 101, "error: package `x` cannot be built because it requires rustc 1.90 or newer"),
        "needs Rust 1.90",
        "rustup update",
    ),
    "a dependency": (
        broke("pytest", "E   ModuleNotFoundError: No module named 'yaml.x'"),
        "modules are not installed: yaml",
        "pip install PyYAML`",
    ),
    "a dependency of conftest": (
        report(
            "pytest", 4, "ImportError while loading conftest\nE ModuleNotFoundError: No module named 'numpy'"
        ),
        "not installed: numpy",
        ".venv",
    ),
    "a package for another Python": (
        broke("pytest", "ImportError: x.so: undefined symbol: PyFoo"),
        "does not fit the Python",
        "anew",
    ),
    "the time": (
        report("pytest", 137, "", timed_out=True, seconds=600.2),
        "did not end within 600 s",
        "[sandbox]",
    ),
    "another limit": (
        report("pytest", 137, "", reason="The tests were stopped: they exceeded the limit of memory."),
        "limit of memory",
        "[sandbox]",
    ),
    "a shell cannot read it": (
        report("command", 2, 'sh: 1: Syntax error: ")" unexpected'),
        "a shell can read",
        "Correct",
    ),
    "no rule": (
        report("command", 2, "make: *** No rule to make target 'tests'.  Stop."),
        "No rule to make",
        "Makefile",
    ),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_what_does_not_work_is_said_with_what_to_do(name: str) -> None:
    given, problem, hint = TROUBLES[name]
    trouble = command_trouble(given)
    assert trouble is not None
    assert problem in trouble[0]
    assert hint in trouble[1]
    for sentence in trouble:
        assert sentence.endswith(".")
        assert "\n" not in sentence


FINE = {
    "success": report("pytest", 0, "1 passed", ok=True, passed=1, total=1, counted=True),
    "a failing test": report("pytest", 1, "sh: 1: x: not found", failed=1, total=1, counted=True),
    "some tests pass": report(
        "pytest", 1, "ModuleNotFoundError: No module named 'x'", passed=3, errors=1, total=4, counted=True
    ),
    "a failing test that prints an error": report(
        "node", 1, "Cannot find module 'chai'", failed=1, total=1, counted=True
    ),
    "no tests": report("", None, "", command="", reason=NO_TESTS),
    "no test was found": report("pytest", 5, "no tests ran in 0.01s", reason="No test was found."),
    "a failing check": report("command", 1, "2 problems"),
    "broken code": report(
        "pytest",
        2,
        "E   SyntaxError: invalid syntax",
        counted=True,
        errors=1,
        total=1,
        failures=[Failure("t.py", "SyntaxError", output="SyntaxError: invalid syntax", is_error=True)],
    ),
    "code that does not compile": report(
        "cargo", 101, "error[E0425]: cannot find value `c`", errors=1, total=1
    ),
}


@pytest.mark.parametrize("name", FINE)
def test_a_command_that_works_is_no_trouble(name: str) -> None:
    assert command_trouble(FINE[name]) is None


def tree(folder: Path, files: dict[str, str]) -> Project:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return Project(folder, frozenset(files), folder, folder)


def missing(name: str) -> TestReport:
    return broke("pytest", f"ModuleNotFoundError: No module named '{name}'")


def test_a_module_that_is_still_to_be_written_is_no_dependency(tmp_path: Path) -> None:
    files = {
        "test_a.py": "import calc, other, own, yaml\n",
        "own.py": "import used_here\n",
        "pyproject.toml": "[project]\ndependencies = ['pyyaml>=6', 'other-thing']\n",
    }
    project = tree(tmp_path, files)
    for name in ("calc", "own", "other"):
        assert command_trouble(missing(name), project) is None
    for name in ("yaml", "other_thing", "used_here"):
        assert command_trouble(missing(name), project) is not None


def test_an_older_python_than_the_project_needs_is_named(tmp_path: Path) -> None:
    project = tree(tmp_path, {"pyproject.toml": "[project]\nrequires-python = '>=3.99'\n"})
    text = "platform linux -- Python 3.11.7, pytest-9\nE   SyntaxError: invalid syntax"
    trouble = command_trouble(report("pytest", 2, text, counted=True, errors=1, total=1), project)
    assert trouble is not None
    assert trouble[0] == "The tests run with Python 3.11, but the project needs 3.99 or newer."
    assert "Create .venv" in trouble[1]
    project = tree(tmp_path, {"pyproject.toml": "[project]\nrequires-python = '>=3.8'\n"})
    assert command_trouble(report("pytest", 2, text, counted=True, errors=1, total=1), project) is None


REAL: dict[str, tuple[str, dict[str, str], str]] = {
    "a program": ("nosuchrunner --all", {}, "needs `nosuchrunner`"),
    "a script without the bit": ("./check.sh", {"check.sh": "exit 0\n"}, "cannot execute `./check.sh`"),
    "quotes": ("echo (", {}, "a shell can read"),
    "an option": (f"{sys.executable} -m pytest --nosuchoption", {}, "not known: --nosuchoption"),
    "a plugin": ("", {"pytest.ini": "[pytest]\naddopts = --cov=src\n"}, "pytest-cov is not installed"),
    "a dependency": (
        "",
        {"test_a.py": "import nosuchpackage\n", "requirements.txt": "nosuchpackage\n"},
        "not installed: nosuchpackage",
    ),
    "a dependency of conftest": (
        "",
        {"conftest.py": "import nosuchpackage\n", "test_a.py": ""},
        "not installed: nosuchpackage",
    ),
    "the default script of npm": (
        "npm test",
        {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'},
        "no test is specified",
    ),
    "a target": ("make nosuchtarget", {"Makefile": "test:\n\ttrue\n"}, "No rule to make target"),
    "a program behind make": ("", {"Makefile": "test:\n\tnosuchrunner\n"}, "needs `nosuchrunner`"),
}


@pytest.mark.parametrize("name", REAL)
async def test_real_commands_that_do_not_work(
    opened: Opener, user: UserRepository, sandbox: Sandbox, name: str
) -> None:
    command, files, problem = REAL[name]
    workspace = await with_files(opened, user, files)
    done = await run_tests(workspace, sandbox, command=command)
    trouble = command_trouble(done, project_of(workspace))
    assert trouble is not None, done
    assert problem in trouble[0]


async def test_tests_for_code_that_is_not_written_yet_are_no_trouble(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    test = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    workspace = await with_files(opened, user, {"test_calc.py": test})
    done = await run_tests(workspace, sandbox)
    assert command_trouble(done, project_of(workspace)) is None
