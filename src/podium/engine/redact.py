"""Keys never reach the log: they are cut out of the bytes before anything is stored or shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

from podium.engine.codec import encode

Redact = Callable[[bytes], bytes]

MARK = b"[redacted]"
SHORTEST = 8
"""What is shorter is no key: too many ordinary words would be cut out."""

_GITHUB = (b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_")
"""Every other English text holds a `gh`."""

_FORMATS = {
    (b"sk-",): rb"sk-[A-Za-z0-9_\-]{20,}",  # OpenAI, Anthropic, OpenRouter
    (b"gsk_",): rb"gsk_[A-Za-z0-9]{20,}",  # Groq
    (b"AIza",): rb"AIza[0-9A-Za-z_\-]{30,}",  # Google
    (b"AKIA",): rb"AKIA[0-9A-Z]{16}",  # AWS access key id
    _GITHUB: rb"gh[pousr]_[A-Za-z0-9]{30,}",  # GitHub
    (b"xoxb-", b"xoxa-", b"xoxp-", b"xoxr-", b"xoxs-"): rb"xox[baprs]-[A-Za-z0-9\-]{10,}",  # Slack
    (b"tvly-",): rb"tvly-[A-Za-z0-9\-]{16,}",  # Tavily
}
"""What keys of well-known services look like, by their beginnings: to look for these costs next to
nothing, while a pattern over a long text costs seconds."""

_BEGINNING = rb"(?:(?<![A-Za-z0-9])|(?<=\\[bfnrt])|(?<=\\u00[01][0-9a-f]))"
"""Not in the middle of a word; the `n` of a line break that JSON writes as `\\n` is no word."""
_PATTERNS = [(starts, re.compile(_BEGINNING + form)) for starts, form in _FORMATS.items()]


_DASH, _LINE, _CAPITAL = b"-_A"
"""As numbers: a byte is found six times faster by its number than by its text."""

_dashed = re.compile(rb"-(?:(?<=sk-)|(?<=tvly-)|(?<=xox[baprs]-))").search
_lined = re.compile(rb"_(?:(?<=gsk_)|(?<=gh[pousr]_))").search
_capital = re.compile(rb"A(?:Iza|KIA)").search
"""A beginning of a key, found by its rarest character: most events hold none of the three, and most of those
that do hold few. To look for each beginning by itself takes three times as long."""


def redactor(secrets: Iterable[str] = ()) -> Redact:
    """Replaces known secrets, and whatever looks like a well-known key, by a mark.

    It sees every byte that is logged, so it first looks for a beginning, which costs next to nothing.
    """
    forms: set[bytes] = set()
    for secret in secrets:
        if len(secret) >= SHORTEST:
            forms |= {secret.encode("utf-8", "replace"), encode(secret)[1:-1]}  # as it is, and in JSON
    known = [(secret, _mark(secret)) for secret in sorted(forms, key=len, reverse=True)]

    def redact(data: bytes) -> bytes:
        for secret, mark in known:
            if secret in data:
                data = data.replace(secret, mark)
        if (
            (_DASH in data and _dashed(data))
            or (_LINE in data and _lined(data))
            or (_CAPITAL in data and _capital(data))
        ):
            return _without_keys(data)
        return data

    return redact


def _without_keys(data: bytes) -> bytes:
    for starts, pattern in _PATTERNS:
        if any(start in data for start in starts):
            data = pattern.sub(MARK, data)
    return data


def _mark(secret: bytes) -> bytes:
    """What stands in the place of a secret. One that could be a number may stand in JSON as a number."""
    return re.sub(rb"\d", b"9", secret) if re.fullmatch(rb"[-+.eE\d]+", secret) else MARK


@lru_cache(maxsize=4096)
def clean_name(name: str, redact: Redact) -> str:
    """A name as a path may hold it: without keys and without lone surrogates."""
    return redact(name.encode("utf-8", "backslashreplace")).decode("utf-8", "replace")
