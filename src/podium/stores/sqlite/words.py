"""Full-text search over facts, with SQLite's FTS5: words in any form, ranked by BM25."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from podium.engine.facts import Fact
from podium.errors import StoreError
from podium.stores.sqlite.bulk import Bulk
from podium.stores.unspaced import spaced

_MAKE = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS fact_words USING fts5 "
    "(subject, predicate, value, quote, tokenize = 'porter unicode61 remove_diacritics 2')"
)
MATCH = (
    "SELECT {columns} FROM fact_words JOIN fact ON fact.number = fact_words.rowid "
    "WHERE fact_words MATCH ? AND project = ? {status}"
    "ORDER BY bm25(fact_words, 4.0, 2.0, 2.0, 0.5), fact.number LIMIT ?"
)
"""A word in a subject weighs more than one in the sentence that it was taken from."""

_ADD = Bulk(
    5,
    "INSERT INTO fact_words (rowid, subject, predicate, value, quote) "
    "WITH b AS (VALUES {values}) SELECT * FROM b WHERE column1 IS NOT NULL",
)
_REMOVE = Bulk(1, "DELETE FROM fact_words WHERE rowid IN (VALUES {values})")


def prepare(db: sqlite3.Connection) -> None:
    """Make the index if there is none. Raises before anything is written where FTS5 is missing."""
    found = db.execute("SELECT 1 FROM sqlite_master WHERE name = 'fact_words'").fetchone()
    check(db)
    if found is None:
        db.execute(_MAKE)


def check(db: sqlite3.Connection, module: str = "fts5") -> None:
    """See that this SQLite has full-text search."""
    if db.execute("SELECT 1 FROM pragma_module_list WHERE name = ?", (module,)).fetchone() is None:
        raise StoreError(
            f"The brain needs full-text search ({module.upper()}), and the SQLite {sqlite3.sqlite_version} "
            "of this Python has none.",
            hint="Use a Python whose SQLite was built with FTS5; everything but the brain works without.",
        )


def is_made(db: sqlite3.Connection) -> bool:
    return db.execute("SELECT 1 FROM sqlite_master WHERE name = 'fact_words'").fetchone() is not None


def add(db: sqlite3.Connection, facts: Sequence[tuple[int, Fact]]) -> None:
    parts: list[object] = []
    for number, fact in facts:
        texts = (fact.subject, fact.predicate, fact.value, fact.quote)
        parts += (number, *(spaced(text) for text in texts))
    _ADD.execute(db, parts)


def remove(db: sqlite3.Connection, numbers: Sequence[int]) -> None:
    _REMOVE.execute(db, list(numbers))


def query_of(terms: Sequence[str]) -> str:
    """Any of these words, each in quotes: nothing that a user types is an operator."""
    phrases = [spaced(term).replace('"', " ").strip() for term in terms]
    return " OR ".join(f'"{phrase}"' for phrase in phrases if phrase)
