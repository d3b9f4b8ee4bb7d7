"""Known secrets and well-known formats are cut out; what only looks similar is left alone."""

from __future__ import annotations

import pytest

from podium.engine.codec import encode
from podium.engine.redaction import redactor


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
    assert redactor()(f'{{"text":"use {key}!"}}'.encode()) == b'{"text":"use [redacted]!"}'


def test_known_values_are_cut_out_wherever_they_stand() -> None:
    redact = redactor(["hunter2-hunter2", "short", "hunter2-hunter2-longer"])
    assert redact(b"a hunter2-hunter2-longer b hunter2-hunter2c short") == b"a [redacted] b [redacted]c short"


@pytest.mark.parametrize(
    "text", [b"task-oriented-programming-in-practice", b"the ghost of xoxo", b"risk-free"]
)
def test_ordinary_words_stay(text: bytes) -> None:
    assert redactor()(text) == text


def test_a_value_is_found_as_json_writes_it() -> None:
    secret = 'pass"word\\with\nmarks'
    redact = redactor([secret])
    assert encode({"a": secret}) != b'{"a":"[redacted]"}'
    assert redact(encode({"a": secret})) == b'{"a":"[redacted]"}'
    assert redact(secret.encode()) == b"[redacted]"


def test_a_value_of_broken_text_is_no_error() -> None:
    assert redactor(["not-utf8-\udcff-value"])(b"not-utf8-?-value") == b"[redacted]"


@pytest.mark.parametrize("before", ["", "key: ", "line\n", "tab\t", "\x1f", "(", '"'])
def test_a_key_is_found_at_the_beginning_of_any_line(before: str) -> None:
    key = "sk-proj-abcdefghijklmnopqrstuvwx"
    assert key.encode() not in redactor()(encode({"text": f"{before}{key}"}))
    assert key.encode() not in redactor()(f"{before}{key}".encode())


def test_a_secret_of_digits_leaves_json_behind() -> None:
    assert redactor(["1234567890"])(b'{"n":1234567890,"text":"pin 1234567890"}') == (
        b'{"n":9999999999,"text":"pin 9999999999"}'
    )


def test_a_long_ordinary_text_is_only_looked_through() -> None:
    """Words with a `gh` in them are everywhere in English; they must not wake the patterns."""
    text = b"Through the night we thought of the right height. " * 100
    assert redactor()(text) is text
