"""Diagnosis of test commands that do not work, as opposed to tests that fail and to missing tests."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator

from podium.tools.testing.pytest_runner import DEPENDENCIES, is_python_test
from podium.tools.testing.report import Project, TestReport, first_line

Trouble = tuple[str, str]
"""The problem and what to do, one sentence each."""

_OTHER = "or give a command that works with --test-command"
_VENV = "`python -m venv .venv && .venv/bin/pip install"
_PLUGINS = {
    "--cov": "pytest-cov", "-n": "pytest-xdist", "--timeout": "pytest-timeout", "--asyncio": "pytest-asyncio",
    "--django": "pytest-django", "--ds": "pytest-django", "--benchmark": "pytest-benchmark",
    "--reruns": "pytest-rerunfailures", "--mypy": "pytest-mypy", "--doctest-plus": "pytest-doctestplus",
    "--html": "pytest-html", "--random-order": "pytest-random-order", "--snapshot": "syrupy",
    "--hypothesis": "hypothesis", "--mpl": "pytest-mpl",
}  # fmt: skip
"""Start of an option -> the plugin that defines it."""
_PACKAGES: dict[str, str] = {
    "yaml": "PyYAML", "PIL": "pillow", "cv2": "opencv-python", "sklearn": "scikit-learn",
    "bs4": "beautifulsoup4",
    "dateutil": "python-dateutil", "dotenv": "python-dotenv", "attr": "attrs", "git": "GitPython",
    "jwt": "PyJWT", "OpenSSL": "pyOpenSSL", "serial": "pyserial", "usb": "pyusb", "Crypto": "pycryptodome",
}  # fmt: skip
"""Module -> package, where they differ."""

_MISSING_PYTHON = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_MISSING_NODE = re.compile(
    r"Cannot find (?:module|package) '(?P<a>(?![./])[^'\n]{1,200})'"
    r"|Failed to resolve import \"(?P<b>[\w@][^\"\n]{0,200})\""
)
_NOT_FOUND = re.compile(
    r"(?:^|\s)(?:(?:/bin/)?(?:ba|da)?sh: (?:line )?(?:\d+: )?|make(?:\[\d+\])?: |env: [‘'\"]?)"
    r"([^\s:'’]+)[’'\"]?: (?:command |inaccessible or )?(?:not found|No such file or directory)",
    re.MULTILINE,
)
_FORBIDDEN = re.compile(r"sh: (?:line )?(?:\d+: )?([^\s:]+): Permission denied", re.MULTILINE)
_UNKNOWN_OPTION = re.compile(
    r"(?:unrecognized arguments?|[Uu]nknown option|[Uu]nrecognized option|[Uu]nknown flag|bad option"
    r"|flag provided but not defined|unexpected argument|Unrecognized CLI Parameter|no such option)"
    r"[:\s]+['\"‘“]*(-{0,2}[\w=./-]+)",
)
_GO_MISSING = re.compile(
    r"no required module provides package ([^\s;:]+)|missing go\.sum entry for (?:go\.mod file; to add it|"
    r"module providing package ([^\s;:]+))|([^\s:]+): module lookup disabled by GOPROXY=off"
    r"|cannot find module providing package ([^\s;:]+)"
)
_GO_VERSION = re.compile(r"requires go >= ([\d.]+) \(running go ([\d.]+)")
_CARGO_MISSING = re.compile(
    r"no matching package named `([\w-]+)` found|failed to (?:download|get) `([\w-]+)|"
    r"(?:attempting to make an HTTP request, but|can't checkout from .*: you are in the) (?:--)?offline"
)
_RUST_VERSION = re.compile(r"(?:requires rustc|cannot be built because it requires rustc) ([\d.]+)")
_COMPILED = re.compile(
    r"undefined symbol|was compiled (?:for|with|against)|wrong ELF class|incompatible architecture"
)
_SYNTAX = re.compile(
    r"SyntaxError|cannot import name '\w+' from '(?:typing|enum|dataclasses|collections|asyncio)|"
    r"No module named '(?:tomllib|distutils|imp|asyncore|importlib\.metadata)'|"
    r"requires Python|requires a different Python"
)
_RUNNING = re.compile(r"-- Python (\d+)\.(\d+)")
_NEEDED = re.compile(
    r"requires-python\s*=\s*[\"'][^\"']*?>=\s*(\d+)\.(\d+)|python_requires\s*=\s*[\"']?[^\"'\n]*?>=\s*(\d+)\.(\d+)"
)


def command_trouble(report: TestReport, project: Project | None = None) -> Trouble | None:
    """Return why the test command does not work here, and what to do; None if it works.

    Failing tests and a project without tests are no trouble. With the project, a module that its tests import
    and nothing declares counts as one that is still to be written, not as a missing dependency.
    """
    if report.ok or (report.passed and not report.timed_out):
        return None
    if report.timed_out:
        return (
            f"The tests did not end within {report.seconds:.0f} s.",
            "Give a faster command with --test-command, or raise `time` in [sandbox] of the settings.",
        )
    if report.exit_code is None:
        if not report.command:
            return None
        return (report.reason, f"Install it, {_OTHER}.")
    if report.reason.startswith("The tests were stopped:"):
        return (
            report.reason,
            "Raise the limit in [sandbox] of the settings, or run fewer tests with --test-command.",
        )
    text = "\n".join([report.output, *(failure.output or failure.message for failure in report.failures)])
    return next((trouble for trouble in _troubles(report, text, project) if trouble), None)


def _troubles(report: TestReport, text: str, project: Project | None) -> Iterator[Trouble | None]:
    if report.failed:  # tests ran: what they print is their own
        return
    yield _program(report, text)
    yield _npm(report, text)
    yield _go(text)
    yield _cargo(text)
    yield _python(report, text, project)
    yield _usage(report, text)


def _program(report: TestReport, text: str) -> Trouble | None:
    """A program that is missing or cannot be executed."""
    shell = report.framework in ("command", "make", "npm", "node", "mocha", "jest", "vitest")
    match = _NOT_FOUND.search(text) if shell else None
    is_missing = report.exit_code == 127 or re.search(r"Error 127$", text, re.MULTILINE)
    if match and is_missing:
        name = match[1]
        if report.framework not in ("command", "make") or f"node_modules/.bin/{name}" in text:
            return (
                f"`{name}` is not installed in the project's node_modules.",
                f"Run `npm install` in the project, {_OTHER}.",
            )
        return (
            f"The test command needs `{name}`, which is not installed.",
            f"Install it, in the project's .venv if it is a Python program, {_OTHER}.",
        )
    if report.exit_code == 127 and not report.counted:
        return (
            f"The test command needs a program that is not installed: {_last(text)}",
            f"Install it, {_OTHER}.",
        )
    if report.exit_code == 126 and not report.counted:
        match = _FORBIDDEN.search(text)
        name = f"`{match[1]}`" if match else "its program"
        return (
            f"The test command cannot execute {name}.",
            f"Make it executable (`chmod +x`) and commit that, {_OTHER}.",
        )
    return None


def _npm(report: TestReport, text: str) -> Trouble | None:
    if "Error: no test specified" in text:
        return (
            "The script `test` of package.json only says that no test is specified.",
            f"Set it to the command that runs the tests, {_OTHER}.",
        )
    if re.search(r"Missing script: \"?test\b", text):
        return ("package.json has no script `test`.", f"Add one, {_OTHER}.")
    if report.counted and report.total > report.errors:
        return None
    missing = _groups(_MISSING_NODE, text)
    names = [name for name in missing if not name.startswith(("node:", "file:"))]
    if names and (report.errors or not report.counted):
        return (
            f"Packages are not installed: {_named(names)}.",
            f"Run `npm install` in the project, so that it has a node_modules, {_OTHER}.",
        )
    if re.search(r"npm (?:ERR!|error) code (?:ENOTCACHED|EAI_AGAIN|ENOTFOUND)", text):
        return (
            "npm needs the network, which tests do not have.",
            f"Run `npm install` in the project, {_OTHER}.",
        )
    return None


def _go(text: str) -> Trouble | None:
    if match := _GO_VERSION.search(text):
        return (
            f"The project needs Go {match[1]}, but Go {match[2]} is installed.",
            f"Install Go {match[1]}, {_OTHER}.",
        )
    if not _GO_MISSING.search(text):
        return None
    named = _named(_groups(_GO_MISSING, text)) or "see its output"
    return (
        f"Go modules are missing, and tests have no network: {named}.",
        f"Run `go mod download` or `go mod vendor` in the project, {_OTHER}.",
    )


def _cargo(text: str) -> Trouble | None:
    if match := _RUST_VERSION.search(text):
        return (f"The project needs Rust {match[1]} or newer.", f"Run `rustup update`, {_OTHER}.")
    if "linker `cc` not found" in text:
        return ("Rust has no linker: `cc` is not installed.", "Install a C compiler (`apt-get install gcc`).")
    if re.search(r"rustup could not choose a version|toolchain '[^']*' is not installed", text):
        return (
            "No Rust toolchain is installed for this project.",
            f"Run `rustup toolchain install stable`, {_OTHER}.",
        )
    if match := _CARGO_MISSING.search(text):
        named = f": {match[1] or match[2]}" if match[1] or match[2] else ""
        return (
            f"Crates are missing, and tests have no network{named}.",
            f"Run `cargo fetch` or `cargo vendor` in the project, {_OTHER}.",
        )
    return None


def _python(report: TestReport, text: str, project: Project | None) -> Trouble | None:
    if match := re.search(r"(\S+): No module named pytest\b", text):
        return (
            f"pytest is not installed for {match[1]}.",
            f"Create .venv in the project with it ({_VENV} pytest`), {_OTHER}.",
        )
    if report.passed or report.failed:
        return None
    if not (report.errors or "ImportError while loading conftest" in text or not report.counted):
        return None
    if report.errors and report.errors < report.total - report.skipped:
        return None
    if version := _version_trouble(text, project):
        return version
    modules = dict.fromkeys(name.partition(".")[0] for name in _groups(_MISSING_PYTHON, text))
    missing = [name for name in modules if _is_dependency(name, project)]
    if missing:
        packages = [_PACKAGES.get(name, name) for name in missing]
        return (
            f"Every test file breaks, because modules are not installed: {_named(missing)}.",
            f"Create .venv in the project with them ({_VENV} {' '.join(packages[:8])}`), {_OTHER}.",
        )
    if _COMPILED.search(text):
        return (
            "A compiled package does not fit the Python that runs the tests.",
            f"Create .venv in the project anew, with the Python version that it needs, {_OTHER}.",
        )
    return None


def _version_trouble(text: str, project: Project | None) -> Trouble | None:
    """An interpreter that is older than the project needs, if the errors look like that."""
    running = _RUNNING.search(text)
    version = (int(running[1]), int(running[2])) if running else sys.version_info[:2]
    settings = (
        "\n".join(project.text(name) for name in ("pyproject.toml", "setup.cfg", "setup.py"))
        if project
        else ""
    )
    needed = _NEEDED.search(settings)
    if not needed or not _SYNTAX.search(text):
        return None
    wanted = (int(needed[1] or needed[3]), int(needed[2] or needed[4]))
    if version >= wanted:
        return None
    return (
        f"The tests run with Python {_dotted(version)}, but the project needs {_dotted(wanted)} or newer.",
        f"Create .venv in the project with that Python, {_OTHER}.",
    )


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _is_dependency(module: str, project: Project | None) -> bool:
    """Return False if the module is one of the project's own, or one that nothing but its tests knows."""
    if project is None:
        return True
    files = project.own_files()
    if any(part in (module, f"{module}.py") for file in files for part in file.split("/")):
        return False
    names = {module.lower(), _PACKAGES.get(module, module).lower(), module.lower().replace("_", "-")}
    declared = "\n".join(project.text(file) for file in files if DEPENDENCIES.search(file)).lower()
    if any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", declared) for name in names):
        return True
    sources = [file for file in files if file.endswith(".py") and not is_python_test(file)][:500]
    imported = re.compile(rf"^\s*(?:import|from)\s+{re.escape(module)}\b", re.MULTILINE)
    return any(imported.search(project.text(file)) for file in sources)


