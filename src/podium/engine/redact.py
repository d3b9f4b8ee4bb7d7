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
"""What keys of well-known services look like; `Redactor` looks for their beginnings first."""

_PATTERNS = [re.compile(rb"(?<![A-Za-z0-9])" + form) for form in _FORMATS]


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
        if (
            b"sk-" in data or b"gsk_" in data or b"AIza" in data or b"AKIA" in data
            or b"gh" in data or b"xox" in data or b"tvly-" in data
        ):  # fmt: skip
            for pattern in _PATTERNS:
                data = pattern.sub(MARK, data)
        return data
