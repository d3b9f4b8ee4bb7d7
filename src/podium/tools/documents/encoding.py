"""Bytes as text, in the encoding that they are in."""

from __future__ import annotations

import re


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
