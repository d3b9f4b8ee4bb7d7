"""Which addresses of sources may be opened: pages of the web, and nothing else."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_UNSAFE = re.compile(r"[\s<>\"'`\\\x00-\x20\x7f-\x9f]|[^\x21-\x7e]")
LONGEST = 2_000


def web_address(url: str) -> str:
    """The address if it is one of the web and can stand in a page and in Markdown as it is; else nothing."""
    url = url.strip()
    if len(url) > LONGEST:
        return ""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return ""
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc:
        return ""
    return _UNSAFE.sub(_quoted, url)


def _quoted(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode("utf-8", "replace"))


def site_of(url: str) -> str:
    """The name of the place that a page is from."""
    try:
        host = urlsplit(url).hostname if web_address(url) else ""
    except ValueError:
        return ""
    return (host or "").removeprefix("www.")
