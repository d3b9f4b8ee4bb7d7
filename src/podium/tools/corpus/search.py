"""Passage search with BM25 and vectors."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from itertools import accumulate
from math import log

import msgspec

from podium.stores.sqlite.database import query_of
from podium.tools.documents import word_vectors as meaning

DEPTH = 50
"""Documents of each ranking that are fused."""
CONSTANT = 20
"""Constant of reciprocal rank fusion. The larger it is, the less the top ranks count."""
WEIGHT = 0.5
"""Weight of the ranking by vectors, relative to the ranking by words."""
LEAST = 0.25
"""Minimum cosine similarity for a passage to count as relevant."""
_CHUNK = 4_000


class Near(msgspec.Struct, frozen=True):
    """A document, and its passage nearest to the query."""

    number: int
    similarity: float
    start: int
    end: int


def nearest(db: sqlite3.Connection, query: str, limit: int) -> list[Near]:
    """Return the documents nearest to a query; empty if there are no vectors or the embedding model is not
    installed."""
    row = db.execute("SELECT 1 FROM meaning WHERE model = ? LIMIT 1", (meaning.MODEL,)).fetchone()
    if row is None or not query.strip() or not meaning.is_installed():
        return []
    vector = meaning.vectors_of([query])
    best: list[tuple[float, int, int]] = []
    rows = db.execute("SELECT number, vectors FROM meaning WHERE model = ?", (meaning.MODEL,))
    while chunk := rows.fetchmany(_CHUNK):
        hits = meaning.nearest(vector, [vectors for _, vectors in chunk], limit)
        best += [(-similarity, chunk[which][0], place) for which, place, similarity in hits]
        best = sorted(best)[:limit]
    return [_near(db, number, place, -below) for below, number, place in best if -below >= LEAST]


def _near(db: sqlite3.Connection, number: int, place: int, similarity: float) -> Near:
    (packed,) = db.execute("SELECT places FROM meaning WHERE number = ?", (number,)).fetchone()
    start, end = msgspec.msgpack.decode(packed, type=list[tuple[int, int]])[place]
    return Near(number, similarity, start, end)


def fuse(by_words: Sequence[int], by_meaning: Sequence[int]) -> list[tuple[int, float]]:
    """Join two rankings by reciprocal rank fusion, the best first."""
    scores: dict[int, float] = {}
    for weight, ranking in ((1.0, by_words), (WEIGHT, by_meaning)):
        for place, number in enumerate(ranking, 1):
            scores[number] = scores.get(number, 0.0) + weight / (CONSTANT + place)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))


LONGEST = 20_000
"""Characters of a query that are used."""
_WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")
_COMMON = frozenset(
    """
    a about an and are as at be been but by can could did do does for from had has have how i if in into
    is it its me my of on or our shall should so than that the their them then there these they this
    those to was we were what when where which who whose why will with would you your
    """.split()
)


def query_words(query: str, most: int) -> list[str]:
    """Return at most `most` words of the query without stop words, or with them if no others are left. The
    words hold only letters, digits, hyphens and apostrophes, so no search operator gets through."""
    words = list(dict.fromkeys(_WORD.findall(query[:LONGEST])))
    return ([word for word in words if word.lower() not in _COMMON] or words)[:most]


def share(words: list[str], text: str) -> float:
    """Return the fraction of the words that occur in a text, from 0 to 1, compared by stem."""
    if not words:
        return 0.0
    there = {_stem(word) for word in _WORD.findall(text)}
    return sum(_stem(word) in there for word in words) / len(words)


def _stem(word: str) -> str:
    """Return a rough stem: `brewing` and `brewed` are the same word."""
    low = word.lower().replace("’", "'").removesuffix("'s")
    for ending in ("ing", "ies", "ed", "es", "s", "e"):
        if low.endswith(ending) and len(low) - len(ending) >= 3:
            return low.removesuffix(ending)
    return low


MOST_TERMS = 500
"""Maximum terms of a query that are counted in the index."""
MOST_RANKED = 64
"""Maximum terms used for ranking: the rarest, which are the most specific."""
MOST_SHOWN = 12
"""Maximum ranking terms used first to choose a passage."""
MOST_MATCHES = 6_000
"""Maximum matches of all ranked terms together; the two rarest terms are always kept. Ranking one match takes
about 2 µs."""
TOKENS = 48
"""Tokens of a snippet before it is extended to sentence boundaries; SQLite allows 64."""
ROUNDING = 160
"""Maximum characters by which a passage may grow at each end."""

_PHRASE = re.compile(r'"([^"]{1,200})"')
_QUERY_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]")
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*\s|\n")
_OPEN, _CLOSE = "\x02", "\x03"
"""Marks around matched terms; stored text contains no control characters."""


class CorpusPassage(msgspec.Struct, frozen=True):
    """A search hit: `text[start:end] == snippet` in the stored text of the document."""

    path: str
    title: str
    media_type: str
    published: str
    authors: tuple[str, ...]
    snippet: str
    start: int
    end: int
    score: float
    """BM25 or fused rank score; higher is better. Comparable within one search only."""


def terms_of(query: str) -> list[str]:
    """Return the search terms: single words, and quoted phrases as a whole. None of them is an FTS
    operator."""
    text = query[:LONGEST].replace("\0", " ")
    phrases = [" ".join(_QUERY_WORD.findall(quoted)) for quoted in _PHRASE.findall(text)]
    terms = [*(phrase for phrase in phrases if phrase), *query_words(_PHRASE.sub(" ", text), MOST_TERMS)]
    return list(dict.fromkeys(terms))[:MOST_TERMS]


def search(db: sqlite3.Connection, query: str, limit: int, *, semantic: bool = True) -> list[CorpusPassage]:
    """Return the most relevant documents, best first; blocking.

    If the documents have vectors, documents near the query count too, even without a common word. A query
    with a quoted phrase searches by words only.
    """
    if limit < 1:
        return []
    weighed = _weighed(db, terms_of(query))
    by_meaning = nearest(db, query, DEPTH) if semantic and not _PHRASE.search(query) else []
    ranked = _ranked(db, weighed, max(limit, DEPTH) if by_meaning else limit)
    if by_meaning:
        ranked = fuse([number for number, _ in ranked], [near.number for near in by_meaning])[:limit]
    places = {near.number: (near.start, near.end) for near in by_meaning}
    matches = [match for _, match in weighed]
    return [_passage(db, matches, number, score, places.get(number)) for number, score in ranked]


def _ranked(db: sqlite3.Connection, weighed: list[tuple[float, str]], limit: int) -> list[tuple[int, float]]:
    """Return document numbers with their BM25 score, best first."""
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
    """Return the ranking terms, each with a factor for SQLite's rank.

    SQLite's BM25 gives almost no weight to a term that half of the documents contain; in a folder about one
    subject that would ignore the words of the subject. Here such a term has a small weight, as in Lucene. In
    a large folder frequent terms are the least specific and the most expensive: the rarest terms come first,
    regardless of their position in the query, and only as many follow as can be ranked in time.
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
    idf = log(odds) if odds > 1 else 0.0
    return log(1 + odds) / (idf if idf > 0 else 1e-6)


