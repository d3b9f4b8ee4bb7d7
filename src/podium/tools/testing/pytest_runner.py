"""Pytest: found by its settings or its files, run with the project's own interpreter where there is one."""

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
_DEPENDENCIES = re.compile(
    r"(^|/)(pyproject\.toml|setup\.(cfg|py)|tox\.ini|[\w-]*requirements[\w-]*\.(txt|in)|requirements/[\w-]+\.(txt|in))$"
)
_SETTINGS = {
    "pytest.ini": r"", "pyproject.toml": r"^\[tool\.pytest[.\]]", "setup.cfg": r"^\[tool:pytest\]",
    "tox.ini": r"^\[pytest\]",
}  # fmt: skip


class Interpreter(msgspec.Struct, frozen=True):
    """A Python, and what of it the sandbox must see."""

    program: str
    readable: list[str] = []


class _Pytest(msgspec.Struct, frozen=True):
    installed: bool = False
    plugins: list[tuple[str, str]] = []
    """Of each plugin, the package that it comes with, and its name."""

    def has(self, package: str) -> bool:
        return any(name == package for name, _ in self.plugins)


async def find_pytest(project: Project, sandbox: Sandbox) -> TestCommand | None:
    """How pytest is run here, or `None` if nothing speaks for it."""
    why = _reason(project)
    if not why:
        return None
    interpreter, found = await _choose(project, sandbox)
    argv, env = [interpreter.program, "-m", "pytest", *options(project.results)], environment(project)
    if interpreter.program == sys.executable:
        wanted = _declared(project, found)
        argv += [part for name in wanted for part in ("-p", name)]
        env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    elif found.has("pytest-cov"):
        argv += ["--cov=.", f"--cov-report=json:{project.results / COVERAGE}", "--cov-report="]
    return TestCommand(
        argv=argv,
        framework="pytest",
        told_as="pytest",
        why=why,
        env=env,
        readable=interpreter.readable,
    )


def options(results: Path) -> list[str]:
    """What every run of pytest gets: results in a file, nothing kept, no colours, each test named as it
    begins, so that one that hangs is known."""
    return [
        "--verbosity=1", "--color=no", "-p", "no:cacheprovider", "-o", "junit_family=xunit1",
        f"--junitxml={results / RESULTS}",
    ]  # fmt: skip


def environment(project: Project) -> dict[str, str]:
    """The work tree's own packages come before an installed copy of them."""
    found = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    if any(file.startswith("src/") and file.endswith(".py") for file in project.own_files()):
        found["PYTHONPATH"] = str(project.tree / project.below / "src")
    return found


def find_interpreter(project: Project) -> Interpreter:
    """The Python of the user's virtual environment, else the one that runs Podium."""
    for name in (".venv", "venv", "env"):
        place = project.installed(name)
        if place and (place / "bin" / "python").exists() and (base := _base_of(place)):
            folders = [place, *([] if _in_system(base) else [base])]
            return Interpreter(str(place / "bin" / "python"), [str(folder) for folder in folders])
    return Interpreter(sys.executable)


def _base_of(environment: Path) -> Path | None:
    """The Python that a virtual environment was made from; only a folder that really holds one."""
    try:
        text = (environment / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")[:10_000]
    except OSError:  # no such file: not a virtual environment
        return None
    found = re.search(r"^home\s*=\s*(.+)$", text, re.MULTILINE)
    home = Path(found[1].strip()) if found else None
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
    """Whether pytest collects this file by its usual names."""
    name = path.rpartition("/")[2]
    return fnmatch.fnmatchcase(name, "test_*.py") or fnmatch.fnmatchcase(name, "*_test.py")


def _declared(project: Project, found: _Pytest) -> list[str]:
    """Plugins of Podium's own interpreter that the project speaks of; others would only disturb it."""
    files = [file for file in project.own_files() if _DEPENDENCIES.search(file)]
    said = "\n".join(project.text(file) for file in files[:20]).lower()
    return [name for package, name in found.plugins if re.search(rf"\b{re.escape(package.lower())}\b", said)]


async def _choose(project: Project, sandbox: Sandbox) -> tuple[Interpreter, _Pytest]:
    """The project's interpreter, unless it has no pytest and Podium's has."""
    first = find_interpreter(project)
    found = await _probe(first, project, sandbox)
    if not found.installed and first.program != sys.executable:
        own = Interpreter(sys.executable)
        other = await _probe(own, project, sandbox)
        if other.installed:
            return own, other
    return first, found


async def _probe(interpreter: Interpreter, project: Project, sandbox: Sandbox) -> _Pytest:
    done = await sandbox.run(
        [interpreter.program, "-I", "-c", _PROBE],
        folder=project.results,
        writable=False,
        readable=[Path(folder) for folder in interpreter.readable],
        limits=SandboxLimits(seconds=60),
    )
    if not done.ok:
        return _Pytest()
    return msgspec.json.decode(done.raw, type=_Pytest)
