"""Project facts in SQL."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from podium.engine.codec import encode
from podium.engine.events import Charge
from podium.engine.store_parts import Fact, FactChange, FactUpdate, ProjectShare
from podium.stores.postgres.connection import Db
from podium.stores.postgres.reader import PostgresReader
from podium.stores.rows import LARGEST_SQL, charge_columns, charge_of, fact_data, spaced

COLUMNS = "project, id, subject, predicate, value, kind, source_run, quote, status, created_at, updated_at"
_TEXT = ("subject", "predicate", "value")
"""The fields that an embedding is made of."""
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
"""Revisions are timestamps, so that a project that was removed and created again never has an old one."""
_SPEND = (
    "INSERT INTO brain (project, usd, input_tokens, output_tokens, calls, unpriced_calls) "
    "VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT (project) DO UPDATE SET usd = brain.usd + excluded.usd, "
    f"input_tokens = least(brain.input_tokens::numeric + excluded.input_tokens, {LARGEST_SQL})::bigint, "
    f"output_tokens = least(brain.output_tokens::numeric + excluded.output_tokens, {LARGEST_SQL})::bigint, "
    f"calls = least(brain.calls::numeric + excluded.calls, {LARGEST_SQL})::bigint, "
    f"unpriced_calls = least(brain.unpriced_calls::numeric + excluded.unpriced_calls, {LARGEST_SQL})::bigint"
)


def words_of(text: str) -> str:
    """Return text for indexing and search: without accents, with spaces around CJK and Thai letters."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return _text(spaced(plain))


async def add(db: Db, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
    """Insert facts that are new, in a constant number of statements, and return them."""
    if not facts:
        return []
    made = set(await (await db.execute(_ADD.encode(), _columns([_parts(fact) for fact in facts]))).fetchall())
    new: list[Fact] = []
    for fact in facts:  # the first of two with the same id
        if (key := (fact.project, fact.id)) in made:
            made.discard(key)
            new.append(fact)
    if new:
        await _remember(db, [(fact, change) for fact in new])
        await _revise(db, {fact.project for fact in new})
    return new


async def change(db: Db, updates: Sequence[FactUpdate], at: str) -> list[str]:
    """Update facts that are unchanged since they were read (optimistic locking); return their ids."""
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
    """Remove facts with their history and embeddings; removing a whole project leaves nothing."""
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


_PROJECTS = (
    "SELECT f.project, count(*) FILTER (WHERE status = 'accepted'), "
    "count(*) FILTER (WHERE status = 'proposed'), count(*) FILTER (WHERE status = 'discarded'), "
    "max(updated_at), coalesce(max(usd), 0.0), coalesce(max(input_tokens), 0), "
    "coalesce(max(output_tokens), 0), coalesce(max(calls), 0), coalesce(max(unpriced_calls), 0) "
    "FROM fact AS f LEFT JOIN brain USING (project) GROUP BY f.project ORDER BY f.project"
)
_MATCH = (
    f"SELECT {COLUMNS} FROM fact, (SELECT to_tsquery('podium', %s) AS query) AS q "
    "WHERE words @@ q.query AND project = %s AND (%s::text[] IS NULL OR status = ANY(%s::text[])) "
    "ORDER BY ts_rank('{0.1, 0.2, 0.5, 1.0}', words, q.query) DESC, number LIMIT %s"
)
"""A match in the subject weighs more than one in the quote."""


class FactReader:
    """Read queries for facts."""

    def __init__(self, reader: PostgresReader) -> None:
        self._reader = reader

    async def facts(
        self, project: str, status: Collection[str], source_run: str, ids: Collection[str], limit: int
    ) -> list[Fact]:
        wanted, given = ["true"], list[Any]()
        for column, value in (("project", project), ("source_run", source_run)):
            if value:
                wanted.append(f"{column} = %s")
                given.append(value)
        for column, values in (("status", status), ("id", ids)):
            if values:
                wanted.append(f"{column} = ANY(%s::text[])")
                given.append(list(values))
        sql = f"SELECT {COLUMNS} FROM fact WHERE {' AND '.join(wanted)} ORDER BY number LIMIT %s"
        return [_fact(row) for row in await self._reader.all(sql, (*given, limit or None))]

    async def match(
        self, project: str, terms: Sequence[str], status: Collection[str], limit: int
    ) -> list[Fact]:
        query = query_of(terms)
        if not query:
            return []
        which = list(status) or None
        rows = await self._reader.all(_MATCH, (query, project, which, which, limit))
        return [_fact(row) for row in rows]

    async def history(self, project: str, fact_id: str) -> list[FactChange]:
        sql = (
            "SELECT at, by, action, before, after FROM fact_change "
            "WHERE project = %s AND fact = %s ORDER BY number"
        )
        return [
            FactChange(
                project=project, fact=fact_id, at=at, by=by, action=action,
                before=fact_data(fact_id, before), after=fact_data(fact_id, after),
            )
            for at, by, action, before, after in await self._reader.all(sql, (project, fact_id))
        ]  # fmt: skip

    async def projects(self) -> list[ProjectShare]:
        return [
            ProjectShare(
                project=row[0], accepted=row[1], proposed=row[2], discarded=row[3], updated_at=row[4],
                embedding=charge_of(*row[5:]),
            )
            for row in await self._reader.all(_PROJECTS)
        ]  # fmt: skip

    async def revision(self, project: str) -> int:
        found = await self._reader.all("SELECT revision FROM brain WHERE project = %s", (project,))
        return found[0][0] if found else 0

    async def vectors(self, project: str, model: str, ids: Collection[str] | None) -> dict[str, bytes]:
        sql = (
            "SELECT fact, data FROM fact_vector WHERE project = %s AND model = %s "
            "AND (%s::text[] IS NULL OR fact = ANY(%s::text[]))"
        )
        which = None if ids is None else list(ids)
        return dict(await self._reader.all(sql, (project, model, which, which)))


def query_of(terms: Sequence[str]) -> str:
    """Return a query for any of these words or phrases, each quoted, so that user input is never an
    operator."""
    phrases: list[str] = []
    for term in terms:
        plain = "".join(c if c.isalnum() else " " for c in words_of(term)).split()
        if plain:
            phrases.append("(" + " <-> ".join(f"'{word}'" for word in plain) + ")")
    return " | ".join(phrases)


def _fact(row: Sequence[Any]) -> Fact:
    project, fact_id, subject, predicate, value, kind, source_run, quote, status, created_at, updated_at = row
    return Fact(
        id=fact_id, project=project, subject=subject, predicate=predicate, value=value, kind=kind,
        source_run=source_run, quote=quote, status=status, created_at=created_at, updated_at=updated_at,
    )  # fmt: skip
