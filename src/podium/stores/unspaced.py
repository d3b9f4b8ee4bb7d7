"""Words of writings that put no spaces between them."""

from __future__ import annotations

import re

_UNSPACED = re.compile("([\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f])")
"""Letters of writings that put no spaces between words; each counts as a word of its own."""


def spaced(text: str) -> str:
    """A text in which each of these letters stands alone."""
    return text if text.isascii() else _UNSPACED.sub(r" \1 ", text)
