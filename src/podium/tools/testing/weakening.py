"""What a change does to tests: taken away, left out, made to check less or nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podium.tools.testing.case import Case, evidence
from podium.tools.testing.changed import ChangedFile
from podium.tools.testing.finding import Finding
from podium.tools.testing.languages import is_source, is_test_file, language_of

_STRICT = re.compile(
    r"==|toBe\(|toEqual|toStrictEqual|assertEqual|assert_eq|deepEqual|strictEqual|\bis (?!not)"
)
_ONLY = re.compile(r"(?<![\w.$])(?:(?:it|test|describe|suite)\.only|f(?:it|describe))\s*\(")


def missing_tests(files: Sequence[ChangedFile]) -> list[Finding]:
    """Code that comes without a test; words, data and settings need none."""
    sources = [file for file in files if is_source(file.path) and file.after is not None and _adds_code(file)]
    if not sources or any(_brings_tests(file) for file in files):
        return []
    names = ", ".join(file.path for file in sources[:5])
    told = f"Code was changed without a test that is new or changed: {names}."
    return [Finding("no_tests", "major", sources[0].path, told)]


def _adds_code(file: ChangedFile) -> bool:
    return any(line.strip() for _, line in file.added())


def _brings_tests(file: ChangedFile) -> bool:
    """A test of this file is new, or checks something that it did not check before."""
    if file.after is None:
        return False
    if not language_of(file.path):
        return is_test_file(file.path) and _adds_code(file)
    before = {case.name: case.asserts for case in file.cases_before()}
    return any(case.asserts and case.asserts != before.get(case.name) for case in file.cases_after())


def damaged_tests(files: Sequence[ChangedFile]) -> list[Finding]:
    """Every test of before that is gone, left out or weaker, and new ones that check nothing."""
    everywhere = {case.name.rpartition(".")[2] for file in files for case in file.cases_after()}
    found = list[Finding]()
    for file in files:
        before = {case.name: case for case in file.cases_before()}
        after = {case.name: case for case in file.cases_after()}
        found += _deleted(file, [case for name, case in before.items() if name not in after], everywhere)
        for name, case in after.items():
            found += _compared(file, before.get(name), case)
        found += _left_out_by_only(file)
    return found


def _deleted(file: ChangedFile, gone: list[Case], everywhere: set[str]) -> list[Finding]:
    """Tests that are nowhere any more; one that moved to another changed file is not gone."""
    lost = [case for case in gone if case.name.rpartition(".")[2] not in everywhere]
    if not lost:
        return []
    names = ", ".join(case.name for case in lost[:10]) + (", …" if len(lost) > 10 else "")
    broken = file.after is not None and not file.cases_after() and language_of(file.path) == "python"
    told = f"{len(lost)} tests were deleted: {names}."
    if broken and file.after:
        told = f"{len(lost)} tests are gone or the file cannot be read any more: {names}."
    return [Finding("tests_deleted", "critical", file.path, told, evidence=lost[0].text)]


def _compared(file: ChangedFile, old: Case | None, new: Case) -> list[Finding]:
    """One test, before and after."""
    if new.skipped and (old is None or not old.skipped):
        severity = "major" if old is None else "critical"
        told = (
            f"{new.name} is left out of runs."
            if old is None
            else f"{new.name} ran before and is left out now."
        )
        return [Finding("tests_skipped", severity, file.path, told, new.line, new.text)]
    if old == new or (old is not None and old.asserts == new.asserts and old.text == new.text):
        return []
    if not new.asserts and not new.skipped and (old is None or old.asserts):
        told = f"{new.name} checks nothing that could fail."
        return [Finding("asserts_nothing", "major", file.path, told, new.line, new.text)]
    return _weakened(file, old, new) if old is not None and not old.skipped else []


def _weakened(file: ChangedFile, old: Case, new: Case) -> list[Finding]:
    lost = [check for check in old.asserts if check not in new.asserts]
    gained = [check for check in new.asserts if check not in old.asserts]
    if not lost:
        return []
    shown = "\n".join([*(f"- {check}" for check in lost[:6]), *(f"+ {check}" for check in gained[:6])])
    if len(new.asserts) < len(old.asserts):
        told = f"{new.name} checks {len(new.asserts)} things; it checked {len(old.asserts)}."
        return [Finding("tests_weakened", "critical", file.path, told, new.line, shown)]
    if _strict(new.asserts) < _strict(old.asserts):
        told = f"{new.name} compares less strictly than before."
        return [Finding("tests_weakened", "critical", file.path, told, new.line, shown)]
    told = f"{new.name} expects something else than before."
    return [Finding("tests_weakened", "major", file.path, told, new.line, shown)]


def _strict(checks: Sequence[str]) -> int:
    return sum(1 for check in checks if _STRICT.search(check))


def _left_out_by_only(file: ChangedFile) -> list[Finding]:
    """`it.only` leaves every other test of the file out."""
    if language_of(file.path) != "javascript" or not is_test_file(file.path):
        return []
    for number, line in file.added():
        if _ONLY.search(line):
            told = "Every other test of the file is left out of runs."
            return [Finding("tests_skipped", "critical", file.path, told, number, evidence(line, 1))]
    return []
