"""Changed files and findings."""

from __future__ import annotations

import difflib
from typing import Literal

import msgspec

from podium.tools.testing.cases import Case, cases_of

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
        return cases_of(self.path, self.after or "") or []

    def added(self) -> list[tuple[int, str]]:
        """Return the added lines with their numbers."""
        return [(line, text) for line, text in _added(self.before or "", self.after or "")]

    def removed(self) -> list[str]:
        """Return the removed lines."""
        return [text for _, text in _added(self.after or "", self.before or "")]


def _added(old: str, new: str) -> list[tuple[int, str]]:
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=len(before) + len(after) > 2_000)
    found = list[tuple[int, str]]()
    for kind, _, _, start, end in matcher.get_opcodes():
        if kind in ("replace", "insert"):
            found += [(number + 1, after[number]) for number in range(start, end)]
    return found


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
