"""Forms in which a known secret may stand in a text: as it is, escaped, or encoded."""

from __future__ import annotations

import html
import json
import re
from base64 import b64encode
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

from podium.engine.codec import encode


def forms_of(secret: str) -> set[bytes]:
    """Return all forms of a secret that are searched for."""
    plain = secret.encode("utf-8", "replace")
    text = plain.decode()
    forms = {plain, plain.hex().encode(), plain.hex().upper().encode()}
    forms.update(form.encode() for form in _escaped(text))
    forms.update(_base64(plain))
    return forms


def _escaped(text: str) -> Iterator[str]:
    """Yield the text as JSON, HTML and URLs write it."""
    in_json = encode(text)[1:-1].decode()
    yield in_json
    yield encode(in_json)[1:-1].decode()  # JSON in JSON
    yield in_json.replace("/", r"\/")
    yield json.dumps(text)[1:-1]
    yield html.escape(text)
    yield html.escape(text).replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    for in_url in (quote(text, safe=""), quote(text), quote_plus(text), _percents(text)):
        yield in_url
        yield re.sub("%[0-9A-F]{2}", lambda found: found[0].lower(), in_url)


def _percents(text: str) -> str:
    return "".join(f"%{byte:02X}" for byte in text.encode())


def _base64(plain: bytes) -> Iterator[bytes]:
    """Yield the characters that depend on the secret alone, for each place in a group of three bytes."""
    for before in range(3):
        core = b64encode(bytes(before) + plain)[(0, 2, 3)[before] : (before + len(plain)) * 8 // 6]
        yield core
        yield core.translate(_URL_SAFE)


_URL_SAFE = bytes.maketrans(b"+/", b"-_")
