"""Findings in changed files: deleted, skipped and weakened tests, code without tests."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from podium.tools.repository import symbols_of
from podium.tools.testing.cases import (
    Case,
    cases_of,
    evidence,
    helper_skips,
    is_collected,
    is_source,
    is_test_file,
    is_test_language,
    language_of,
)
from podium.tools.testing.weakening import CHANGED, weakened

MAX_INSPECTED = 500_000
"""Maximum characters of a file that is inspected; larger ones are generated."""


class ChangedFile(msgspec.Struct, frozen=True):
    """A changed file. None as `before`: the file is new; None as `after`: it was deleted."""

    path: str
    before: str | None
    after: str | None
    old_path: str = ""

    def cases_before(self) -> list[Case]:
        return cases_of(self.old_path or self.path, self.before or "") or []

    def cases_after(self) -> list[Case]:
        """Return the tests; none if the file has a name now under which no framework looks for tests."""
        if self.is_hidden():
            return []
        return cases_of(self.path, self.after or "") or []

    def is_hidden(self) -> bool:
        """Return True if the file is new or renamed, and frameworks do not look for tests in it."""
        old = self.old_path or (self.path if self.before is not None else "")
        return not is_collected(self.path) and (not old or is_collected(old)) and is_test_language(self.path)

    def added(self) -> list[tuple[int, str]]:
        """Return the added lines with their numbers."""
        return [(line, text) for line, text in _added(self.before or "", self.after or "")]

    def removed(self) -> list[str]:
        """Return the removed lines."""
        return [text for _, text in _added(self.after or "", self.before or "")]


def _added(old: str, new: str) -> list[tuple[int, str]]:
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(before) + len(after) > 2_000)
    lines = list[tuple[int, str]]()
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind in ("replace", "insert"):
            lines += [(number + 1, after[number]) for number in range(start, end)]
    return lines


Kind = Literal[
    "no_tests",
    "tests_deleted",
    "tests_skipped",
    "tests_weakened",
    "asserts_nothing",
    "outside_step",
    "hard_coded",
    "test_setup_changed",
]
Severity = Literal["minor", "major", "critical"]


class Finding(msgspec.Struct, frozen=True):
    """One suspicion with its evidence. The supervisor judges it, and the report shows it."""

    kind: Kind
    severity: Severity
    path: str
    message: str
    """One sentence."""
    line: int = 0
    """Line after the change; 0 for the whole file or a deleted one."""
    evidence: str = ""
    """The lines concerned."""


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
    message = f"Code was changed without a new or changed test: {names}."
    return [Finding("no_tests", "major", sources[0].path, message)]


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
    removed = removed_names(files)
    findings = list[Finding]()
    for file in files:
        before = {case.name: case for case in file.cases_before()}
        lost = _only_in(file.cases_before(), file.cases_after())
        findings += _deleted(file, [case for case in lost if not _is_elsewhere(case, arrived)], removed)
        for case in file.cases_after():
            findings += _compared(file, before.get(case.name) or moved.get(_last(case)), case)
        findings += _skipped_by_only(file) or _left_out(file)
    return findings


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
    matches = [_NAME.search(symbol.text) for symbol in symbols_of(path, text or "")]
    return {name[1] for name in matches if name}


def _deleted(file: ChangedFile, lost: list[Case], removed: set[str]) -> list[Finding]:
    """Report tests that no longer exist. Tests of code that the change itself removes may be deleted with it;
    those are a major finding for the supervisor to judge, others a critical one."""
    findings = list[Finding]()
    missed = [case for case in lost if not _mentioned_in(case, removed)]
    if missed:
        broken = file.after and not file.cases_after() and language_of(file.path) == "python"
        what = "are gone, or the file can no longer be parsed" if broken else "were deleted"
        message = f"{len(missed)} tests {what}: {_names(missed)}."
        findings.append(Finding("tests_deleted", "critical", file.path, message, evidence=missed[0].text))
    if going := [case for case in lost if case not in missed]:
        tested = ", ".join(sorted({name for case in going for name in _mentioned_in(case, removed)})[:5])
        message = f"{len(going)} tests were deleted with {tested}, which the change removes: {_names(going)}."
        findings.append(Finding("tests_deleted", "major", file.path, message, evidence=going[0].text))
    return findings


def _mentioned_in(case: Case, names: set[str]) -> set[str]:
    """Return those of the names that a test's checks mention."""
    return names & set(_WORD.findall(" ".join(case.asserts)))


