"""Tests are really run, in the sandbox, and only a real success counts as one."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from podium.settings import SandboxOptions, Settings
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.selection import open_sandbox
from podium.tools.testing.execution import NO_TESTS, project_of, report_of, run_tests
from podium.tools.testing.pytest_runner import find_interpreter
from podium.tools.testing.report import TestCommand
from podium.tools.workspace.workspace import Workspace
from tests.tools.workspace.conftest import Opener
from tests.tools.workspace.test_changes import contents, create, modify
from tests.tools.workspace.users import UserRepository


@pytest.fixture
def user(tmp_path: Path) -> UserRepository:
    """Each test says what is in it."""
    return UserRepository(tmp_path / "user", {"README.md": "Empty.\n"})


async def with_files(opened: Opener, user: UserRepository, files: dict[str, str]) -> Workspace:
    for path, text in files.items():
        user.write(path, text)
    user.commit("Files")
    return await opened(user.folder)


async def test_a_suite_that_passes_and_one_that_fails(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    workspace = await with_files(
        opened,
        user,
        {
            "src/calc.py": "def add(a, b):\n    return a - b\n",
            "tests/test_calc.py": (
                "import pytest\nfrom calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n\n\n"
                "class TestZero:\n    def test_zero(self):\n        assert add(0, 0) == 0\n\n\n"
                "@pytest.mark.skip\ndef test_later():\n    pass\n"
            ),
        },
    )
    failed = await run_tests(workspace, sandbox)
    assert (failed.ok, failed.framework, failed.exit_code) == (False, "pytest", 1)
    assert (failed.passed, failed.failed, failed.errors, failed.skipped, failed.total) == (1, 1, 0, 1, 3)
    assert failed.tests == ["tests/test_calc.py::TestZero::test_zero", "tests/test_calc.py::test_add"]
    [failure] = failed.failures
    assert (failure.name, failure.file, failure.line) == (
        "tests/test_calc.py::test_add",
        "tests/test_calc.py",
        6,
    )
    assert "assert -1 == 3" in failure.message
    assert str(workspace.folder) not in failed.output + failure.output
    assert failed.reason == "1 failed and 0 broke of 3 tests."
    await workspace.apply([modify("src/calc.py", content="def add(a, b):\n    return a + b\n")])
    passed = await run_tests(workspace, sandbox)
    assert (passed.ok, passed.reason, passed.exit_code, passed.passed) == (True, "", 0, 2)
    assert passed.tier == sandbox.tier


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import os\n\n\ndef test_x():\n    os._exit(0)\n", "left no results"),
        (
            "import pytest\n\n\n@pytest.mark.skip\ndef test_x():\n    assert False\n",
            "Every test was skipped.",
        ),
        ("x = 1\n", "No test was found."),
        ("import nowhere\n", "0 failed and 1 broke of 1 tests."),
        ("def test_x(:\n", "0 failed and 1 broke of 1 tests."),
        ("import sys\n\n\ndef test_x():\n    sys.stdout.write('1 passed')\n    assert False\n", "1 failed"),
        (
            "import os, glob\n\n\ndef test_x():\n    for f in glob.glob('/proc/self/environ'):\n"
            "        pass\n"
            "    assert os.environ.get('SECRET_KEY') is None\n    assert os.getuid() != 0\n",
            "",
        ),
    ],
)
async def test_only_a_real_success_counts(
    opened: Opener, user: UserRepository, sandbox: Sandbox, text: str, why: str
) -> None:
    workspace = await with_files(opened, user, {"test_it.py": text})
    report = await run_tests(workspace, sandbox)
    assert why in report.reason
    assert report.ok == (why == "")


async def test_a_test_that_hangs_is_stopped_and_named(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    text = "import time\n\n\ndef test_that_hangs():\n    time.sleep(3_000)\n"
    workspace = await with_files(opened, user, {"test_it.py": text})
    report = await run_tests(workspace, sandbox, seconds=8)
    assert (report.ok, report.timed_out) == (False, True)
    assert "one of them hangs" in report.reason
    assert "test_that_hangs" in report.output


async def test_no_tests_are_a_failure(workspace: Workspace, sandbox: Sandbox) -> None:
    report = await run_tests(workspace, sandbox)
    assert (report.ok, report.exit_code, report.reason) == (False, None, NO_TESTS)


async def test_a_test_run_leaves_nothing_in_the_workspace(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    text = (
        "import os, pathlib\n\n\ndef test_it():\n    pathlib.Path('left.txt').write_text('x')\n"
        "    pathlib.Path('test_it.py').write_text('def test_it(): assert True')\n    os.mkfifo('pipe')\n"
        "    pathlib.Path('.git').mkdir()\n    os.symlink('/etc/passwd', 'link')\n"
        "    assert os.path.exists('left.txt')\n"
    )
    workspace = await with_files(opened, user, {"test_it.py": text})
    before = contents(workspace.folder)
    assert (await run_tests(workspace, sandbox)).ok
    assert contents(workspace.folder) == before
    assert {file.name for file in workspace.folder.iterdir()} == {"README.md", "test_it.py"}


async def test_a_forged_result_does_not_hide_a_failure(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    """Test code may write any results; the exit code still speaks, and results that are no results fail."""
    forged = (
        "import sys\n\n\ndef pytest_unconfigure(config):\n    path = config.option.xmlpath\n"
        "    open(path, 'w').write('<testsuite><testcase name=\"x\"/></testsuite>')\n"
    )
    workspace = await with_files(
        opened, user, {"conftest.py": forged, "test_it.py": "def test_it():\n    assert False\n"}
    )
    report = await run_tests(workspace, sandbox)
    assert (report.ok, report.exit_code) == (False, 1)
    linked = (
        "import os\n\n\ndef pytest_unconfigure(config):\n    os.remove(config.option.xmlpath)\n"
        "    os.symlink('/etc/passwd', config.option.xmlpath)\n"
    )
    await workspace.apply(
        [modify("conftest.py", content=linked), modify("test_it.py", content="def test_it():\n    pass\n")]
    )
    refused = await run_tests(workspace, sandbox)
    assert not refused.ok
    assert "root:" not in refused.output + refused.reason


async def test_a_run_that_is_cut_short_with_forged_results_is_no_success(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    """The program itself ends the run; whatever file it left, pytest has never said that anything passed."""
    forge = (
        "import os, sys\n"
        "[place] = [word.partition('=')[2] for word in sys.argv if 'junit' in word and 'xml=' in word]\n"
        "with open(place, 'w') as file: file.write(\"<testsuite><testcase name='a'/></testsuite>\")\n"
        "os._exit(0)\n"
    )
    tests = "from calc import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
    quiet = "[pytest]\naddopts = -q -q -q\n"
    workspace = await with_files(opened, user, {"calc.py": forge, "test_calc.py": tests, "pytest.ini": quiet})
    report = await run_tests(workspace, sandbox)
    assert (report.exit_code, report.ok) == (0, False)
    assert report.reason == "pytest ended before it reported its results."
    await workspace.apply([modify("calc.py", content="def add(a, b):\n    return a + b\n")])
    assert (await run_tests(workspace, sandbox)).ok, "also where a project wants it quiet"


async def test_tests_reach_neither_repository(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    """Not the user's files, and not the private repository that says what was recorded."""
    user.write("test_it.py", "def test_it():\n    pass\n")
    user.commit("First")
    workspace = await opened(user.folder)
    private = workspace.home / "git" / "repo.git"
    secret, theirs = user.write("secret.txt", "mine\n"), user.folder / ".git" / "HEAD"
    attack = f"""
import pathlib, pytest

@pytest.mark.parametrize("path", {[str(path) for path in (secret, theirs, private / "HEAD")]})
def test_it(path):
    with pytest.raises(OSError):
        pathlib.Path(path).read_bytes()
    with pytest.raises(OSError):
        pathlib.Path(path).write_text("evil")
"""
    await workspace.apply([modify("test_it.py", content=attack)])
    before = user.fingerprint()
    report = await run_tests(workspace, sandbox)
    assert (report.ok, report.passed) == (True, 3), report.output
    assert user.fingerprint() == before
    assert (private / "HEAD").read_text().startswith("ref: ")