def _usage(report: TestReport, text: str) -> Trouble | None:
    """Arguments that the command's program does not accept."""
    if report.counted and report.total:
        return None
    match = _UNKNOWN_OPTION.search(text)
    if match and report.exit_code:
        option = match[1].rstrip(".")
        plugin = next((name for start, name in _PLUGINS.items() if option.startswith(start)), "")
        if plugin and ("pytest" in text or report.framework == "pytest"):
            return (
                f"pytest does not know the option {option}: {plugin} is not installed.",
                f"Create .venv in the project with pytest and {plugin}, {_OTHER}.",
            )
        return (
            f"The test command has an option that is not known: {option}.",
            "Correct --test-command or the project's settings.",
        )
    if report.framework == "pytest" and report.exit_code == 4:
        return (f"pytest cannot start: {_last(text, 'ERROR')}", f"Correct its settings, {_OTHER}.")
    if report.framework == "pytest" and report.exit_code == 3:
        return (
            f"pytest broke: {_last(text, 'INTERNALERROR>')}",
            f"Look for a plugin that does not fit, {_OTHER}.",
        )
    if re.search(r"No rule to make target", text):
        return (f"make cannot run the tests: {_last(text, 'make')}", f"Correct the Makefile, {_OTHER}.")
    if report.exit_code == 2 and re.search(
        r"^sh: (?:line )?(?:\d+: )?(?:Syntax error|syntax error)", text, re.MULTILINE
    ):
        return (
            f"The test command is not one that a shell can read: {_last(text, 'sh:')}",
            "Correct --test-command.",
        )
    return None


def _groups(pattern: re.Pattern[str], text: str) -> list[str]:
    """Return the matched group of each match, without repetitions."""
    every = [str(group) for match in pattern.finditer(text) for group in match.groups() if group]
    return list(dict.fromkeys(every))


def _named(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _last(text: str, start: str = "") -> str:
    """Return the last line, of those that begin like this, as the end of a sentence."""
    lines = [line.strip() for line in text.splitlines() if line.strip().startswith(start) and line.strip()]
    return first_line(lines[-1], 300).rstrip(".") + "." if lines else "it gives no reason."
