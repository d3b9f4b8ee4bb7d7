"""Pytest detection and invocation, with the project's own interpreter if there is one."""

from __future__ import annotations

import fnmatch
import re
import sys
from pathlib import Path

import msgspec

from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.tier import SYSTEM, SandboxLimits
from podium.tools.testing.report import Project, TestCommand

RESULTS, COVERAGE = "pytest.xml", "coverage.json"

_PROBE = """
import importlib.metadata, importlib.util, json
plugins = [(point.dist.name, point.name) for point in importlib.metadata.entry_points(group="pytest11")]
print(json.dumps({"installed": importlib.util.find_spec("pytest") is not None, "plugins": plugins}))
"""
DEPENDENCIES = re.compile(
    r"(^|/)(pyproject\.toml|setup\.(cfg|py)|tox\.ini|[\w-]*requirements[\w-]*\.(txt|in)|requirements/[\w-]+\.(txt|in))$"
)
_SETTINGS = {
    "pytest.ini": r"",
    "pyproject.toml": r"^\[tool\.pytest[.\]]",
    "setup.cfg": r"^\[tool:pytest\]",
    "tox.ini": r"^\[pytest\]",
}


class Interpreter(msgspec.Struct, frozen=True):
    """A Python interpreter, and the folders that the sandbox must expose for it."""

    program: str
    readable: list[str] = []


class _Pytest(msgspec.Struct, frozen=True):
    installed: bool = False
    plugins: list[tuple[str, str]] = []
    """Package and plugin name of each plugin."""

    def has(self, package: str) -> bool:
        return any(name == package for name, _ in self.plugins)


async def find_pytest(project: Project, sandbox: Sandbox) -> TestCommand | None:
    """Return the pytest command of the project; None if nothing indicates pytest."""
    why = _reason(project)
    if not why:
        return None
    interpreter, pytest = await _choose(project, sandbox)
    argv, env = [interpreter.program, "-m", "pytest", *options(project.results)], environment(project)
    if interpreter.program == sys.executable:
        wanted = _declared(project, pytest)
        argv += [part for name in wanted for part in ("-p", name)]
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    elif pytest.has("pytest-cov"):
        argv += ["--cov=.", f"--cov-report=json:{project.results / COVERAGE}", "--cov-report="]
    return TestCommand(
        argv=argv,
        framework="pytest",
        shown_as="pytest",
        why=why,
        env=env,
        readable=interpreter.readable,
    )


def options(results: Path) -> list[str]:
    """Return the options of every pytest run: results in a file, no cache, no colours, and each test named as
    it begins, so that a hanging one is known."""
    return [
        "--verbosity=1",
        "--color=no",
        "-p",
        "no:cacheprovider",
        "-o",
        "junit_family=xunit1",
        f"--junitxml={results / RESULTS}",
    ]


def environment(project: Project) -> dict[str, str]:
    """Return the environment. The work tree's packages take precedence over an installed copy of them."""
    env = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    if any(file.startswith("src/") and file.endswith(".py") for file in project.own_files()):
        env["PYTHONPATH"] = str(project.tree / project.below / "src")
    return env


def find_interpreter(project: Project) -> Interpreter:
    """Return the Python of the project's virtual environment, or else the one that runs Podium."""
    for name in (".venv", "venv", "env"):
        place = project.installed(name)
        if place and (place / "bin" / "python").exists() and (base := _base_of(place)):
            folders = [place, *([] if _in_system(base) else [base])]
            return Interpreter(str(place / "bin" / "python"), [str(folder) for folder in folders])
    return Interpreter(sys.executable)


def _base_of(environment: Path) -> Path | None:
    """Return the base folder of a virtual environment's Python; None if it holds no Python."""
    try:
        text = (environment / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")[:10_000]
    except OSError:  # not a virtual environment
        return None
    match = re.search(r"^home\s*=\s*(.+)$", text, re.MULTILINE)
    home = Path(match[1].strip()) if match else None
    if home is None or not home.is_absolute() or not (home / "python3").is_file():
        return None
    return home.parent


def _in_system(folder: Path) -> bool:
    return any(folder == Path(place) or folder.is_relative_to(place) for place in SYSTEM)


def _reason(project: Project) -> str:
    for name, pattern in _SETTINGS.items():
        if project.has(name) and (not pattern or re.search(pattern, project.text(name), re.MULTILINE)):
            return f"{name} has settings for pytest"
    tests = [file for file in project.own_files() if is_python_test(file)]
    return f"{min(tests)} is a test" if tests else ""


def is_python_test(path: str) -> bool:
    """Return True if pytest collects this file by default."""
    name = path.rpartition("/")[2]
    return fnmatch.fnmatchcase(name, "test_*.py") or fnmatch.fnmatchcase(name, "*_test.py")


def _declared(project: Project, pytest: _Pytest) -> list[str]:
    """Return the plugins of Podium's own interpreter that the project mentions; others would interfere."""
    files = [file for file in project.own_files() if DEPENDENCIES.search(file)]
    text = "\n".join(project.text(file) for file in files[:20]).lower()
    return [name for package, name in pytest.plugins if re.search(rf"\b{re.escape(package.lower())}\b", text)]


async def _choose(project: Project, sandbox: Sandbox) -> tuple[Interpreter, _Pytest]:
    """Return the project's interpreter, or Podium's if only that one has pytest."""
    first = find_interpreter(project)
    pytest = await _probe(first, project, sandbox)
    if not pytest.installed and first.program != sys.executable:
        own = Interpreter(sys.executable)
        other = await _probe(own, project, sandbox)
        if other.installed:
            return own, other
    return first, pytest


_OWN: dict[str, _Pytest] = {}
"""The plugins of Podium's own interpreter, which do not change while it runs."""


async def _probe(interpreter: Interpreter, project: Project, sandbox: Sandbox) -> _Pytest:
    if known := _OWN.get(interpreter.program):
        return known
    done = await sandbox.run(
        [interpreter.program, "-I", "-c", _PROBE],
        folder=project.results,
        writable=False,
        readable=[Path(folder) for folder in interpreter.readable],
        limits=SandboxLimits(seconds=60),
    )
    if not done.ok:
        return _Pytest()
    pytest = msgspec.json.decode(done.raw, type=_Pytest)
    if interpreter.program == sys.executable:
        _OWN[interpreter.program] = pytest
    return pytest
