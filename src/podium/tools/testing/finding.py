"""What a program finds suspicious in a change; plain data."""

from __future__ import annotations

from typing import Literal

import msgspec

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
    """One suspicion with its evidence: the supervisor judges, the report tells."""

    kind: Kind
    severity: Severity
    path: str
    message: str
    """One sentence."""
    line: int = 0
    """In the file as it is after the change; 0: the whole file, or one that is gone."""
    evidence: str = ""
    """The lines that it is about."""
