"""Small projects with the real test runners: a run that passes, one that fails, and a part of the tests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing.diagnosis import command_trouble
from podium.tools.testing.execution import project_of, run_tests
from podium.tools.testing.report import Failure, TestReport
from podium.tools.workspace.commands import run_command
from podium.tools.workspace.workspace import Workspace
from tests.tools.testing.test_running import user, with_files
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import modify
from tests.tools.workspace.users import UserRepository

__all__ = ["user"]

pytestmark = pytest.mark.slow

INSTALLED = Path(os.environ.get("TEST_RUNNERS", Path(sys.prefix) / "test-runners")) / "node_modules"

WRONG, RIGHT = "return a - b;", "return a + b;"
JAVASCRIPT = f"exports.add = function (a, b) {{\n  {WRONG}\n}};\n"
BODY = """describe('math', () => {
  it('adds', () => {
    console.log('printed by the test');
    check(add(1, 2), 3);
  });
  it('keeps zero', () => check(add(0, 0), 0));
  describe('deep', () => {
    it.skip('later', () => {});
  });
});
"""


FILE = "test/calc.test.js"


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One runner with its project."""

    framework: str
    script: str
    head: str
    """The first line of the test file; the body follows."""
    names: tuple[str, str]
    """Names of the failing and the passing test."""


NAMES = ("test/calc.test.js > math adds", "test/calc.test.js > math keeps zero")
COMMON = "const { add } = require('../calc');"
ASSERT = "const check = require('node:assert').strictEqual;"
VITEST = "import { describe, expect, it } from 'vitest'; import { add } from '../calc.js';"
NODE = "const { describe, it } = require('node:test');"
CASES = [
    Case(framework="jest", script="jest", head=COMMON, names=NAMES),
    Case(framework="vitest", script="vitest", head=VITEST, names=NAMES),
    Case(framework="mocha", script="mocha", head=f"{COMMON} {ASSERT}", names=NAMES),
    *(
        Case(
            framework="node",
            script=script,
            head=f"{NODE} {COMMON} {ASSERT}",
            names=("math > adds", "math > keeps zero"),
        )
        for script in (
            "node --test",
            "node --test --test-reporter=spec",
            "node --test --test-reporter=tap test/",
        )
    ),
]


def needs(*command: str) -> None:
    program = shutil.which(command[0])
    if not program or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip(f"{command[0]} is not installed")


async def javascript(opened: Opener, user: UserRepository, case: Case) -> Workspace:
    needs("npm", "--version")
    if case.framework != "node":
        if not (INSTALLED / ".bin" / case.framework).exists():
            pytest.skip(f"{case.framework} is not installed: `make test` does it where npm has a registry")
        (user.folder / "node_modules").symlink_to(INSTALLED)
    package = {"name": "calc", "scripts": {"test": case.script}}
    if case.framework == "vitest":
        package["type"] = "module"
    source = (
        JAVASCRIPT
        if case.framework != "vitest"
        else JAVASCRIPT.replace("exports.add = function (", "export function add(").replace("};", "}")
    )
    files = {
        ".gitignore": "node_modules\n",
        "package.json": msgspec.json.encode(package).decode(),
        "calc.js": source,
        FILE: f"{case.head}\n{_body(case)}",
    }
    return await with_files(opened, user, files)


def _body(case: Case) -> str:
    return BODY if "check" in case.head else re.sub(r"check\((.*), (\d)\)", r"expect(\1).toBe(\2)", BODY)


def only(report: TestReport) -> Failure:
    [failure] = report.failures
    return failure


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.script)
async def test_javascript(opened: Opener, user: UserRepository, sandbox: Sandbox, case: Case) -> None:
    workspace = await javascript(opened, user, case)
    failing, passing = case.names
    bad = await run_tests(workspace, sandbox)
    assert (bad.framework, bad.ok, bad.counted) == (case.framework, False, True), bad.output
    assert (bad.passed, bad.failed, bad.errors, bad.skipped) == (1, 1, 0, 1), bad.output
    assert bad.tests == sorted([failing, passing])
    failure = only(bad)
    assert (failure.name, failure.file, failure.line) == (failing, FILE, 5)
    assert "-1" in failure.message + failure.output
    assert str(workspace.folder) not in bad.output + failure.output
    assert "printed by the test" in bad.output
    assert command_trouble(bad, project_of(workspace)) is None
    for selector in (failing, "-t adds", f"{FILE} -t adds"):
        part = await run_tests(workspace, sandbox, selector=selector)
        assert (part.failed, part.passed, part.warnings) == (1, 0, []), (selector, part.output)
        assert failing in part.tests
    text = (workspace.folder / "calc.js").read_text().replace(WRONG, RIGHT)
    await workspace.apply([modify("calc.js", content=text)])
    good = await run_tests(workspace, sandbox)
    assert (good.ok, good.passed, good.skipped) == (True, 2, 1), good.output


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.script)
async def test_a_javascript_file_that_cannot_be_loaded(
    opened: Opener, user: UserRepository, sandbox: Sandbox, case: Case
) -> None:
    workspace = await javascript(opened, user, case)
    head = "import 'nowhere-package';" if case.framework == "vitest" else "require('nowhere-package');"
    await workspace.apply([modify(FILE, content=f"{head}\n{BODY}")])
    report = await run_tests(workspace, sandbox)
    assert not report.ok
    assert "nowhere-package" in report.output + "".join(failure.output for failure in report.failures)
    trouble = command_trouble(report, project_of(workspace))
    assert trouble is not None
    assert "nowhere-package" in trouble[0]
    assert "npm install" in trouble[1]


