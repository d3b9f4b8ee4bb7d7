"""Static checks of a change."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence

from podium.engine.process import offload
from podium.tools.testing.cases import is_source, is_test_file
from podium.tools.testing.collection import (
    cargo_problem,
    javascript_problem,
    makefile_problem,
    package_problem,
    pytest_problem,
    tox_problem,
)
from podium.tools.testing.findings import (
    MAX_INSPECTED,
    ChangedFile,
    Finding,
    damaged_tests,
    missing_tests,
)
from podium.tools.testing.special_cases import hard_coded
from podium.tools.workspace.edits import decoded
from podium.tools.workspace.workspace import Workspace

_SETTINGS = re.compile(
    r"(^|/)(pytest\.ini|tox\.ini|setup\.cfg|\.coveragerc|conftest\.py|noxfile\.py|Makefile|makefile|GNUmakefile"
    r"|(jest|vitest|vite|karma|playwright)\.config\.\w+|\.mocharc\.\w+|nextest\.toml)$"
)
_SHARED = {
    "pyproject.toml": re.compile(r"pytest|addopts|testpaths|norecursedirs|deselect|coverage|filterwarnings"),
    "package.json": re.compile(r"\"(test|pretest|posttest|jest|vitest|mocha)\"\s*:"),
    "Cargo.toml": re.compile(r"\btest\s*=|harness|\[\[test\]\]|doctest"),
}
"""Files that also hold other settings: only lines about tests count."""

_HIJACK = re.compile(
    r"os\._exit|sys\.exit\(\s*0|pytest\.exit|exitstatus\s*=|pytest_(?:sessionfinish|runtest_makereport"
    r"|collection_modifyitems|runtest_call|runtest_protocol|pyfunc_call|report_teststatus|ignore_collect)"
    r"|collect_ignore|process\.exit\(\s*0|os\.Exit\(\s*0|config\.(?:option\.\w+|args)\s*(?:=|\[|\.clear)"
    r"|items\[:\]\s*=|deselected\("
)
_AWARE = re.compile(
    r"PYTEST_|JEST_WORKER_ID|VITEST|junitxml|[\"'](?:_?pytest|unittest)[\"']\s*(?:not\s+)?in\s+sys\.modules"
    r"|sys\.modules(?:\.get\(|\[)\s*[\"'](?:_?pytest|unittest)"
)
"""Ways in which code can detect that it is being tested."""
_JAVASCRIPT = re.compile(r"^(?:jest|vitest|vite|karma|playwright)\.config\.\w+$|^\.mocharc\.\w+$")
_SHADOWING = re.compile(
    r"(^|/)(sitecustomize|usercustomize|pytest|_pytest|unittest|pluggy|coverage)(\.py|/__init__\.py)$|\.pth$"
)


def changed_setup(files: Sequence[ChangedFile], tests: Sequence[str] = ()) -> list[Finding]:
    """Return changes to the test setup that a reviewer should check before trusting a passing run. `tests`
    are the paths of all test files."""
    findings = list[Finding]()
    new = {file.path for file in files if file.before is None}
    existing = [path for path in tests if path not in new]
    for file in files:
        if file.after is not None and file.before is None and _SHADOWING.search(file.path):
            message = "This file replaces a part of the test framework or of Python's startup."
            findings.append(Finding("test_setup_changed", "critical", file.path, message))
            continue
        findings += _hijacking(file) or _reduced(file, existing) or _settings(file) or _aware(file)
    return findings


def _reduced(file: ChangedFile, tests: Sequence[str]) -> list[Finding]:
    """Report settings with which existing tests are left out. A new project may bring any settings."""
    name, before, after = file.path.rpartition("/")[2], file.before or "", file.after or ""
    if not tests and file.before is None:
        return []
    reason = ""
    if name in ("pyproject.toml", "pytest.ini", ".pytest.ini", "setup.cfg", "tox.ini"):
        reason = pytest_problem(name, before, after, tests)
    if name == "tox.ini" and not reason:
        reason = tox_problem(before, after)
    elif name == "package.json":
        reason = package_problem(before, after)
    elif name == "Cargo.toml":
        reason = cargo_problem(before, after)
    elif name.lower() in ("makefile", "gnumakefile"):
        reason = makefile_problem(before, after)
    elif _JAVASCRIPT.search(name):
        reason = javascript_problem(before, after)
    if not reason:
        return []
    message = f"Fewer tests are run than before: {reason}."
    shown = "\n".join(line.strip() for _, line in file.added()[:6])[:600]
    return [Finding("test_setup_changed", "critical", file.path, message, evidence=shown)]


def _hijacking(file: ChangedFile) -> list[Finding]:
    if file.after is None or not (is_test_file(file.path) or _SETTINGS.search(file.path)):
        return []
    for number, line in file.added():
        if _HIJACK.search(line):
            message = "This changes what a test run reports, or which tests it runs."
            return [Finding("test_setup_changed", "critical", file.path, message, number, line.strip()[:300])]
    return []


def _aware(file: ChangedFile) -> list[Finding]:
    """Find code that behaves differently under test, and so can pass every test. Ending the process can too,
    but programs may need to, so that is only major."""
    if file.after is None or not is_source(file.path):
        return []
    for number, line in file.added():
        shown = line.strip()[:300]
        if _AWARE.search(line):
            message = "This code detects whether it is being tested."
            return [Finding("test_setup_changed", "critical", file.path, message, number, shown)]
        if "os._exit" in line:
            message = "This ends the process at once, also a test run."
            return [Finding("test_setup_changed", "major", file.path, message, number, shown)]
    return []


def _settings(file: ChangedFile) -> list[Finding]:
    name = file.path.rpartition("/")[2]
    about = _SHARED.get(name)
    lines = [line for _, line in file.added()] + file.removed()
    if about:
        lines = [line for line in lines if about.search(line)]
    elif not _SETTINGS.search(file.path):
        return []
    if not lines or (file.before is None and not about and name != "conftest.py"):
        return []  # a new project brings its own settings
    message = "The test setup was changed."
    shown = "\n".join(line.strip() for line in lines[:6])[:600]
    severity = "minor" if file.before is None else "major"
    return [Finding("test_setup_changed", severity, file.path, message, evidence=shown)]


MAX_TESTS = 300
"""Maximum test files whose expected values are searched for in the code."""


async def changed_files(workspace: Workspace, since: str) -> list[ChangedFile]:
    """Return every file that changed since a commit or snapshot, with both texts."""
    stats = await workspace.stat(since)
    old = await workspace.contents(since, [stat.old_path or stat.path for stat in stats])
    new = await workspace.contents(workspace.state, [stat.path for stat in stats])
    return [
        ChangedFile(
            stat.path, _text(old.get(stat.old_path or stat.path)), _text(new.get(stat.path)), stat.old_path
        )
        for stat in stats
    ]


async def inspect_change(workspace: Workspace, since: str, *, named: Sequence[str] = ()) -> list[Finding]:
    """Return suspicious findings in everything that changed since a commit or snapshot.

    `named` are the paths that the step names: files, folders or patterns. If it is empty, no file counts as
    outside the step.
    """
    files = await changed_files(workspace, since)
    tests = [path for path in workspace.files if is_test_file(path)][:MAX_TESTS]
    texts = {path: _text(data) for path, data in (await workspace.contents(workspace.state, tests)).items()}
    return await offload(findings, files, [(path, text) for path, text in texts.items() if text], list(named))


def findings(
    files: Sequence[ChangedFile], tests: Sequence[tuple[str, str]], named: Sequence[str] = ()
) -> list[Finding]:
    """Return the findings for given texts, most severe first."""
    inline = [(file.path, file.after) for file in files if file.after and file.cases_after()]
    known = dict([*tests, *inline])
    unsorted = [
        *missing_tests(files),
        *damaged_tests(files),
        *changed_setup(files, sorted(known)),
        *hard_coded(files, list(known.items())),
        *outside_step(files, named),
    ]
    order = {"critical": 0, "major": 1, "minor": 2}
    return sorted(unsorted, key=lambda finding: order[finding.severity])


def outside_step(files: Sequence[ChangedFile], named: Sequence[str]) -> list[Finding]:
    """Return files that the step does not name. New tests are always allowed; changed ones are only a minor
    finding."""
    if not named:
        return []
    outside = list[Finding]()
    for file in files:
        is_test = is_test_file(file.path)
        if _is_named(file.path, named) or (is_test and file.before is None):
            continue
        message = "The step does not mention this file."
        outside.append(Finding("outside_step", "minor" if is_test else "major", file.path, message))
    return outside


def _is_named(path: str, named: Sequence[str]) -> bool:
    for name in named:
        plain = name.strip().removeprefix("./").rstrip("/")
        if path == plain or path.startswith(plain + "/") or fnmatch.fnmatchcase(path, plain):
            return True
    return False


def _text(data: bytes | None) -> str | None:
    """Return a file's text; empty if it is binary or too large."""
    if data is None:
        return None
    file = decoded(data) if len(data) <= MAX_INSPECTED else None
    return file.text if file else ""
