"""Keys never reach the log: they are cut out of the bytes before anything is stored or shown."""

from __future__ import annotations

import re
from collections.abc import Iterable

MARK = b"[redacted]"

_FORMATS = (
    rb"sk-[A-Za-z0-9_\-]{20,}",  # OpenAI, Anthropic, OpenRouter
    rb"gsk_[A-Za-z0-9]{20,}",  # Groq
    rb"AIza[0-9A-Za-z_\-]{30,}",  # Google
    rb"AKIA[0-9A-Z]{16}",  # AWS access key id
    rb"gh[pousr]_[A-Za-z0-9]{30,}",  # GitHub
    rb"xox[baprs]-[A-Za-z0-9\-]{10,}",  # Slack
    rb"tvly-[A-Za-z0-9\-]{16,}",  # Tavily
)
"""What keys of well-known services look like."""


class Redactor:
    """Replaces known secrets, and whatever looks like a well-known key, by a mark."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        known = sorted(
            {re.escape(secret.encode()) for secret in secrets if len(secret) >= 8}, key=len, reverse=True
        )
        self._known = re.compile(b"|".join(known)) if known else None
        self._formats = re.compile(rb"(?<![A-Za-z0-9])(?:" + b"|".join(_FORMATS) + rb")")

    def __call__(self, data: bytes) -> bytes:
        if self._known is not None:
            data = self._known.sub(MARK, data)
        return self._formats.sub(MARK, data)
