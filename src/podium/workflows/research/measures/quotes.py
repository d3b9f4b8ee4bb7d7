"""Where a quotation stands in a source, whatever became of its spaces, quote marks, hyphens and capitals.

Both texts are read as a row of plain words; the row of the quotation is looked for in that of the source. So
a match begins and ends at a word, and nothing takes longer than reading both texts once.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from functools import lru_cache
from typing import NamedTuple

from podium.workflows.research.measures.words import ALONE

_UNSEEN = "\u00ad\u200b-\u200d\u2060\ufeff"
_LETTER = rf"[^\W_{ALONE}]|[\u0300-\u036f{_UNSEEN}]"
_TOKEN = re.compile(
    rf"[{ALONE}]"
    rf"|(?:{_LETTER})+(?:(?:[-\u2010\u2011]\s{{0,40}}|['’ʼ]|(?<=\d)[.,](?=\d))(?:{_LETTER})+)*"
    r"|[%‰$€£¥°+]"
)
"""A word with its hyphens and apostrophes, also over the end of a line; a number; a sign with a meaning."""
_DROPPED = re.compile(rf"[{_UNSEEN}'’ʼ]|(?<=\d),(?=\d\d\d(?!\d))")
_HYPHEN = re.compile(r"[-\u2010\u2011]\s*")
_GAP = re.compile(r"\s*(?:\[\s*(?:…|\.\.\.)\s*\]|…|\.\.\.)\s*")
MOST_GAPS = 6
WIDEST_GAP = 1_500
"""Characters that a quotation with `…` may leave out at one place."""
LONGEST = 20_000
"""Characters of a quotation; more is no quotation."""


class _Row(NamedTuple):
    """A text as plain words with a space around each, and where each word stands in it."""

    plain: str
    places: array[int]
    """Where each word begins in `plain`."""
    starts: array[int]
    ends: array[int]


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Where the quotation begins and ends in the text, in characters; `None`: it is not there.

    A quotation with `…` stands for everything from its first words to its last, if all its parts follow each
    other closely.
    """
    quote = quote[:LONGEST].strip()
    at = text.find(quote) if quote else -1
    if at >= 0 and any(map(str.isalnum, quote)) and _is_whole(text, at, at + len(quote)):
        return at, at + len(quote)
    parts = [part for part in (_row(one).plain for one in _GAP.split(quote, MOST_GAPS)) if part.strip()]
    if not parts:
        return None
    row = _kept_row(text)
    found = _find(parts, row)
    return None if found is None else _place(row, *found)


def parts_of(quote: str) -> list[str]:
    """Return the parts of a quotation that leaves something out; empty if it leaves out nothing."""
    parts = [one.strip() for one in _GAP.split(quote[:LONGEST], MOST_GAPS)]
    return [one for one in parts if any(map(str.isalnum, one))] if len(parts) > 1 else []


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether a place does not begin or end within a word."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not ((before.isalnum() and text[start].isalnum()) or (after.isalnum() and text[end - 1].isalnum()))


def _find(parts: list[str], row: _Row) -> tuple[int, int] | None:
    """The first place where all parts follow each other, in `plain`."""
    begin, tried = row.plain.find(parts[0]), 0
    while begin >= 0 and tried < 20:
        end = begin + len(parts[0])
        for part in parts[1:]:
            at = row.plain.find(part, end - 1, end + WIDEST_GAP + len(part))
            end = at + len(part) if at >= 0 else -1
            if at < 0:
                break
        if end >= 0:
            return begin, end
        begin, tried = row.plain.find(parts[0], begin + 1), tried + 1
    return None


def _place(row: _Row, begin: int, end: int) -> tuple[int, int]:
    """From places in `plain`, which include a space at both ends, to those in the text."""
    first = bisect_right(row.places, begin + 1) - 1
    last = bisect_right(row.places, end - 2) - 1
    return row.starts[first], row.ends[last]


def _row(text: str) -> _Row:
    places, starts, ends = array("L"), array("L"), array("L")
    words, at = list[str](), 1
    for found in _TOKEN.finditer(text):
        word = found[0]
        word = word.lower() if word.isascii() and word.isalnum() else _plain(word)
        if not word:
            continue
        words.append(word)
        places.append(at)
        starts.append(found.start())
        ends.append(found.end())
        at += len(word) + 1
    return _Row(f" {' '.join(words)} ", places, starts, ends)


@lru_cache(maxsize=32)
def _kept_row(text: str) -> _Row:
    """The row of a source, which is asked about many quotations."""
    return _row(text)


def _plain(word: str) -> str:
    """A word in the form that its spellings share: `well-\\nknown` is `wellknown`, `1990-2000` two words."""
    word = unicodedata.normalize("NFKC", _DROPPED.sub("", word))
    joined = " " if any(map(str.isdigit, word)) else ""
    return " ".join(_HYPHEN.sub(joined, word).casefold().split())


class Excerpt(NamedTuple):
    """A quotation with the words around it."""

    before: str
    quote: str
    after: str


def excerpt(text: str, start: int, end: int, around: int = 280) -> Excerpt:
    """The passage of a source in which a quotation stands; cut between words, which `…` tells."""
    start, end = max(start, 0), min(end, len(text))
    before, after = text[max(start - around, 0) : start], text[end : end + around]
    if start > around:
        before = "… " + before.partition(" ")[2].lstrip() if " " in before else "…"
    if end + around < len(text):
        after = after.rpartition(" ")[0].rstrip() + " …" if " " in after else "…"
    return Excerpt(before, text[start:end], after)
