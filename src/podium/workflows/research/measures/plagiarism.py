"""How much of an article is copied: rows of eight words that a source holds too.

What is quoted and cited is not copied. The article's rows are put into a table once; the sources, which may
be long and many, are only walked along.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from podium.workflows.research.measures.markup import CITED, Block, blocks_of

ROW = 8
"""Words in a row that nobody writes twice by chance."""
_WORD = re.compile(r"[^\W_]+")
_QUOTED = re.compile(r"“[^“”]{0,2000}”|\"[^\"]{0,2000}\"|«[^«»]{0,2000}»|„[^„“”]{0,2000}[“”]")


class Passage(NamedTuple):
    """Words of the article that stand in a source as well."""

    text: str
    source_id: str
    start: int
    end: int
    """Where, in the source's text."""


class Overlap(msgspec.Struct, frozen=True):
    """`share`: the part of the article's words that are copied, 0 to 1."""

    share: float
    passages: tuple[Passage, ...] = ()


class _Written(NamedTuple):
    """The article as words; `None` stands between what must not be read in one row."""

    keys: list[str | None]
    words: list[str]


def overlap(markdown: str, texts: Mapping[str, str]) -> Overlap:
    """Compare an article with the whole texts of its sources, given by their ids."""
    written = _written(blocks_of(markdown))
    rows = {row for row in _rows(written.keys) if None not in row}
    total = sum(key is not None for key in written.keys)
    copied: set[int] = set()
    passages: list[tuple[int, Passage]] = []
    for name, text in texts.items():
        for first, passage in _found(name, text, written, rows):
            places = range(first, first + len(passage.text.split()))
            if not copied.issuperset(places):
                passages.append((first, passage))
                copied.update(places)
    return Overlap(len(copied) / total if total else 0.0, tuple(one for _, one in sorted(passages)))


def _written(blocks: tuple[Block, ...]) -> _Written:
    """The article's words, but not its headings, its code, and what it quotes with a citation."""
    keys, words = list[str | None](), list[str]()
    for block in blocks:
        if block.kind in ("heading", "code") or (block.quoted and CITED.search(block.text)):
            continue
        text = _QUOTED.sub(" \n ", block.text) if CITED.search(block.text) else block.text
        for piece in CITED.sub(" ", text).split("\n"):
            found = _WORD.findall(piece)
            words += [*found, ""]
            keys += [*map(_key, found), None]
    return _Written(keys, words)


def _key(word: str) -> str:
    return word.lower() if word.isascii() else word.casefold()


def _rows(keys: list[str | None]) -> Iterator[tuple[str | None, ...]]:
    return zip(*(keys[nth:] for nth in range(ROW)), strict=False)


def _found(
    name: str, text: str, written: _Written, rows: set[tuple[str | None, ...]]
) -> Iterator[tuple[int, Passage]]:
    """The passages that one source shares with the article, each as long as it is."""
    keys: list[str | None] = [*map(_key, _WORD.findall(text))]
    places: dict[tuple[str | None, ...], int] = {}
    for at, row in enumerate(_rows(keys)):
        if row in rows:
            places.setdefault(row, at)
    if not places:
        return
    spans = [found.span() for found in _WORD.finditer(text)]
    first = 0
    while first <= len(written.keys) - ROW:
        at = places.get(tuple(written.keys[first : first + ROW]))
        if at is None:
            first += 1
            continue
        length = _length(written.keys, keys, first, at)
        words = " ".join(written.words[first : first + length])
        yield first, Passage(words, name, spans[at][0], spans[at + length - 1][1])
        first += length


def _length(article: list[str | None], source: list[str | None], first: int, at: int) -> int:
    """How far two rows go on alike."""
    length = ROW
    while (
        first + length < len(article)
        and at + length < len(source)
        and article[first + length] is not None
        and article[first + length] == source[at + length]
    ):
        length += 1
    return length
