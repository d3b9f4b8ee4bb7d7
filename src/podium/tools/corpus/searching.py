"""Finding passages: documents by BM25 and by meaning, and in each the passage that says most."""

from __future__ import annotations

import re
import sqlite3
from itertools import accumulate
from math import log

import msgspec

from podium.stores.sqlite.words import query_of
from podium.tools.corpus import fusion
from podium.tools.question import LONGEST, telling

MOST_TERMS = 500
"""Words of a question that are counted in the index."""
MOST_RANKED = 64
"""Of them, those that documents are ranked by: the rarest, which say most."""
MOST_SHOWN = 12
"""Of these, those that a passage is chosen by."""
MOST_MATCHES = 6_000
"""Of all terms together, as long as two stay; ranking each takes some two millionths of a second."""
TOKENS = 48
"""Words of a passage before it is rounded to sentences; SQLite allows 64."""
ROUNDING = 160
"""Characters by which a passage may grow at each end."""

_PHRASE = re.compile(r'"([^"]{1,200})"')
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*\s|\n")
_OPEN, _CLOSE = "\x02", "\x03"
"""Marks around what was found; no kept text holds control characters."""


class Passage(msgspec.Struct, frozen=True):
    """Where something was found: `text[start:end] == snippet` in the kept text of the document."""

    path: str
    title: str
    media_type: str
    published: str
    authors: tuple[str, ...]
    snippet: str
    start: int
    end: int
    score: float
    """BM25, or the sum of a rank fusion; higher is better. Comparable within one search only."""


def terms_of(query: str) -> list[str]:
    """What SQLite is asked for: any of the words, phrases in quotes as such. Nothing in it is an operator."""
    text = query[:LONGEST].replace("\0", " ")
    phrases = [" ".join(_WORD.findall(found)) for found in _PHRASE.findall(text)]
    terms = [*(phrase for phrase in phrases if phrase), *telling(_PHRASE.sub(" ", text), MOST_TERMS)]
    return list(dict.fromkeys(terms))[:MOST_TERMS]


def search(db: sqlite3.Connection, query: str, limit: int, *, semantic: bool = True) -> list[Passage]:
    """The documents that say most, the best first; blocking.

    Where the documents have vectors, those near the question count as well, also without a word of it. A
    query with a phrase in quotes is about words only.
    """
    if limit < 1:
        return []
    weighed = _weighed(db, terms_of(query))
    by_meaning = fusion.nearest(db, query, fusion.DEPTH) if semantic and not _PHRASE.search(query) else []
    ranked = _ranked(db, weighed, max(limit, fusion.DEPTH) if by_meaning else limit)
    if by_meaning:
        ranked = fusion.fuse([number for number, _ in ranked], [near.number for near in by_meaning])[:limit]
    places = {near.number: (near.start, near.end) for near in by_meaning}
    matches = [match for _, match in weighed]
    return [_passage(db, matches, number, score, places.get(number)) for number, score in ranked]


def _ranked(db: sqlite3.Connection, weighed: list[tuple[float, str]], limit: int) -> list[tuple[int, float]]:
    """Return the numbers of documents with their BM25, the best first."""
    if not weighed:
        return []
    arms = " UNION ALL ".join(
        ["SELECT rowid AS number, rank * ? AS part FROM words WHERE words MATCH ?"] * len(weighed)
    )
    rows = db.execute(
        f"SELECT number, sum(part) AS whole FROM ({arms}) GROUP BY number ORDER BY whole, number LIMIT ?",
        [*(value for pair in weighed for value in pair), limit],
    )
    return [(number, -whole) for number, whole in rows]


def _weighed(db: sqlite3.Connection, terms: list[str]) -> list[tuple[float, str]]:
    """How much SQLite's rank of each term is to count.

    Its BM25 gives a term that half of the documents hold no weight at all; in a folder about one subject
    that would silence the very words of the subject. Here such a term weighs little, as in Lucene, but not
    nothing. In a large folder the frequent terms tell least and cost most: the rarest go first, wherever they
    stand in the question, and no more follow than can be ranked in time.
    """
    (all_,) = db.execute("SELECT count(*) FROM words_docsize").fetchone()
    counted: list[tuple[int, str]] = []
    for term in terms:
        if match := query_of([term]):
            many: int = db.execute("SELECT count(*) FROM words WHERE words MATCH ?", (match,)).fetchone()[0]
            counted += [(many, match)] if many else []
    counted.sort()
    sums = accumulate(many for many, _ in counted)
    chosen = [
        pair
        for place, (pair, sum_) in enumerate(zip(counted, sums, strict=True))
        if place < 2 or (place < MOST_RANKED and sum_ <= MOST_MATCHES)
    ]
    return [(_weight(all_, many), match) for many, match in chosen]


def _weight(all_: int, many: int) -> float:
    odds = (all_ - many + 0.5) / (many + 0.5)
    given = log(odds) if odds > 1 else 0.0
    return log(1 + odds) / (given if given > 0 else 1e-6)


def _passage(
    db: sqlite3.Connection, matches: list[str], number: int, score: float, near: tuple[int, int] | None
) -> Passage:
    path, title, kind, published, authors, text, apart = db.execute(
        "SELECT path, title, media_type, published, authors, text, spaced FROM document WHERE number = ?",
        (number,),
    ).fetchone()
    marked = _marked(db, matches[:MOST_SHOWN], number) or _marked(db, matches[MOST_SHOWN:], number)
    if marked or near is None:
        start, end = _located(marked, text, apart)
    else:
        start, end = _rounded(text, *near)
    names = tuple(msgspec.json.decode(authors, type=list[str]))
    return Passage(path, title, kind, published, names, text[start:end], start, end, score)


def _marked(db: sqlite3.Connection, matches: list[str], number: int) -> str:
    """Return the words of a document around those that match; empty when none does."""
    if not matches:
        return ""
    found = db.execute(
        f"SELECT snippet(words, 1, '{_OPEN}', '{_CLOSE}', '', {TOKENS}) FROM words "
        "WHERE words MATCH ? AND rowid = ?",
        (" OR ".join(matches), number),
    ).fetchone()
    return found[0] if found else ""


def _located(marked: str, text: str, apart: str | None) -> tuple[int, int]:
    """Where a passage stands in the kept text, rounded to sentences where they end near."""
    body = apart if apart is not None else text
    plain = marked.replace(_OPEN, "").replace(_CLOSE, "")
    start = max(body.find(plain), 0)
    end = start + len(plain)
    if apart is not None:
        start, end = _unspaced(text, start), _unspaced(text, end)
    return _rounded(text, start, end)


def _unspaced(text: str, place: int) -> int:
    """A place in the text with spaces around such letters, as a place in the text without them."""
    added = 0
    for letter in _UNSPACED.finditer(text):
        if letter.start() + added + 1 > place:
            break
        added += 2
    return max(min(place - added, len(text)), 0)


def _rounded(text: str, start: int, end: int) -> tuple[int, int]:
    ends = [found.end() for found in _SENTENCE_END.finditer(text, max(start - ROUNDING, 0), start)]
    if ends:
        start = ends[-1]
    elif start <= ROUNDING:
        start = 0
    close = _SENTENCE_END.search(text, max(end - 1, 0), min(end + ROUNDING, len(text)))
    if close:
        end = close.end()
    elif len(text) - end <= ROUNDING:
        end = len(text)
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