async def test_the_users_own_command_is_run_by_a_shell(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    workspace = await with_files(opened, user, {"check.sh": "test -f README.md\n"})
    good = await run_tests(workspace, sandbox, command="sh check.sh && echo fine")
    assert (good.ok, good.framework, good.counted, good.command) == (
        True,
        "command",
        False,
        "sh check.sh && echo fine",
    )
    assert good.output == "fine"
    bad = await run_tests(workspace, sandbox, command="sh check.sh; exit 7")
    assert (bad.ok, bad.exit_code, bad.reason) == (False, 7, "The tests ended with exit code 7.")
    gone = await run_tests(workspace, sandbox, command="no-such-program")
    assert (gone.ok, gone.exit_code) == (False, 127)


async def test_pytest_behind_make_is_counted_too(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    files = {
        "Makefile": f"test:\n\t{sys.executable} -m pytest checks/*\n",
        "checks/all.py": "def test_good():\n    assert 1 + 1 == 2\n\n\ndef test_bad():\n"
        "    assert 1 + 1 == 3\n",
    }
    workspace = await with_files(opened, user, files)
    report = await run_tests(workspace, sandbox)
    assert (report.framework, report.ok, report.counted) == ("make", False, True)
    assert (report.passed, report.failed) == (1, 1)
    await workspace.apply([create("GNUmakefile", "test:\n\t@echo fine\n")])
    other = await run_tests(workspace, sandbox)
    assert (other.ok, other.counted, other.output) == (True, False, "fine")


async def test_the_projects_own_environment_is_used_and_cannot_be_written(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    """A `.venv` beside the user's files, with a package in it that the tests need."""
    venv.create(user.folder / ".venv", with_pip=False, system_site_packages=False, symlinks=True)
    [site] = (user.folder / ".venv" / "lib").glob("python*/site-packages")
    (site / "only_here.py").write_text("VALUE = 42\n")
    (site / "podium_tests.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n{user.folder}\n")
    text = (
        "import os, sys\nimport only_here\nimport thing\n\n\ndef test_it():\n"
        "    assert only_here.VALUE == 42\n"
        "    assert not os.access(only_here.__file__, os.W_OK)\n"
        "    assert thing.VALUE == 'of the workspace'\n"
        "    assert sys.prefix.endswith('.venv')\n"
    )
    files = {"test_it.py": text, "thing.py": "VALUE = 'of the workspace'\n", ".gitignore": ".venv/\n"}
    workspace = await with_files(opened, user, files)
    user.write("thing.py", "VALUE = 'of the checkout'\n")
    report = await run_tests(workspace, sandbox)
    assert report.ok, report.output


async def test_an_environment_that_the_repository_brings_is_not_trusted(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    """Files that git knows could name any folder as an interpreter's."""
    files = {
        ".venv/pyvenv.cfg": "home = /etc\n",
        ".venv/bin/python": "#!/bin/sh\nexit 0\n",
        "test_it.py": "def test_it():\n    assert 1 + 1 == 3\n",
    }
    workspace = await with_files(opened, user, files)
    report = await run_tests(workspace, sandbox)
    assert (report.ok, report.failed) == (False, 1)


async def test_a_framework_that_is_not_installed_is_reported(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    venv.create(user.folder / ".venv", with_pip=False, symlinks=True)
    user.write("test_it.py", "def test_it():\n    assert 1 + 1 == 2\n")
    user.write(".gitignore", ".venv/\n")
    user.commit("Without pytest")
    workspace = await opened(user.folder)
    project = project_of(workspace)
    own = find_interpreter(project)
    assert own.program == str(user.folder / ".venv" / "bin" / "python")
    done = await sandbox.run(
        [own.program, "-m", "pytest"], folder=workspace.folder, readable=[Path(part) for part in own.readable]
    )
    command = TestCommand(argv=[own.program], framework="pytest", shown_as="pytest", why="")
    assert "pytest is not installed for" in report_of(command, done, project).reason
    assert (await run_tests(workspace, sandbox)).ok, "the interpreter of Podium has one"


async def test_plugins_of_podiums_own_interpreter_do_not_disturb(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    """Without a `.venv` of the project, only plugins that the project names are loaded."""
    settings = "[tool.pytest.ini_options]\nfilterwarnings = ['error']\n"
    test = "def test_it(request):\n    assert request.config.pluginmanager.hasplugin('asyncio') is {}\n"
    workspace = await with_files(
        opened, user, {"pyproject.toml": settings, "test_it.py": test.format("False")}
    )
    without = await run_tests(workspace, sandbox)
    assert without.ok, without.output
    named = settings + "asyncio_default_fixture_loop_scope = 'function'\n[project]\n# pytest-asyncio\n"
    await workspace.apply(
        [modify("pyproject.toml", content=named), modify("test_it.py", content=test.format("True"))]
    )
    with_it = await run_tests(workspace, sandbox)
    assert with_it.ok, with_it.output


async def test_a_project_below_the_root_is_run_there(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    user.write(
        "part/test_it.py",
        "import os\n\n\ndef test_it():\n    assert os.path.basename(os.getcwd()) == 'part'\n",
    )
    user.write("test_other.py", "def test_other():\n    assert False\n")
    user.commit("Parts")
    workspace = await opened(user.folder / "part")
    report = await run_tests(workspace, sandbox)
    assert (report.ok, report.total) == (True, 1)


async def test_coverage_is_reported_where_it_is_measured(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    text = (
        "def pytest_unconfigure(config):\n    import pathlib\n"
        "    path = pathlib.Path(config.option.xmlpath).parent / 'coverage.json'\n"
        '    path.write_text(\'{"totals": {"percent_covered": 87.654}}\')\n'
    )
    workspace = await with_files(
        opened, user, {"conftest.py": text, "test_it.py": "def test_it():\n    pass\n"}
    )
    report = await run_tests(workspace, sandbox)
    assert report.coverage == 87.65


async def test_node_runs_its_own_tests(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    test = (
        "const t = require('node:test'), a = require('assert');\n"
        "t('good', () => {});\nt('bad', () => a.equal(1, 2));\n"
    )
    workspace = await with_files(
        opened, user, {"package.json": '{"scripts": {"test": "node --test"}}', "a.test.js": test}
    )
    report = await run_tests(workspace, sandbox)
    assert (report.framework, report.ok, report.exit_code) == ("node", False, 1)
    assert (report.passed, report.failed) == (1, 1)
    await workspace.apply([modify("a.test.js", content=test.replace("a.equal(1, 2)", "a.equal(1, 1)"))])
    assert (await run_tests(workspace, sandbox)).ok


async def test_packages_that_the_user_installed_are_seen_by_node(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    if not shutil.which("npm"):
        pytest.skip("npm is not installed")
    user.write("node_modules/tiny/index.js", "module.exports = 42;\n")
    user.write(".gitignore", "node_modules/\n")
    files = {
        "package.json": '{"scripts": {"test": "node check.js"}}',
        "check.js": "process.exit(require('tiny') === 42 ? 0 : 3)\n",
    }
    workspace = await with_files(opened, user, files)
    report = await run_tests(workspace, sandbox)
    assert report.ok, report.output
    assert not (workspace.folder / "node_modules").exists()


def has_program(*command: str) -> bool:
    return bool(shutil.which(command[0])) and subprocess.run(command, capture_output=True).returncode == 0


async def test_cargo_is_run(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    if not has_program("cargo", "--version"):
        pytest.skip("cargo is not installed")
    files = {
        "Cargo.toml": '[package]\nname = "calc"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": (
            "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n\n"
            "#[test]\nfn sum() {\n    assert_eq!(add(1, 2), 3);\n}\n"
        ),
    }
    workspace = await with_files(opened, user, files)
    report = await run_tests(workspace, sandbox)
    assert (report.framework, report.ok, report.failed) == ("cargo", False, 1), report.output
    await workspace.apply([modify("src/lib.rs", content=files["src/lib.rs"].replace("a - b", "a + b"))])
    assert (await run_tests(workspace, sandbox)).ok


async def test_go_is_run(opened: Opener, user: UserRepository, sandbox: Sandbox) -> None:
    if not has_program("go", "version"):
        pytest.skip("go is not installed")
    files = {
        "go.mod": "module example.com/calc\n\ngo 1.20\n",
        "calc.go": "package calc\n\nfunc Add(a, b int) int { return a - b }\n",
        "calc_test.go": (
            'package calc\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n'
            '\tif Add(1, 2) != 3 {\n\t\tt.Error("wrong")\n\t}\n}\n'
        ),
    }
    workspace = await with_files(opened, user, files)
    report = await run_tests(workspace, sandbox)
    assert (report.framework, report.ok, report.failed) == ("go", False, 1), report.output
    await workspace.apply([modify("calc.go", content=files["calc.go"].replace("a - b", "a + b"))])
    assert (await run_tests(workspace, sandbox)).ok


async def test_dangerous_files_that_tests_leave_are_reported(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    workspace = await with_files(opened, user, {"check.sh": "mkfifo left\n"})
    report = await run_tests(workspace, sandbox, command="sh check.sh")
    assert report.exit_code == 0, report
    assert report.warnings == ["Pipes, sockets or device files that a program left were removed: left."]


async def test_too_many_files_are_reported_as_the_reason(
    opened: Opener, user: UserRepository, sandbox: Sandbox
) -> None:
    few = await open_sandbox(Settings(sandbox=SandboxOptions(files=20)))
    workspace = await with_files(opened, user, {"check.sh": "for i in $(seq 30); do : > $i; done\n"})
    report = await run_tests(workspace, few, command="sh check.sh")
    assert (report.ok, report.reason) == (False, "The tests were stopped: they exceeded the limit of files.")
