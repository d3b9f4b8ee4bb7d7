"""What a program can hold against a change, whatever its author says about it.

Finding suspicious things is the business of `podium.tools.testing`; here is decided which of them close the
code gate at once, and which are only shown to the supervisor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

CLOSES = {
    "no_tests": "major",
    "asserts_nothing": "major",
    "outside_step": "major",
    "tests_skipped": "major",
    "tests_deleted": "critical",
    "tests_weakened": "critical",
    "test_setup_changed": "critical",
}
"""Kinds of findings, and from which severity on they close the gate. A goal may well change what a test
expects or how tests are set up, and a special case may be what was asked for: those are told, not refused."""
SEVERITIES = ("minor", "major", "critical")

SECRETS = (
    (re.compile(r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY-----"), "a private key"),
    (re.compile(r"\bAKIA[0-9A-Z]{16}\b"), "an access key of a cloud"),
    (re.compile(r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"), "an access token of a code host"),
    (re.compile(r"\bsk-(?:ant-|proj-)?[A-Za-z0-9_-]{32,}\b"), "a key of a model provider"),
)
"""What must never be committed."""


def closes_the_gate(kind: str, severity: str) -> bool:
    least = CLOSES.get(kind)
    return least is not None and SEVERITIES.index(severity) >= SEVERITIES.index(least)


def is_worth_telling(kind: str, severity: str) -> bool:
    """What the supervisor is shown. Every step may change tests, whatever files it names."""
    return not closes_the_gate(kind, severity) and (kind, severity) != ("outside_step", "minor")


def secrets_in(contents: Mapping[str, str], before: Mapping[str, str] | None = None) -> list[str]:
    """Critical by rule: things that nobody may put into a repository. What stood in the file `before` is not
    this change's doing."""
    known = before or {}
    return [
        f"{what} in {path}"
        for path, text in contents.items()
        for sign, what in SECRETS
        if any(found[0] not in known.get(path, "") for found in sign.finditer(text))
    ]
