"""Finding by meaning: documents whose passages are near the question, joined with those found by words."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from podium.tools.documents import meaning

DEPTH = 50
"""Documents of each list that are joined."""
CONSTANT = 20
"""Of reciprocal rank fusion; the larger, the less the first places count."""
WEIGHT = 0.5
"""Of the places by meaning against those by words."""
LEAST = 0.25
"""Cosine from which on a passage has to do with a question at all."""
_CHUNK = 4_000


class Near(msgspec.Struct, frozen=True):
    """A document by its passage that is nearest to the question."""

    number: int
    similarity: float
    start: int
    end: int


def nearest(db: sqlite3.Connection, query: str, limit: int) -> list[Near]:
    """Return the documents nearest to a question; none where there are no vectors, or none can be made."""
    given = db.execute("SELECT 1 FROM meaning WHERE model = ? LIMIT 1", (meaning.MODEL,)).fetchone()
    if given is None or not query.strip() or not meaning.is_installed():
        return []
    asked = meaning.vectors_of([query])
    best: list[tuple[float, int, int]] = []
    rows = db.execute("SELECT number, vectors FROM meaning WHERE model = ?", (meaning.MODEL,))
    while chunk := rows.fetchmany(_CHUNK):
        found = meaning.nearest(asked, [vectors for _, vectors in chunk], limit)
        best += [(-similarity, chunk[which][0], place) for which, place, similarity in found]
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
