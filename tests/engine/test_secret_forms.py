"""A known secret is cut out in every form in which it may stand in a text."""

from __future__ import annotations

import html
import json
import textwrap
from base64 import b64encode, urlsafe_b64encode
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from podium.engine.codec import decode, encode
from podium.engine.redaction import redactor

SECRETS = ["wJalrXUtnFEMI/K7MDENG+bPxRfiCYzz", "p\"ä\\ss&<w>örd'7", "hunter2-hunter2", "x" * 8]


def test_base64_at_every_place() -> None:
    for secret in SECRETS:
        for before in ["", "a", "ab", "user:"]:
            for after in ["", "!", "@host"]:
                whole = f"{before}{secret}{after}".encode()
                for encoded in (b64encode(whole), urlsafe_b64encode(whole)):
                    for text in (encoded, encoded.rstrip(b"=")):
                        clean = redactor([secret])(b"value " + text)
                        assert b"[redacted]" in clean
                        assert len(clean) < len(b"value [redacted]") + len(before) * 2 + len(after) * 2 + 5


@pytest.mark.parametrize("secret", SECRETS)
def test_escaped_and_encoded_forms(secret: str) -> None:
    plain = secret.encode()
    forms = {
        "plain": secret,
        "json": encode(secret)[1:-1].decode(),
        "json of ascii": json.dumps(secret)[1:-1],
        "json in json": encode(encode(secret)[1:-1].decode())[1:-1].decode(),
        "html": html.escape(secret),
        "hex": plain.hex(),
        "hex in capitals": plain.hex().upper(),
        "url": quote(secret, safe=""),
        "path": quote(secret),
        "form": quote_plus(secret),
        "url in small letters": quote(secret, safe="").replace("%2F", "%2f").replace("%2B", "%2b"),
        "all percents": "".join(f"%{byte:02X}" for byte in plain),
    }
    redact = redactor([secret])
    for name, form in forms.items():
        clean = redact(f"<{form}>".encode())
        assert clean == b"<[redacted]>" or set(clean) <= set(b"<>9"), name
        assert secret not in redact(encode({"text": form})).decode(), name


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\n    ", "=\n"])
def test_a_secret_that_a_line_break_splits(line_break: str) -> None:
    secret = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYzz-0123456789"
    redact = redactor([secret])
    for place in range(1, len(secret)):
        text = f"key: {secret[:place]}{line_break}{secret[place:]}."
        assert redact(text.encode()) == b"key: [redacted]."
        assert decode(redact(encode({"text": text}))) == {"text": "key: [redacted]."}


def test_base64_in_lines_of_76_characters() -> None:
    for before in range(0, 76, 5):
        secret = "wJalrXUtnFEMI-K7MDENG-bPxRfiCYzz-0123456789" * 3
        lines = textwrap.wrap(b64encode(("." * before + secret + " last").encode()).decode(), 76)
        clean = redactor([secret])("\n".join(lines).encode())
        assert len(clean) < before * 2 + 40


def test_json_that_holds_the_value_of_a_variable_stays_json() -> None:
    secret = '{"type":"service_account","id":"4711"}'
    assert json.loads(redactor([secret])(b'{"a":{"type":"service_account","id":"4711"},"b":1}'))["b"] == 1


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("nabcdefgh", "line\nabcdefgh"),
        ("u0001abcdef", "\x01abcdef"),
        ('a","b":"c', {"x": "a", "b": "c"}),
        ('long\\"', 'very long\\"'),
        ("1e345678", [12, "1e345678"]),
    ],
)
def test_a_match_across_an_escape_leaves_json_behind(secret: str, text: Any) -> None:
    assert isinstance(decode(redactor([secret])(encode(text))), type(text))


def test_a_key_after_an_escape_leaves_json_behind() -> None:
    text = "\npm_" + "a1" * 18  # in JSON the line break and the text read as `npm_…`
    assert decode(redactor()(encode({"text": text}))) is not None


def test_the_mark_is_no_secret() -> None:
    assert redactor(["redacted", "[redacted]"])(b"x [redacted] y") == b"x [redacted] y"


texts = st.text(max_size=30)
documents = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.lists(st.text(min_size=8, max_size=30), min_size=1, max_size=3))
def test_json_stays_json_and_a_second_time_changes_nothing(data: st.DataObject, secrets: list[str]) -> None:
    pieces = st.one_of(texts, st.sampled_from(secrets), st.sampled_from([s[1:] for s in secrets]))
    held = data.draw(st.lists(st.lists(pieces, max_size=3).map("".join), max_size=4))
    document = [data.draw(documents), held]
    redact = redactor(secrets)
    once = redact(encode(document))
    assert redact(once) == once
    assert len(decode(once)) == 2