async def test_missing_node_modules_are_named(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    needs("npm", "--version")
    workspace = await with_files(opened, user, {"package.json": '{"scripts": {"test": "jest"}}'})
    report = await run_tests(workspace, sandbox)
    trouble = command_trouble(report)
    assert trouble is not None
    assert trouble[0] == "`jest` is not installed in the project's node_modules."


async def test_runners_of_the_project_work_in_commands(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    workspace = await javascript(opened, user, CASES[2])
    done = await run_command(workspace, sandbox, "mocha; node --version; npm --version", seconds=120)
    assert "1 failing" in done.output
    assert (done.files, done.warnings) == ([], [])


GO = {
    "go.mod": "module example.com/calc\n\ngo 1.18\n",
    "sums/calc.go": "package sums\n\nfunc Add(a, b int) int { return a - b }\n",
    "sums/calc_test.go": (
        'package sums\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n'
        '\tt.Run("one and two", func(t *testing.T) {\n\t\tif Add(1, 2) != 3 {\n'
        '\t\t\tt.Errorf("got %d", Add(1, 2))\n\t\t}\n\t})\n'
        '\tt.Run("zero", func(t *testing.T) {})\n}\n\nfunc TestLater(t *testing.T) { t.Skip("later") }\n'
    ),
    "other/other.go": "package other\n",
}


async def test_go(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    needs("go", "version")
    workspace = await with_files(opened, user, GO)
    bad = await run_tests(workspace, sandbox)
    assert (bad.framework, bad.passed, bad.failed, bad.skipped) == ("go", 1, 1, 1), bad.output
    failure = only(bad)
    name = "example.com/calc/sums.TestAdd/one_and_two"
    assert (failure.name, failure.file, failure.line) == (name, "sums/calc_test.go", 8)
    assert failure.message == "calc_test.go:8: got -1"
    assert command_trouble(bad, project_of(workspace)) is None
    for selector in (name, "-run TestAdd/one ./sums", "-run TestAdd/one"):
        part = await run_tests(workspace, sandbox, selector=selector)
        assert (part.passed, part.failed) == (0, 1), (selector, part.output)
    await workspace.apply([modify("sums/calc.go", content=GO["sums/calc.go"].replace("a - b", "a + b"))])
    good = await run_tests(workspace, sandbox)
    assert (good.ok, good.passed) == (True, 2), good.output
    await workspace.apply([modify("sums/calc.go", content=GO["sums/calc.go"].replace("a - b", "a - c"))])
    report = await run_tests(workspace, sandbox)
    assert (report.ok, report.errors) == (False, 1), report.output
    broken = only(report)
    assert (broken.file, broken.line, broken.is_error) == ("sums/calc.go", 3, True)
    assert "undefined: c" in broken.message
    assert command_trouble(report, project_of(workspace)) is None
    await workspace.apply(
        [modify("sums/calc.go", content='package sums\n\nimport _ "example.com/nowhere"\n')]
    )
    trouble = command_trouble(await run_tests(workspace, sandbox))
    assert trouble is not None
    assert "example.com/nowhere" in trouble[0]
    assert "go mod" in trouble[1]


CARGO = {
    "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
    ".gitignore": "Cargo.lock\n",
    "src/lib.rs": (
        "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n#[cfg(test)]\nmod tests {\n"
        "    use super::*;\n\n"
        '    #[test]\n    fn adds() {\n        println!("printed by the test");\n'
        "        assert_eq!(add(1, 2), 3);\n    }\n\n"
        "    #[test]\n    fn zero() {\n        assert_eq!(add(0, 0), 0);\n    }\n\n"
        "    #[test]\n    #[ignore]\n    fn later() {}\n}\n"
    ),
}


async def test_cargo(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    needs("cargo", "--version")
    workspace = await with_files(opened, user, CARGO)
    bad = await run_tests(workspace, sandbox)
    assert (bad.framework, bad.passed, bad.failed, bad.skipped) == ("cargo", 1, 1, 1), bad.output
    failure = only(bad)
    assert (failure.name, failure.file, failure.line) == ("tests::adds", "src/lib.rs", 12)
    assert "printed by the test" in failure.output
    assert "left: -1" in failure.output
    assert bad.tests == ["tests::adds", "tests::zero"]
    assert command_trouble(bad, project_of(workspace)) is None
    part = await run_tests(workspace, sandbox, selector="tests::adds")
    assert (part.passed, part.failed, part.tests) == (0, 1, ["tests::adds"])
    await workspace.apply([modify("src/lib.rs", content=CARGO["src/lib.rs"].replace("a - b", "a + b"))])
    assert (await run_tests(workspace, sandbox)).ok
    await workspace.apply(
        [modify("Cargo.toml", content=CARGO["Cargo.toml"] + '[dependencies]\nserde = "1"\n')]
    )
    trouble = command_trouble(await run_tests(workspace, sandbox))
    assert trouble is not None
    assert "serde" in trouble[0]
    assert "cargo fetch" in trouble[1]
