"""Quotations and copied passages.

Both texts are converted to sequences of plain words, and the sequence of the quotation is searched in that of
the source. So a match begins and ends at a word, and the time is linear in both texts.

A quotation with a citation is not a copy. The article's word sequences are indexed once; the sources, which
may be long and many, are only scanned.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from podium.brain.vocabulary import word_set
from podium.workflows.research.measures.markup import CITED, Block, blocks_of
from podium.workflows.research.measures.text import ALONE

_UNSEEN = "\u00ad\u200b-\u200d\u2060\ufeff"
_LETTER = rf"[^\W_{ALONE}]|[\u0300-\u036f{_UNSEEN}]"
_TOKEN = re.compile(
    rf"[{ALONE}]"
    rf"|(?:{_LETTER})+(?:(?:[-\u2010\u2011]\s{{0,40}}|['’ʼ]|(?<=\d)[.,](?=\d))(?:{_LETTER})+)*"
    r"|[%‰$€£¥°+]"
)
"""A word with its hyphens and apostrophes, also across a line break; a number; a sign with a meaning."""
_DROPPED = re.compile(rf"[{_UNSEEN}'’ʼ]|(?<=\d),(?=\d\d\d(?!\d))")
_HYPHEN = re.compile(r"[-\u2010\u2011]\s*")
_GAP = re.compile(r"\s*(?:\[\s*(?:…|\.\.\.)\s*\]|…|\.\.\.)\s*")
MOST_GAPS = 6
WIDEST_GAP = 1_500
"""Maximum characters that a quotation with `…` may leave out in one place."""
LONGEST = 20_000
"""Maximum characters of a quotation."""


class _Row(NamedTuple):
    """A text as plain words with a space around each, and the position of each word."""

    plain: str
    places: array[int]
    """Start of each word in `plain`."""
    starts: array[int]
    ends: array[int]


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Return the start and end of the quotation in the text, in characters, or None.

    A quotation with `…` spans everything from its first words to its last, if all its parts follow each other
    closely.
    """
    quote = quote[:LONGEST].strip()
    at = text.find(quote) if quote else -1
    if at >= 0 and any(map(str.isalnum, quote)) and _is_whole(text, at, at + len(quote)):
        return at, at + len(quote)
    parts = [part for part in (_row(piece).plain for piece in _GAP.split(quote, MOST_GAPS)) if part.strip()]
    if not parts:
        return None
    row = _kept_row(text)
    span = _find(parts, row)
    return None if span is None else _place(row, *span)


def parts_of(quote: str) -> list[str]:
    """Return the parts of a quotation with omissions, or an empty list if it has none."""
    parts = [part.strip() for part in _GAP.split(quote[:LONGEST], MOST_GAPS)]
    return [part for part in parts if any(map(str.isalnum, part))] if len(parts) > 1 else []


def _is_whole(text: str, start: int, end: int) -> bool:
    """True if a span neither begins nor ends within a word."""
    before, after = text[start - 1 : start], text[end : end + 1]
    return not ((before.isalnum() and text[start].isalnum()) or (after.isalnum() and text[end - 1].isalnum()))


def _find(parts: list[str], row: _Row) -> tuple[int, int] | None:
    """Return the first position in `plain` where all parts follow each other."""
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
    """Convert positions in `plain`, which include a space at both ends, to positions in the text."""
    first = bisect_right(row.places, begin + 1) - 1
    last = bisect_right(row.places, end - 2) - 1
    return row.starts[first], row.ends[last]


def _row(text: str) -> _Row:
    places, starts, ends = array("L"), array("L"), array("L")
    words, at = list[str](), 1
    for match in _TOKEN.finditer(text):
        word = match[0]
        word = word.lower() if word.isascii() and word.isalnum() else _plain(word)
        if not word:
            continue
        words.append(word)
        places.append(at)
        starts.append(match.start())
        ends.append(match.end())
        at += len(word) + 1
    return _Row(f" {' '.join(words)} ", places, starts, ends)


@lru_cache(maxsize=32)
def _kept_row(text: str) -> _Row:
    """Return the cached row of a source, because many quotations are searched in it."""
    return _row(text)


def _plain(word: str) -> str:
    """Normalize the spellings of a word: `well-\\nknown` becomes `wellknown`, `1990-2000` becomes two
    words."""
    word = unicodedata.normalize("NFKC", _DROPPED.sub("", word))
    joined = " " if any(map(str.isdigit, word)) else ""
    return " ".join(_HYPHEN.sub(joined, word).casefold().split())


class Excerpt(NamedTuple):
    """A quotation with the words around it."""

    before: str = ""
    quote: str = ""
    after: str = ""


def excerpt(text: str, start: int, end: int, around: int = 280) -> Excerpt:
    """Return a quotation with its surroundings, cut between words and marked with `…`."""
    start, end = max(start, 0), min(end, len(text))
    before, after = text[max(start - around, 0) : start], text[end : end + around]
    if start > around:
        before = "… " + before.partition(" ")[2].lstrip() if " " in before else "…"
    if end + around < len(text):
        after = after.rpartition(" ")[0].rstrip() + " …" if " " in after else "…"
    return Excerpt(before, text[start:end], after)


ROW = 8
"""Number of consecutive words that do not coincide by chance."""
_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r"“[^“”]{0,2000}”|\"[^\"]{0,2000}\"|«[^«»]{0,2000}»|„[^„“”]{0,2000}[“”]")


class CopiedPassage(NamedTuple):
    """Words of the article that also occur in a source."""

    text: str
    source_id: str
    start: int
    end: int
    """Span in the source's text."""


class Overlap(msgspec.Struct, frozen=True):
    """Overlap of an article with its sources. `share` is the share of copied words, 0 to 1."""

    share: float
    passages: tuple[CopiedPassage, ...] = ()


