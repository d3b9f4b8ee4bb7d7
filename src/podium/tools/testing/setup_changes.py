"""Changes to how tests are run: settings that leave tests out, and code that takes the run over."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podium.tools.testing.changed import ChangedFile
from podium.tools.testing.finding import Finding
from podium.tools.testing.languages import is_source, is_test_file

_SETTINGS = re.compile(
    r"(^|/)(pytest\.ini|tox\.ini|setup\.cfg|\.coveragerc|conftest\.py|noxfile\.py|Makefile|makefile|GNUmakefile"
    r"|(jest|vitest|vite|karma|playwright)\.config\.\w+|\.mocharc\.\w+|nextest\.toml)$"
)
_SHARED = {
    "pyproject.toml": re.compile(r"pytest|addopts|testpaths|norecursedirs|deselect|coverage|filterwarnings"),
    "package.json": re.compile(r"\"(test|pretest|posttest|jest|vitest|mocha)\"\s*:"),
    "Cargo.toml": re.compile(r"\btest\s*=|harness|\[\[test\]\]|doctest"),
}
"""Files that hold settings for other things too: only lines about tests count."""

_HIJACK = re.compile(
    r"os\._exit|sys\.exit\(\s*0|pytest\.exit|exitstatus\s*=|pytest_(?:sessionfinish|runtest_makereport"
    r"|collection_modifyitems|runtest_call|runtest_protocol|pyfunc_call|report_teststatus|ignore_collect)"
    r"|collect_ignore|process\.exit\(\s*0|os\.Exit\(\s*0"
)
_AWARE = re.compile(
    r"PYTEST_|JEST_WORKER_ID|VITEST|junitxml|[\"'](?:_?pytest|unittest)[\"']\s*(?:not\s+)?in\s+sys\.modules"
    r"|sys\.modules(?:\.get\(|\[)\s*[\"'](?:_?pytest|unittest)"
)
"""How a program finds out that it is being tested."""
_SHADOWING = re.compile(
    r"(^|/)(sitecustomize|usercustomize|pytest|_pytest|unittest|pluggy|coverage)(\.py|/__init__\.py)$|\.pth$"
)


def changed_setup(files: Sequence[ChangedFile]) -> list[Finding]:
    """What a reviewer should look at before believing a green run."""
    found = list[Finding]()
    for file in files:
        if file.after is not None and file.before is None and _SHADOWING.search(file.path):
            told = "This file takes the place of a part of the test framework or of Python's start."
            found.append(Finding("test_setup_changed", "critical", file.path, told))
            continue
        found += _hijacking(file) or _settings(file) or _aware(file)
    return found


def _hijacking(file: ChangedFile) -> list[Finding]:
    if file.after is None or not (is_test_file(file.path) or _SETTINGS.search(file.path)):
        return []
    for number, line in file.added():
        if _HIJACK.search(line):
            told = "This decides what a test run reports, or which tests it runs."
            return [Finding("test_setup_changed", "critical", file.path, told, number, line.strip()[:300])]
    return []


def _aware(file: ChangedFile) -> list[Finding]:
    """Code that does something else when it is tested can pass every test; ending the process can, too, but
    programs may have to."""
    if file.after is None or not is_source(file.path):
        return []
    for number, line in file.added():
        shown = line.strip()[:300]
        if _AWARE.search(line):
            told = "This code finds out whether it is being tested."
            return [Finding("test_setup_changed", "critical", file.path, told, number, shown)]
        if "os._exit" in line:
            told = "This ends a process at once, a run of tests as well."
            return [Finding("test_setup_changed", "major", file.path, told, number, shown)]
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
    told = "How the tests are run was changed."
    shown = "\n".join(line.strip() for line in lines[:6])[:600]
    return [
        Finding(
            "test_setup_changed", "minor" if file.before is None else "major", file.path, told, evidence=shown
        )
    ]
