"""What projects know, in SQL: the writes, each a job of the writer's next transaction."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.engine.facts import Fact, FactChange, FactUpdate
from podium.stores.figures import LARGEST_SQL, charge_columns
from podium.stores.postgres.database import Db
from podium.stores.unspaced import spaced

COLUMNS = "project, id, subject, predicate, value, kind, source_run, quote, status, created_at, updated_at"
_TEXT = ("subject", "predicate", "value")
"""What an embedding is made of."""
_WORDS = (
    "setweight(to_tsvector('podium', b.w_subject), 'A') || "
    "setweight(to_tsvector('podium', b.w_predicate), 'B') || "
    "setweight(to_tsvector('podium', b.w_value), 'B') || setweight(to_tsvector('podium', b.w_quote), 'D')"
)
_ARRAYS = ", ".join(["%s::text[]"] * 15)
_GIVEN = f"{COLUMNS}, w_subject, w_predicate, w_value, w_quote"
_ADD = (
    f"INSERT INTO fact ({COLUMNS}, words) SELECT {COLUMNS}, {_WORDS} "
    f"FROM unnest({_ARRAYS}) WITH ORDINALITY AS b ({_GIVEN}, place) ORDER BY place "
    "ON CONFLICT (project, id) DO NOTHING RETURNING project, id"
)
_CHANGE = (
    "UPDATE fact SET subject = b.subject, predicate = b.predicate, value = b.value, kind = b.kind, "
    "source_run = b.source_run, quote = b.quote, status = b.status, updated_at = %s, "
    f"words = {_WORDS} FROM unnest({_ARRAYS}) AS b ({_GIVEN}) "
    "WHERE fact.project = b.project AND fact.id = b.id AND fact.updated_at = b.updated_at "
    "RETURNING fact.project, fact.id"
)
_REVISE = (
    "INSERT INTO brain (project, revision) VALUES (%s, %s) "
    "ON CONFLICT (project) DO UPDATE SET revision = greatest(brain.revision + 1, excluded.revision)"
)
"""Revisions are times, so that a project that was forgotten and told anew never has an old one."""
_SPEND = (
    "INSERT INTO brain (project, usd, input_tokens, output_tokens, calls, unpriced_calls) "
    "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (project) DO UPDATE SET usd = brain.usd + excluded.usd, "
    f"input_tokens = least(brain.input_tokens::numeric + excluded.input_tokens, {LARGEST_SQL})::bigint, "
    f"output_tokens = least(brain.output_tokens::numeric + excluded.output_tokens, {LARGEST_SQL})::bigint, "
    f"calls = least(brain.calls::numeric + excluded.calls, {LARGEST_SQL})::bigint, "
    f"unpriced_calls = least(brain.unpriced_calls::numeric + excluded.unpriced_calls, {LARGEST_SQL})::bigint"
)


def words_of(text: str) -> str:
    """A text as it is indexed and searched: without accents, each letter of unspaced writings alone."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return _text(spaced(plain))


async def add(db: Db, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
    """Those that are new, in a few statements however many they are."""
    if not facts:
        return []
    made = set(await (await db.execute(_ADD.encode(), _columns([_parts(fact) for fact in facts]))).fetchall())
    new: list[Fact] = []
    for fact in facts:  # the first of two with one id
        if (key := (fact.project, fact.id)) in made:
            made.discard(key)
            new.append(fact)
    if new:
        await _remember(db, [(fact, change) for fact in new])
        await _revise(db, {fact.project for fact in new})
    return new


async def change(db: Db, updates: Sequence[FactUpdate], at: str) -> list[str]:
    """Compare with what stands there, then set: two people who review at once do not undo each other."""
    if not updates:
        return []
    changed = await db.execute(_CHANGE.encode(), [at, *_columns([_parts(fact) for fact, _ in updates])])
    keys = set(await changed.fetchall())
    done = [(fact, change) for fact, change in updates if (fact.project, fact.id) in keys]
    if not done:
        return []
    outdated = [fact for fact, change in done if not change.before.keys().isdisjoint(_TEXT)]
    if outdated:
        await db.execute(
            "DELETE FROM fact_vector USING unnest(%s::text[], %s::text[]) AS b (project, fact) "
            "WHERE fact_vector.project = b.project AND fact_vector.fact = b.fact",
            ([fact.project for fact in outdated], [fact.id for fact in outdated]),
        )
    await _remember(db, done)
    await _revise(db, {fact.project for fact, _ in done})
    return [fact.id for fact, _ in done]


async def forget(db: Db, project: str, ids: Collection[str] | None) -> int:
    """With everything that was kept about them; a project that is forgotten leaves nothing."""
    given = (project, None if ids is None else list(ids), None if ids is None else list(ids))
    which = "project = %s AND (%s::text[] IS NULL OR {column} = ANY(%s::text[]))"
    gone = (await db.execute(f"DELETE FROM fact WHERE {which.format(column='id')}", given)).rowcount
    for table in ("fact_change", "fact_vector"):
        await db.execute(f"DELETE FROM {table} WHERE {which.format(column='fact')}", given)
    if ids is None:
        await db.execute("DELETE FROM brain WHERE project = %s", (project,))
    elif gone:
        await _revise(db, {project})
    return gone


async def put_vectors(db: Db, project: str, model: str, vectors: Mapping[str, bytes], charge: Charge) -> None:
    if vectors:
        await _revise(db, {project})
        await db.execute(
            "INSERT INTO fact_vector (project, model, fact, data) "
            "SELECT %b, %b, fact, data FROM unnest(%b::text[], %b::bytea[]) AS b (fact, data) "
            "ON CONFLICT (project, model, fact) DO UPDATE SET data = excluded.data",
            (project, model, list(vectors), list(vectors.values())),
        )
    await db.execute(_SPEND, (project, *charge_columns(charge)))


def _parts(fact: Fact) -> tuple[str, ...]:
    told = (
        fact.project, fact.id, fact.subject, fact.predicate, fact.value, fact.kind, fact.source_run,
        fact.quote, fact.status, fact.created_at, fact.updated_at,
    )  # fmt: skip
    words = (words_of(text) for text in (fact.subject, fact.predicate, fact.value, fact.quote))
    return (*(_text(text) for text in told), *words)


async def _remember(db: Db, changed: Sequence[tuple[Fact, FactChange]]) -> None:
    rows = [
        (
            fact.project, fact.id, change.at, change.by, change.action,
            encode(change.before).decode(), encode(change.after).decode(),
        )
        for fact, change in changed
    ]  # fmt: skip
    await db.execute(
        "INSERT INTO fact_change (project, fact, at, by, action, before, after) SELECT * FROM unnest("
        "%s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::text[])",
        _columns(rows),
    )


async def _revise(db: Db, projects: set[str]) -> None:
    for project in sorted(projects):
        await db.execute(_REVISE, (project, time.time_ns() // 1000))


def _columns(rows: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def _text(text: str) -> str:
    return text.replace("\0", "\ufffd") if "\0" in text else text