class _Written(NamedTuple):
    """The article as words. `None` separates parts that must not be matched as one sequence."""

    keys: list[str | None]
    words: list[str]


def overlap(markdown: str, texts: Mapping[str, str]) -> Overlap:
    """Compare an article with the whole texts of its sources, given by id."""
    written = _written(blocks_of(markdown))
    rows = {row for row in _rows(written.keys) if None not in row}
    total = sum(key is not None for key in written.keys)
    copied: set[int] = set()
    passages: list[tuple[int, CopiedPassage]] = []
    for name, text in texts.items():
        for first, passage in _copied_passages(name, text, written, rows):
            places = range(first, first + len(passage.text.split()))
            if not copied.issuperset(places):
                passages.append((first, passage))
                copied.update(places)
    return Overlap(len(copied) / total if total else 0.0, tuple(copy for _, copy in sorted(passages)))


def _written(blocks: tuple[Block, ...]) -> _Written:
    """Return the article's words without headings, code, and cited quotations."""
    keys, words = list[str | None](), list[str]()
    for block in blocks:
        if block.kind in ("heading", "code") or (block.quoted and CITED.search(block.text)):
            continue
        text = _QUOTED.sub(" \n ", block.text) if CITED.search(block.text) else block.text
        for piece in CITED.sub(" ", text).split("\n"):
            tokens = _WORD.findall(piece)
            words += [*tokens, ""]
            keys += [*map(_key, tokens), None]
    return _Written(keys, words)


def _key(word: str) -> str:
    return word.lower() if word.isascii() else word.casefold()


def _rows(keys: list[str | None]) -> Iterator[tuple[str | None, ...]]:
    return zip(*(keys[nth:] for nth in range(ROW)), strict=False)


def _copied_passages(
    name: str, text: str, written: _Written, rows: set[tuple[str | None, ...]]
) -> Iterator[tuple[int, CopiedPassage]]:
    """Return the passages that one source shares with the article, each as long as possible."""
    keys: list[str | None] = [*map(_key, _WORD.findall(text))]
    places: dict[tuple[str | None, ...], int] = {}
    for at, row in enumerate(_rows(keys)):
        if row in rows:
            places.setdefault(row, at)
    if not places:
        return
    spans = [match.span() for match in _WORD.finditer(text)]
    first = 0
    while first <= len(written.keys) - ROW:
        at = places.get(tuple(written.keys[first : first + ROW]))
        if at is None:
            first += 1
            continue
        length = _length(written.keys, keys, first, at)
        words = " ".join(written.words[first : first + length])
        yield first, CopiedPassage(words, name, spans[at][0], spans[at + length - 1][1])
        first += length


def _length(article: list[str | None], source: list[str | None], first: int, at: int) -> int:
    """Return the length of the common sequence."""
    length = ROW
    while (
        first + length < len(article)
        and at + length < len(source)
        and article[first + length] is not None
        and article[first + length] == source[at + length]
    ):
        length += 1
    return length


LEAST = 20
"""Minimum samples of a text for a comparison."""
CONTAINED = 0.7
"""Share of a text's samples from which another text is considered to contain it."""
_LANGUAGES = word_set(
    "ar bg bn ca cn cs da de el en eo es et eu fa fi fr ga gl he hi hr hu id is it ja ka ko lt lv ml mr nb"
    " nl nn no pl pt ro ru sk sl sq sr sv ta te th tr uk vi zh"
)
_LANGUAGE = re.compile(r"[._-]([a-z]{2})(?:[_-][A-Za-z]{2,4})?(?=\.\w{2,5}$)")
_LETTERS = re.compile(r"[\W\d_]+")
_ANCHOR = re.compile(r"(?=((?:en|er|on|st).{28}))")


@lru_cache(maxsize=128)
def samples_of(text: str) -> frozenset[str]:
    """Return runs of letters that start at fixed pairs of letters, so that two texts give the same runs
    wherever they agree. Spaces, markup and figures do not count, because PDF files lose spaces."""
    letters = _LETTERS.sub("", text.lower())
    samples = frozenset(match[1] for match in _ANCHOR.finditer(letters))
    if len(samples) >= LEAST or letters.isascii() or len(letters) > 50_000:
        return samples
    return frozenset(letters[at : at + 12] for at in range(len(letters) - 11))  # scripts without these pairs


def is_contained(text: str, other: str) -> bool:
    """True if the other text contains nearly all of this text."""
    own = samples_of(text)
    return len(own) >= LEAST and len(own & samples_of(other)) >= CONTAINED * len(own)


def translations_in(addresses: Mapping[str, str], language: str) -> set[str]:
    """Return the ids of translations to leave out: files whose names differ only in a language code, such as
    `guide.de.pdf` and `guide.fr.pdf`. One of them stays, in the wanted language if possible."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for key, address in addresses.items():
        match = _LANGUAGE.search(address)
        code = match[1] if match and match[1] in _LANGUAGES else ""
        name = _LANGUAGE.sub("", address) if code else address
        groups.setdefault(name, []).append((key, code))
    dropped: set[str] = set()
    for group in groups.values():
        order = (language, "en", "")
        best = min(group, key=lambda entry: order.index(entry[1]) if entry[1] in order else len(order))
        dropped |= {key for key, _ in group} - {best[0]}
    return dropped


def works_of(texts: Mapping[str, str]) -> list[list[str]]:
    """Group the ids of texts that are the same work. The text that contains the others comes first."""
    groups: list[list[str]] = []
    for key in sorted(texts, key=lambda key: -len(samples_of(texts[key]))):
        home = next((group for group in groups if is_contained(texts[key], texts[group[0]])), None)
        if home is None:
            groups.append([key])
        else:
            home.append(key)
    return groups