def _names(cases: Sequence[Case]) -> str:
    return ", ".join(case.name for case in cases[:10]) + (", …" if len(cases) > 10 else "")


def _compared(file: ChangedFile, old: Case | None, new: Case) -> list[Finding]:
    """Compare one test before and after."""
    if new.skipped and old is None:
        severity = "minor" if new.conditional else "major"
        return [Finding("tests_skipped", severity, file.path, f"{new.name} is skipped.", new.line, new.text)]
    if old is not None and (new.skipped, new.skips) > (old.skipped, old.skips):
        message = f"{new.name} ran before and is skipped now."
        return [Finding("tests_skipped", "critical", file.path, message, new.line, new.text)]
    if old is not None and (old.asserts, old.rows, old.text) == (new.asserts, new.rows, new.text):
        return []
    if not new.asserts and not new.skipped and (old is None or old.asserts):
        message = f"{new.name} checks nothing that could fail."
        return [Finding("asserts_nothing", "major", file.path, message, new.line, new.text)]
    return _weakened(file, old, new) if old is not None and not old.skipped else []


def _weakened(file: ChangedFile, old: Case, new: Case) -> list[Finding]:
    reason = weakened(old, new)
    if not reason:
        return []
    lost = [check for check in (*old.asserts, *old.rows) if check not in (*new.asserts, *new.rows)]
    gained = [check for check in (*new.asserts, *new.rows) if check not in (*old.asserts, *old.rows)]
    shown = "\n".join([*(f"- {check}" for check in lost[:6]), *(f"+ {check}" for check in gained[:6])])[
        :1_500
    ]
    severity = "major" if reason == CHANGED else "critical"
    message = f"{new.name} {reason}."
    return [Finding("tests_weakened", severity, file.path, message, new.line, shown[:1_500])]


def _skipped_by_only(file: ChangedFile) -> list[Finding]:
    """Report `it.only` and the like, which skip every other test of the file."""
    if language_of(file.path) != "javascript" or not is_test_file(file.path):
        return []
    for number, line in file.added():
        if _ONLY.search(line):
            message = "Every other test of the file is skipped."
            return [Finding("tests_skipped", "critical", file.path, message, number, evidence(line, 1))]
    return []


_TAGS = {
    "go": re.compile(r"^//\s*(?:go:build|\+build)\b"),
    "rust": re.compile(r"^\s*#!?\[cfg\((?!test\))"),
}


def _left_out(file: ChangedFile) -> list[Finding]:
    """Report existing tests that get a build tag, or a fixture or helper that skips them."""
    language = language_of(file.path)
    if file.before is None or file.after is None or not (file.cases_before() or is_test_file(file.path)):
        return []
    if language == "python":
        return _skipping_helpers(file)
    pattern = _TAGS.get(language)
    for number, line in file.added() if pattern else ():
        if pattern and pattern.search(line):
            message = "The tests of this file are built only under a condition now."
            return [Finding("tests_skipped", "critical", file.path, message, number, line.strip()[:300])]
    return []


def _skipping_helpers(file: ChangedFile) -> list[Finding]:
    before = helper_skips(file.before or "")
    for name, (count, line) in helper_skips(file.after or "").items():
        if count > before.get(name, (0, 0))[0]:
            message = f"{name} skips tests now."
            shown = evidence(file.after or "", line)
            return [Finding("tests_skipped", "critical", file.path, message, line, shown)]
    return []


def changed_tests(files: Sequence[ChangedFile]) -> set[str]:
    """Return the names of existing tests that the change edits, without their classes. A red test that was
    edited proves nothing when it turns green."""
    names = set[str]()
    for file in files:
        before = {case.name: case for case in file.cases_before()}
        for case in file.cases_after():
            old = before.get(case.name)
            if old is not None and (old.asserts, old.rows, old.skips) != (
                case.asserts,
                case.rows,
                case.skips,
            ):
                names.add(_last(case))
    return names


def removed_tests(files: Sequence[ChangedFile]) -> set[str]:
    """Return the names of tests that may be missing after the change: renamed with the same checks, or
    deleted with the code that they tested."""
    arrived = [case for file in files for case in _only_in(file.cases_after(), file.cases_before())]
    lost = [case for file in files for case in _only_in(file.cases_before(), file.cases_after())]
    removed = removed_names(files)
    return {_last(case) for case in lost if _is_elsewhere(case, arrived) or _mentioned_in(case, removed)}
