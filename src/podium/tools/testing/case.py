"""One test as it stands in a file."""

from __future__ import annotations

import msgspec


class Case(msgspec.Struct, frozen=True):
    """One test."""

    name: str
    """With its class: `TestA.test_b`."""
    line: int
    asserts: list[str]
    """What it checks, as text with even spaces; checks that cannot fail are left out."""
    skipped: bool
    text: str
    """Its first lines, as evidence."""


def evidence(text: str, line: int, count: int = 12) -> str:
    """Some lines from `line` on, bounded."""
    return "\n".join(text.splitlines()[line - 1 : line - 1 + count])[:1_000]
