"""Detection of deleted, skipped and weakened tests, and of code without tests."""

from __future__ import annotations

import re
from collections.abc import Sequence

from podium.tools.repository import symbols_of
from podium.tools.testing.cases import Case, evidence, is_source, is_test_file, language_of
from podium.tools.testing.changes import ChangedFile, Finding

_STRICT = re.compile(
    r"==|toBe\(|toEqual|toStrictEqual|assertEqual|assert_eq|deepEqual|strictEqual|\bis (?!not)"
)
_WORD = re.compile(r"\w+")
_NAME = re.compile(
    r"(?:\b(?:def|class|function\*?|fn|func|const|let|struct|enum|trait|interface|type)\s+)(?:\([^)]*\)\s*)?(\w+)"
)
"""Captures the declared name."""
_ONLY = re.compile(r"(?<![\w.$])(?:(?:it|test|describe|suite)\.only|f(?:it|describe))\s*\(")


def missing_tests(files: Sequence[ChangedFile]) -> list[Finding]:
    """Report code changes without a new or changed test; text, data and settings need none."""
    sources = [file for file in files if is_source(file.path) and file.after is not None and _adds_code(file)]
    if not sources or any(_brings_tests(file) for file in files):
        return []
    names = ", ".join(file.path for file in sources[:5])
    told = f"Code was changed without a test that is new or changed: {names}."
    return [Finding("no_tests", "major", sources[0].path, told)]


def _adds_code(file: ChangedFile) -> bool:
    return any(line.strip() for _, line in file.added())


def _brings_tests(file: ChangedFile) -> bool:
    """Return True if a test of this file is new, or has changed checks."""
    if file.after is None:
        return False
    if not language_of(file.path):
        return is_test_file(file.path) and _adds_code(file)
    before = {case.name: case.asserts for case in file.cases_before()}
    return any(case.asserts and case.asserts != before.get(case.name) for case in file.cases_after())


def damaged_tests(files: Sequence[ChangedFile]) -> list[Finding]:
    """Report every test that was deleted, skipped or weakened, and new ones that check nothing."""
    gone = [case for file in files for case in _only_in(file.cases_before(), file.cases_after())]
    arrived = [case for file in files for case in _only_in(file.cases_after(), file.cases_before())]
    moved = {_last(case): case for case in gone}
    taken = removed_names(files)
    found = list[Finding]()
    for file in files:
        before = {case.name: case for case in file.cases_before()}
        lost = _only_in(file.cases_before(), file.cases_after())
        found += _deleted(file, [case for case in lost if not _is_elsewhere(case, arrived)], taken)
        for case in file.cases_after():
            found += _compared(file, before.get(case.name) or moved.get(_last(case)), case)
        found += _left_out_by_only(file)
    return found


def _only_in(some: Sequence[Case], others: Sequence[Case]) -> list[Case]:
    names = {case.name for case in others}
    return [case for case in some if case.name not in names]


def _last(case: Case) -> str:
    """Return the test's name without its class."""
    return case.name.rpartition(".")[2]


def _is_elsewhere(case: Case, arrived: Sequence[Case]) -> bool:
    """Return True if a test was moved, or renamed with the same checks."""
    return any(_last(other) == _last(case) or (case.asserts == other.asserts != []) for other in arrived)


def removed_names(files: Sequence[ChangedFile]) -> set[str]:
    """Return the names that a change removes from the program: declared before, and in no changed file
    after."""
    sources = [file for file in files if is_source(file.path)]
    before = {name for file in sources for name in _declared(file.old_path or file.path, file.before)}
    return before - {name for file in files for name in _declared(file.path, file.after)}


def _declared(path: str, text: str | None) -> set[str]:
    found = [_NAME.search(symbol.text) for symbol in symbols_of(path, text or "")]
    return {name[1] for name in found if name}


def _deleted(file: ChangedFile, lost: list[Case], taken: set[str]) -> list[Finding]:
    """Report tests that no longer exist. Tests of code that the change itself removes may be deleted with it;
    those are a major finding for the supervisor to judge, others a critical one."""
    found = list[Finding]()
    missed = [case for case in lost if not _speaks_of(case, taken)]
    if missed:
        broken = file.after and not file.cases_after() and language_of(file.path) == "python"
        what = "are gone or the file cannot be read any more" if broken else "were deleted"
        told = f"{len(missed)} tests {what}: {_names(missed)}."
        found.append(Finding("tests_deleted", "critical", file.path, told, evidence=missed[0].text))
    if going := [case for case in lost if case not in missed]:
        tested = ", ".join(sorted({name for case in going for name in _speaks_of(case, taken)})[:5])
        told = (
            f"{len(going)} tests were deleted, with {tested}, which the change takes away: {_names(going)}."
        )
        found.append(Finding("tests_deleted", "major", file.path, told, evidence=going[0].text))
    return found


def _speaks_of(case: Case, names: set[str]) -> set[str]:
    """Return those of the names that a test's checks mention."""
    return names & set(_WORD.findall(" ".join(case.asserts)))


def _names(cases: Sequence[Case]) -> str:
    return ", ".join(case.name for case in cases[:10]) + (", …" if len(cases) > 10 else "")


def _compared(file: ChangedFile, old: Case | None, new: Case) -> list[Finding]:
    """Compare one test before and after."""
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
    """Report `it.only` and the like, which skip every other test of the file."""
    if language_of(file.path) != "javascript" or not is_test_file(file.path):
        return []
    for number, line in file.added():
        if _ONLY.search(line):
            told = "Every other test of the file is left out of runs."
            return [Finding("tests_skipped", "critical", file.path, told, number, evidence(line, 1))]
    return []
