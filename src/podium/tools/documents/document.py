"""Document, decoding."""

from __future__ import annotations

import re
from datetime import datetime
from email.utils import parsedate_to_datetime

import msgspec

MAX_CHARACTERS = 2_000_000
"""Of one document's text; what lies behind is not kept, and that is told."""
MAX_AUTHORS = 50

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\ufffe\uffff]")
_DATE = re.compile(r"(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?!\d)")


class Document(msgspec.Struct, frozen=True):
    """What can be read of a file or a page."""

    text: str
    title: str = ""
    published: str = ""
    """ISO date, as exact as it is known; empty: it does not say."""
    authors: tuple[str, ...] = ()
    cut: bool = False
    """There was more than is kept."""


def kept(
    text: str, title: str = "", published: object = "", authors: list[str] | None = None, *, cut: bool = False
) -> Document:
    """A document in the form in which every reader finds it: clean, bounded, its facts in one shape."""
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
    """A value as one line of at most so many characters."""
    return " ".join(clean_text(str(value or "")[: limit * 4]).split())[:limit]


def iso_date(value: object) -> str:
    """The date in what a document says, as `2024`, `2024-05` or `2024-05-17`; empty when there is none."""
    text = line(value, 100)
    if found := _DATE.match(text):
        return _checked(found)
    try:
        return parsedate_to_datetime(text).date().isoformat() if text else ""
    except ValueError:  # no date of a letter either
        return ""


def _checked(found: re.Match[str]) -> str:
    """Only as much of a date as exists: 2024-13-45 tells no more than the year."""
    year, month, day = found[1], found[2], found[3]
    for shape, parts in (("%Y-%m-%d", (year, month, day)), ("%Y-%m", (year, month)), ("%Y", (year,))):
        if None in parts:
            continue
        try:
            return datetime.strptime("-".join(parts), shape).strftime(shape)
        except ValueError:  # try less of it
            continue
    return ""


def decoded(data: bytes) -> str:
    """By its mark, by what a page says in its head, as UTF-8, or as older files are."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:  # another one, then; in the last every byte means something
        try:
            return data.decode(charset_inside(data) or "cp1252", "replace")
        except (LookupError, UnicodeError):  # it names one that does not exist
            return data.decode("cp1252", "replace")


def charset_inside(body: bytes) -> str:
    """The encoding that a document names itself, by its mark or in its head; empty: none."""
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    found = re.search(rb"<meta[^>]{0,200}charset=[\"']?([\w.:-]{1,40})", body[:2048], re.IGNORECASE)
    return found[1].decode("ascii", "replace") if found else ""
