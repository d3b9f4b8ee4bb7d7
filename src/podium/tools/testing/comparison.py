"""Comparison of two test runs: before a change and after it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

import msgspec

from podium.tools.testing.report import TestReport

_SHOWN = 5
_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)
_SEPARATORS = ("::", " > ")


class Comparison(msgspec.Struct, frozen=True):
    """Differences between the test runs before and after a change. Names are sorted."""

    new_failures: list[str] = []
    """Fail now, and passed, were skipped or did not exist before."""
    still_failing: list[str] = []
    """Failed before and fail now; never blamed on the change."""
    fixed: list[str] = []
    """Failed before and pass now."""
    missing: list[str] = []
    """Existed before and are not collected any more."""
    newly_skipped: list[str] = []
    """Ran before and are skipped now."""
    fewer: int = 0
    """How many fewer tests were collected, if names do not explain it."""
    broken: str = ""
    """Why the run itself failed, if no failing test explains it; one sentence."""

    @property
    def ok(self) -> bool:
        """True if the change broke nothing. Tests that failed before may still fail."""
        return not self.problems()

    def problems(self) -> list[str]:
        """Return why the change cannot be accepted, one phrase each; empty if it can."""
        problems = [
            f"{len(names)} {'test' if len(names) == 1 else 'tests'} {what}: {_listed(names)}"
            for names, what in (
                (self.new_failures, "fail since the change"),
                (self.missing, "no longer collected"),
                (self.newly_skipped, "skipped since the change"),
            )
            if names
        ]
        if self.fewer:
            problems.append(f"{self.fewer} fewer tests are collected than before the change")
        return [*problems, self.broken] if self.broken else problems


def _listed(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def compare(before: TestReport, after: TestReport, *, removed: Collection[str] = ()) -> Comparison:
    """Compare two runs of the same command. `removed` names test functions that may be missing, because the
    change removes or renames them with good reason."""
    failed_before, failed = set(before.failed_tests), set(after.failed_tests)
    ran_before, ran = set(before.tests) | failed_before, set(after.tests) | failed
    skipped = set(after.skipped_tests)
    known_before, known = ran_before | set(before.skipped_tests), ran | skipped
    added, gone, passed = known - known_before, known_before - known, ran - failed
    complete = _is_complete(after)
    fewer_cases = _cases(known_before) - _cases(known)
    missing = {
        name
        for name in gone
        if complete and _without_case(name) in fewer_cases and not _is_explained(name, added, failed, removed)
    }
    worse, better = _cases(failed) - _cases(failed_before), _cases(failed_before) - _cases(failed)
    new_failures = {name for name in failed - failed_before if _without_case(name) in worse}
    fixed = {
        name
        for name in failed_before
        if name in passed
        or (name in gone and (_collected(name, passed) or _is_renamed(name, passed, better)))
    }
    fewer = max(0, before.total - after.total) if before.counted and after.counted else 0
    return Comparison(
        new_failures=sorted(new_failures),
        still_failing=sorted(failed - new_failures),
        fixed=sorted(fixed),
        missing=sorted(missing),
        newly_skipped=sorted(skipped & ran_before),
        fewer=0 if complete and gone else fewer,
        broken=_broken(before, after),
    )


def _cases(names: Collection[str]) -> Counter[str]:
    """Return how many cases each test has. A new case of a parametrized test may rename the others."""
    return Counter(map(_without_case, names))


def _is_renamed(name: str, passed: set[str], better: Collection[str]) -> bool:
    """Return True if a case of a parametrized test that failed has another name now, and fewer cases fail."""
    test = _without_case(name)
    return test != name and test in better and any(_without_case(other) == test for other in passed)


def _without_case(name: str) -> str:
    return _PARAMETERS.sub("", name)


def _is_explained(name: str, added: set[str], failed: set[str], removed: Collection[str]) -> bool:
    """Return True if a test that is gone was moved or removed with reason, or if its whole file broke or was
    repaired, which the file's own entry says."""
    if _function(name) in removed or any(_last(other) == _last(name) for other in added):
        return True
    return _collected(name, added) or any(name.startswith(_inner(file)) for file in failed)


def _collected(file: str, names: set[str]) -> bool:
    """Return True if `names` has tests of a file or package that could not be collected before."""
    return any(name.startswith(_inner(file)) for name in names)


def _inner(file: str) -> tuple[str, ...]:
    return (*(file + separator for separator in _SEPARATORS), f"{file}.")


def _last(name: str) -> str:
    """Return the name without its file and class."""
    for separator in _SEPARATORS:
        if separator in name:
            return name.rpartition(separator)[2]
    return name


def _function(name: str) -> str:
    return _PARAMETERS.sub("", _last(name))


def _is_complete(report: TestReport) -> bool:
    """Return True if the report names every test, so that a name that is not there is really missing."""
    names = len(report.tests) + len(report.skipped_tests)
    return not report.counted or names >= report.total - report.errors


def _broken(before: TestReport, after: TestReport) -> str:
    """Return the reason of a failed run that its tests do not explain. Failing in the same way before the
    change is no excuse if the results are unknown."""
    if after.ok or after.failed_tests:
        return ""
    same = before.reason == after.reason and after.counted and not after.timed_out and bool(after.passed)
    return "" if same else after.reason or "the tests did not run"