def _passage(
    db: sqlite3.Connection, matches: list[str], number: int, score: float, near: tuple[int, int] | None
) -> CorpusPassage:
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
    return CorpusPassage(path, title, kind, published, names, text[start:end], start, end, score)


def _marked(db: sqlite3.Connection, matches: list[str], number: int) -> str:
    """Return an excerpt of the document around the matched terms; empty if none matches."""
    if not matches:
        return ""
    row = db.execute(
        f"SELECT snippet(words, 1, '{_OPEN}', '{_CLOSE}', '', {TOKENS}) FROM words "
        "WHERE words MATCH ? AND rowid = ?",
        (" OR ".join(matches), number),
    ).fetchone()
    return row[0] if row else ""


def _located(marked: str, text: str, apart: str | None) -> tuple[int, int]:
    """Locate a snippet in the stored text, extended to sentence boundaries where they are near."""
    body = apart if apart is not None else text
    plain = marked.replace(_OPEN, "").replace(_CLOSE, "")
    start = max(body.find(plain), 0)
    end = start + len(plain)
    if apart is not None:
        start, end = _unspaced(text, start), _unspaced(text, end)
    return _rounded(text, start, end)


def _unspaced(text: str, place: int) -> int:
    """Map a position in the text with spaces around CJK and Thai characters to one in the original text."""
    added = 0
    for letter in _UNSPACED.finditer(text):
        if letter.start() + added + 1 > place:
            break
        added += 2
    return max(min(place - added, len(text)), 0)


def _rounded(text: str, start: int, end: int) -> tuple[int, int]:
    ends = [match.end() for match in _SENTENCE_END.finditer(text, max(start - ROUNDING, 0), start)]
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
