"""Keys never reach the log: they are cut out of the bytes before anything is stored or shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = b"[redacted]"

_FORMATS = {
    b"sk-": rb"sk-[A-Za-z0-9_\-]{20,}",  # OpenAI, Anthropic, OpenRouter
    b"gsk_": rb"gsk_[A-Za-z0-9]{20,}",  # Groq
    b"AIza": rb"AIza[0-9A-Za-z_\-]{30,}",  # Google
    b"AKIA": rb"AKIA[0-9A-Z]{16}",  # AWS access key id
    b"gh": rb"gh[pousr]_[A-Za-z0-9]{30,}",  # GitHub
    b"xox": rb"xox[baprs]-[A-Za-z0-9\-]{10,}",  # Slack
    b"tvly-": rb"tvly-[A-Za-z0-9\-]{16,}",  # Tavily
}
"""What keys of well-known services look like, by how they begin."""

_PATTERNS = [(start, re.compile(rb"(?<![A-Za-z0-9])" + form)) for start, form in _FORMATS.items()]


class Redactor:
    """Replaces known secrets, and whatever looks like a well-known key, by a mark.

    It sees every byte that is logged, so it first looks for a beginning, which costs next to nothing.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = {secret.encode() for secret in secrets if len(secret) >= 8}
        self._known = sorted(known, key=len, reverse=True)

    def __call__(self, data: bytes) -> bytes:
        for secret in self._known:
            if secret in data:
                data = data.replace(secret, MARK)
        for start, pattern in _PATTERNS:
            if start in data:
                data = pattern.sub(MARK, data)
        return data
