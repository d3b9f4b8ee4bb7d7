"""Document structure and text decoding."""

from __future__ import annotations

import re
from datetime import datetime
from email.utils import parsedate_to_datetime

import msgspec

MAX_CHARACTERS = 2_000_000
"""Maximum characters of one document's text. The rest is dropped and `cut` is set."""
MAX_AUTHORS = 50

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?!\d)")


class Document(msgspec.Struct, frozen=True):
    """The readable content of a file or page."""

    text: str
    title: str = ""
    published: str = ""
    """ISO date, as precise as known; empty if unknown."""
    authors: tuple[str, ...] = ()
    cut: bool = False
    """The text was longer and is truncated."""


def kept(
    text: str, title: str = "", published: object = "", authors: list[str] | None = None, *, cut: bool = False
) -> Document:
    """Build a document from raw values: clean text, bounded lengths, normalized date and authors."""
    clean = clean_text(text)
    names = [name for author in (authors or [])[:MAX_AUTHORS] if (name := line(author, 200))]
    return Document(
        clean[:MAX_CHARACTERS],
        line(title, 300),
        iso_date(published),
        tuple(dict.fromkeys(names)),
        cut or len(clean) > MAX_CHARACTERS,
    )


def clean_text(text: str) -> str:
    """Text without control characters and lone surrogates, its lines ended by `\\n`."""
    whole = text.replace("\r\n", "\n").replace("\r", "\n")
    if not whole.isascii():
        whole = whole.encode("utf-8", "replace").decode("utf-8")
    return _CONTROLS.sub("", whole).strip()


def line(value: object, limit: int) -> str:
    """Return a value as one line of at most `limit` characters."""
    return " ".join(clean_text(str(value or "")[: limit * 4]).split())[:limit]


def iso_date(value: object) -> str:
    """Return the date in a value as `2024`, `2024-05` or `2024-05-17`; empty if there is none."""
    text = line(value, 100)
    if match := _DATE.match(text):
        return _checked(match)
    try:
        return parsedate_to_datetime(text).date().isoformat() if text else ""
    except ValueError:  # not an RFC 2822 date either
        return ""


def _checked(match: re.Match[str]) -> str:
    """Return the valid part of a date: 2024-13-45 yields only the year."""
    year, month, day = match[1], match[2], match[3]
    for shape, parts in (("%Y-%m-%d", (year, month, day)), ("%Y-%m", (year, month)), ("%Y", (year,))):
        if None in parts:
            continue
        try:
            return datetime.strptime("-".join(parts), shape).strftime(shape)
        except ValueError:  # try a shorter form
            continue
    return ""


def decoded(data: bytes) -> str:
    """Decode by BOM, as UTF-8, by the charset in an HTML head, or as cp1252."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:  # another encoding; cp1252 is the last resort
        try:
            return data.decode(charset_inside(data) or "cp1252", "replace")
        except (LookupError, UnicodeError):  # unknown encoding
            return data.decode("cp1252", "replace")


def charset_inside(body: bytes) -> str:
    """Return the encoding that a document declares by BOM or in its HTML head; empty if none."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    match = re.search(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]{1,40})", body[:2048], re.IGNORECASE)
    return match[1].decode("ascii", "replace") if match else ""
