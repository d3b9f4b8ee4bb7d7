"""Selectors: the arguments each framework gets, what is refused, and that no shell reads them."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.testing.execution import run_tests
from podium.tools.testing.report import Project, TestCommand
from podium.tools.testing.selection import select, without_selector
from podium.tools.tool import ToolError
from tests.tools.testing.test_running import with_files
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.users import UserRepository

FILES = frozenset({"tests/test_a.py", "tests/test_b.py", "part/tests/test_c.py", "a.test.js"})
ARGV = {
    "pytest": ["python", "-m", "pytest"],
    "jest": ["npm", "test", "--silent", "--", "--ci"],
    "vitest": ["npm", "test", "--silent", "--", "--run"],
    "mocha": ["npm", "test", "--silent"],
    "node": ["npm", "test", "--silent"],
    "npm": ["npm", "test", "--silent"],
    "go": ["go", "test", "-json", "./..."],
    "cargo": ["cargo", "test", "--offline"],
    "make": ["make", "test"],
    "command": ["sh", "-c", "check"],
}


def project(below: str = "") -> Project:
    return Project(Path("/tree"), FILES, Path("/user"), Path("/results"), below)


def command(framework: str, *, shown: str = "", script: str = "") -> TestCommand:
    return TestCommand(
        argv=ARGV[framework], framework=framework, shown_as=shown or framework, why="", script=script
    )


def selected(framework: str, selector: str, *, below: str = "", script: str = "") -> list[str]:
    chosen, note = select(command(framework, script=script), selector, project(below))
    assert note == ""
    return chosen.argv


@pytest.mark.parametrize(
    ("framework", "selector", "argv"),
    [
        ("pytest", "tests/test_a.py", ["tests/test_a.py"]),
        ("pytest", "tests/test_a.py::test_x tests/", ["tests/test_a.py::test_x", "tests/"]),
        ("pytest", "tests/test_a.py::T::test_x[it's a-b c]", ["tests/test_a.py::T::test_x[it's a-b c]"]),
        ("pytest", "-k 'add or sub' -x", ["-k", "add or sub", "-x"]),
        ("pytest", "-k add or not sub tests", ["-k", "add or not sub", "tests"]),
        ("pytest", "-k not slow -m net --maxfail 3", ["-k", "not slow", "-m", "net", "--maxfail=3"]),
        ("pytest", "--maxfail=1 -k '$(touch x); `y`'", ["--maxfail=1", "-k", "$(touch x); `y`"]),
        ("jest", "a.test.js -t 'adds two'", ["a.test.js", "-t", "adds two"]),
        ("jest", "a.test.js > math adds (1)", [r"a\.test\.js", "-t", r"^math\ adds\ \(1\)$"]),
        ("vitest", "a.test.js > math adds", ["a.test.js", "-t", r"^math\ adds$"]),
        ("vitest", "-x", ["--bail=1"]),
        ("mocha", "a.test.js -t adds -x", ["--", "a.test.js", "--grep", "adds", "--bail"]),
    ],
)
def test_words_are_appended(framework: str, selector: str, argv: list[str]) -> None:
    assert selected(framework, selector) == [*ARGV[framework], *argv]


def test_words_go_where_go_cargo_and_node_expect_them() -> None:
    assert selected("go", "-run 'Test(A|B)' ./calc") == ["go", "test", "-json", "-run", "Test(A|B)", "./calc"]
    assert selected("go", "-run TestA -x") == ["go", "test", "-json", "-run", "TestA", "-failfast", "./..."]
    assert selected("go", "example.com/m/calc.TestA/two words") == (
        ["go", "test", "-json", "-run", r"^TestA$/^two\ words$", "example.com/m/calc"]
    )
    assert selected("cargo", "tests::adds sums") == [
        "cargo",
        "test",
        "--offline",
        "--",
        "tests::adds",
        "sums",
    ]
    script = "node --test --test-reporter=spec tests"
    assert selected("node", "a.test.js", script=script) == (
        ["node", "--test", "--test-reporter=spec", "a.test.js"]
    )
    assert selected("node", "-t '^adds'", script=script) == (
        ["node", "--test", "--test-reporter=spec", "--test-name-pattern=^adds", "tests"]
    )


def test_a_path_of_the_workspace_is_made_one_of_the_project() -> None:
    assert selected("pytest", "part/tests/test_c.py::test_x", below="part")[-1] == "tests/test_c.py::test_x"
    assert selected("pytest", "tests/test_c.py", below="part")[-1] == "tests/test_c.py"


@pytest.mark.parametrize(
    "selector",
    [
        "--deselect tests/test_a.py",
        "--ignore=tests",
        "-c other.ini",
        "-p evil",
        "--rootdir=/",
        "-o x=y",
        "--co",
        "-n 4",
        "--junitxml=x",
        "-kadd",
        "-",
        "--",
        "-k",
        "--maxfail x",
        "--maxfail=-1",
        "-k --co",
        "-x=1",
        "@arguments.txt",
        "/etc/passwd",
        "../outside",
        "tests/../../x",
        "~/x",
        "'open",
        "nowhere.py",
        "tests/test_z.py::test_x",
        "-t name",
        "-run X",
        "a\0b",
        "x" * 6_000,
        "\ud800",
        "-exec sh",
    ],
)
def test_other_options_and_files_are_refused_with_a_sentence(selector: str) -> None:
    with pytest.raises(ToolError) as caught:
        select(command("pytest"), selector, project())
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize("framework", ["jest", "vitest", "mocha", "node", "go", "cargo"])
@pytest.mark.parametrize(
    "selector", ["--config=evil.js", "--setupFiles x", "-exec sh", "--require x", "-k x"]
)
def test_options_of_other_frameworks_are_refused(framework: str, selector: str) -> None:
    with pytest.raises(ToolError, match=r"\.$"):
        select(command(framework, script="node --test"), selector, project())


def test_a_command_without_a_place_for_it_runs_everything_and_says_so() -> None:
    for framework in ("make", "command", "npm"):
        chosen, note = select(command(framework), "tests/test_a.py", project())
        assert chosen == command(framework)
        assert note.startswith(f"The whole suite was run: `{framework}` takes no selector.")
    chosen, note = select(command("node", script="tsc && node --test"), "a.test.js", project())
    assert (chosen.argv, bool(note)) == (ARGV["node"], True)


def test_a_place_for_it_in_the_users_command_is_filled() -> None:
    given = command("command", shown="check --all {selector} | tee out")
    chosen, note = select(given, "tests/test_a.py -k 'a b'", project())
    assert note == ""
    assert chosen.argv == ["sh", "-c", 'check --all "$@" | tee out', "sh", "tests/test_a.py", "-k", "a b"]
    assert chosen.shown_as == "check --all tests/test_a.py -k 'a b' | tee out"
    assert without_selector(given).argv == ["sh", "-c", 'check --all "$@" | tee out', "sh"]
    assert without_selector(given).shown_as == "check --all | tee out"
    with pytest.raises(ToolError):
        select(given, "--evil", project())


async def test_pytest_runs_only_what_is_selected(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    text = "import pytest\n\n\n@pytest.mark.parametrize('x', ['a b', 'c'])\ndef test_p(x):\n    pass\n\n\n"
    text += "def test_bad():\n    assert False\n"
    workspace = await with_files(opened, user, {"tests/test_a.py": text, "tests/test_b.py": text})
    one = await run_tests(workspace, sandbox, selector="tests/test_a.py::test_p[a b]")
    assert (one.ok, one.tests) == (True, ["tests/test_a.py::test_p[a b]"]), one.output
    assert one.command == "pytest 'tests/test_a.py::test_p[a b]'"
    named = await run_tests(workspace, sandbox, selector="-k bad -x")
    assert (named.failed, named.passed) == (1, 0)
    with pytest.raises(ToolError, match="refused"):
        await run_tests(workspace, sandbox, selector="--collect-only")


async def test_a_selector_never_reaches_a_shell(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    script = 'for word in "$@"; do echo "<$word>"; done\n'
    workspace = await with_files(opened, user, {"check.sh": script})
    selector = "'$(touch made)' '`touch made`' 'a;touch made' '\"quoted\"' two"
    report = await run_tests(workspace, sandbox, command="sh check.sh {selector}; ls", selector=selector)
    assert report.output.splitlines()[:5] == (
        ["<$(touch made)>", "<`touch made`>", "<a;touch made>", '<"quoted">', "<two>"]
    )
    assert "made" not in report.output.splitlines()
    whole = await run_tests(workspace, sandbox, command="sh check.sh", selector="two")
    assert (whole.output, len(whole.warnings)) == ("", 1)


async def test_changes_of_tests_are_kept_only_on_request(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    text = "import pathlib\n\n\ndef test_it():\n    pathlib.Path('expected.txt').write_text('new')\n"
    workspace = await with_files(opened, user, {"test_it.py": text, "expected.txt": "old"})
    before = workspace.state
    await run_tests(workspace, sandbox)
    assert workspace.state == before
    await run_tests(workspace, sandbox, keep=True)
    assert workspace.state != before
    assert (workspace.folder / "expected.txt").read_text() == "new"
