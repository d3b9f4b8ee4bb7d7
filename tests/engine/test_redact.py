"""Known secrets and well-known formats are cut out; what only looks similar is left alone."""

from __future__ import annotations

import pytest

from podium.engine.redact import Redactor


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdefghijklmnopqrstuvwx",
        "sk-ant-api03-abcdefghijklmnopqrst",
        "gsk_abcdefghijklmnopqrstuvwxyz",
        "AIzaSyA1234567890abcdefghijklmnopqrstu",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "xoxb-123456789012-abc",
        "tvly-abcdefghijklmnop",
    ],
)
def test_keys_of_well_known_services_are_recognised(key: str) -> None:
    assert Redactor()(f'{{"text":"use {key}!"}}'.encode()) == b'{"text":"use [redacted]!"}'


def test_known_values_are_cut_out_wherever_they_stand() -> None:
    redact = Redactor(["hunter2-hunter2", "short", "hunter2-hunter2-longer"])
    assert redact(b"a hunter2-hunter2-longer b hunter2-hunter2c short") == b"a [redacted] b [redacted]c short"


@pytest.mark.parametrize(
    "text", [b"task-oriented-programming-in-practice", b"the ghost of xoxo", b"risk-free"]
)
def test_ordinary_words_stay(text: bytes) -> None:
    assert Redactor()(text) == text
