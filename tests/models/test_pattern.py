"""Strings for the patterns that people write into schemas."""

from __future__ import annotations

import itertools
import re

import pytest

from podium.models.sample_values import matching

PATTERNS = [
    r"^[A-Z]{2}-\d{4}$", r"^(red|green|blue)$", r"\w+@\w+\.(com|org)", r"^[^/\s]{3,8}$", r"^a.c$", r"^\S+$",
    r"^(?:[0-9a-f]{8})(?:-[0-9a-f]{4}){3}$", r"^x*y+z?$", r"^[\w.-]+/[\w.-]+$", r"^(?P<year>20\d\d)-[01]\d$",
    r"^\D\W\S$", r"^(?!0)\d+$", r"", r"^é[à-ü]$", r"^(?i:abc)$", r"^\d+(?:\.\d{2})?$", r"^(?>ab)c++$",
    r"^[^a]$",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_match_is_built(pattern: str) -> None:
    counter = itertools.count()
    text = matching(pattern, lambda most: next(counter) * 7 % most, lambda _: True)
    assert text is not None
    assert re.search(pattern, text)


def test_other_rules_are_met_too() -> None:
    counter = itertools.count()
    matched = matching(r"^[a-z]+$", lambda most: next(counter) * 7 % most, lambda text: len(text) >= 20)
    assert matched is not None
    assert len(matched) >= 20


@pytest.mark.parametrize("pattern", [r"^(a)(?=b)$", r"(", r"^\b$x", r"^(a)\1\1$"])
def test_what_cannot_be_built_is_given_up(pattern: str) -> None:
    assert matching(pattern, lambda most: 0, lambda _: True) is None
