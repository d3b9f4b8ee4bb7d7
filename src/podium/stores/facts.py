"""Project facts in shared SQL; see `podium.engine.store_parts.Facts`. Each write is one transaction."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from podium.engine.codec import encode
from podium.engine.events import NOTHING, Charge
from podium.engine.store_parts import Fact, FactChange, FactUpdate, ProjectShare
from podium.stores.commit_queue import CommitQueue
from podium.stores.rows import charge_columns, charge_of, fact_data
from podium.stores.sql import Bulk, Database, FactIndex, Queries, added, filters

COLUMNS = Fact.__struct_fields__
"""The columns of a fact are its fields."""
SEARCHED = ("subject", "predicate", "value", "quote")
"""The fields in the full-text index."""
_EMBEDDED = ("subject", "predicate", "value")
"""The fields that an embedding is made of."""
_SLICE = 1000

_REMEMBER = Bulk(
    "project text, fact text, at text, by text, action text, before text, after text",
    "INSERT INTO fact_change (project, fact, at, by, action, before, after) "
    "SELECT b.* FROM {rows} WHERE b.project IS NOT NULL",
)
_PUT_VECTORS = Bulk(
    "project text, model text, fact text, data bytea",
    "INSERT INTO fact_vector (project, model, fact, data) SELECT b.* FROM {rows} "
    "WHERE b.project IS NOT NULL ON CONFLICT (project, model, fact) DO UPDATE SET data = excluded.data",
)
_DROP_VECTORS = Bulk(
    "project text, fact text",
    "DELETE FROM fact_vector WHERE (project, fact) IN (SELECT b.project, b.fact FROM {rows})",
)
_REVISE = (
    "INSERT INTO brain (project, revision) VALUES (?, ?) ON CONFLICT (project) DO UPDATE SET revision = "
    "CASE WHEN brain.revision < excluded.revision THEN excluded.revision ELSE brain.revision + 1 END"
)
"""Revisions are timestamps, so that a project that was removed and created again never has an old one."""
_SPEND = (
    "INSERT INTO brain (project, usd, input_tokens, output_tokens, calls, unpriced_calls) "
    "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (project) DO UPDATE SET usd = brain.usd + excluded.usd, "
    + added("brain", "input_tokens", "output_tokens", "calls", "unpriced_calls")
)
_PROJECTS = (
    "SELECT f.project, count(*) FILTER (WHERE status = 'accepted'), "
    "count(*) FILTER (WHERE status = 'proposed'), count(*) FILTER (WHERE status = 'discarded'), "
    "max(updated_at), coalesce(max(usd), 0.0), coalesce(max(input_tokens), 0), "
    "coalesce(max(output_tokens), 0), coalesce(max(calls), 0), coalesce(max(unpriced_calls), 0) "
    "FROM fact AS f LEFT JOIN brain USING (project) GROUP BY f.project ORDER BY f.project"
)


class FactTable:
    """The facts of a store."""

    def __init__(self, queries: Queries, queue: CommitQueue, index: FactIndex) -> None:
        self._queries = queries
        self._queue = queue
        self._index = index

    # ── writing ──

    async def add_facts(self, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
        return await self._queue.do(self._add, facts, change)

    async def _add(self, db: Database, facts: Sequence[Fact], change: FactChange) -> list[Fact]:
        """Insert facts that are new, in a constant number of statements, and return them."""
        new = await self._index.insert(db, facts) if facts else []
        if new:
            await _record(db, [FactUpdate(fact, change) for fact in new])
        return new

    async def change_facts(self, updates: Sequence[FactUpdate], at: str) -> list[str]:
        return await self._queue.do(self._change, updates, at)

    async def _change(self, db: Database, updates: Sequence[FactUpdate], at: str) -> list[str]:
        """Update facts that are unchanged since they were read (optimistic locking); return their ids."""
        done = await self._index.update(db, updates, at) if updates else []
        outdated = [fact for fact, change in done if not change.before.keys().isdisjoint(_EMBEDDED)]
        if outdated:
            await db.run_bulk(_DROP_VECTORS, [(fact.project, fact.id) for fact in outdated])
        if done:
            await _record(db, done)
        return [fact.id for fact, _ in done]

    async def forget_facts(self, project: str, ids: Collection[str] | None = None) -> int:
        return await self._queue.do(self._forget, project, None if ids is None else list(ids))

    async def _forget(self, db: Database, project: str, ids: list[str] | None) -> int:
        """Remove facts with their history and embeddings; removing a whole project leaves nothing."""
        count = await self._index.delete(db, project, ids)
        condition, parameters = filters(("fact IN ??", ids))
        for table in ("fact_change", "fact_vector"):
            await db.run(f"DELETE FROM {table} WHERE project = ? {condition}", (project, *parameters))
        if ids is None:
            await db.run("DELETE FROM brain WHERE project = ?", (project,))
        elif count:
            await _revise(db, {project})
        return count

    async def put_vectors(
        self, project: str, model: str, vectors: Mapping[str, bytes], charge: Charge = NOTHING
    ) -> None:
        await self._queue.do(_put_vectors, project, model, vectors, charge)

    # ── reading ──

    async def list_facts(
        self,
        project: str = "",
        *,
        status: Collection[str] = (),
        source_run: str = "",
        ids: Collection[str] = (),
        limit: int = 0,
    ) -> list[Fact]:
        conditions, parameters = filters(
            ("project = ?", project or None),
            ("source_run = ?", source_run or None),
            ("status IN ??", list(status) or None),
            ("id IN ??", list(ids) or None),
        )
        columns = ", ".join(COLUMNS)
        sql = f"SELECT number, {columns} FROM fact WHERE number > ? {conditions}ORDER BY number LIMIT ?"
        facts: list[Fact] = []
        after = 0
        while True:
            size = min(_SLICE, limit - len(facts)) if limit else _SLICE
            rows = await self._queries.all(sql, (after, *parameters, size))
            facts += [_fact(row[1:]) for row in rows]
            if len(rows) < size or len(facts) == limit:
                return facts
            after = rows[-1][0]
            await asyncio.sleep(0)

    async def match_facts(
        self, project: str, terms: Sequence[str], *, status: Collection[str] = (), limit: int = 100
    ) -> list[Fact]:
        rows = await self._index.match(self._queries, project, terms, list(status), limit)
        return [_fact(row) for row in rows]

    async def fact_history(self, project: str, fact_id: str) -> list[FactChange]:
        sql = (
            "SELECT at, by, action, before, after FROM fact_change "
            "WHERE project = ? AND fact = ? ORDER BY number"
        )
        return [
            FactChange(
                project=project,
                fact=fact_id,
                at=at,
                by=by,
                action=action,
                before=fact_data(fact_id, before),
                after=fact_data(fact_id, after),
            )
            for at, by, action, before, after in await self._queries.all(sql, (project, fact_id))
        ]

    async def list_projects(self) -> list[ProjectShare]:
        return [
            ProjectShare(
                project=project,
                accepted=accepted,
                proposed=proposed,
                discarded=discarded,
                updated_at=updated_at,
                embedding=charge_of(*charge),
            )
            for project, accepted, proposed, discarded, updated_at, *charge in (
                await self._queries.all(_PROJECTS)
            )
        ]

    async def project_revision(self, project: str) -> int:
        rows = await self._queries.all("SELECT revision FROM brain WHERE project = ?", (project,))
        return rows[0][0] if rows else 0

    async def get_vectors(
        self, project: str, model: str, *, ids: Collection[str] | None = None
    ) -> dict[str, bytes]:
        condition, parameters = filters(("fact IN ??", None if ids is None else list(ids)))
        sql = f"SELECT fact, data FROM fact_vector WHERE project = ? AND model = ? {condition}"
        return dict(await self._queries.all(sql, (project, model, *parameters)))


async def _put_vectors(
    db: Database, project: str, model: str, vectors: Mapping[str, bytes], charge: Charge
) -> None:
    if vectors:
        await _revise(db, {project})
        await db.run_bulk(_PUT_VECTORS, [(project, model, fact, data) for fact, data in vectors.items()])
    await db.run(_SPEND, (project, *charge_columns(charge)))


async def _record(db: Database, updates: Sequence[FactUpdate]) -> None:
    """Add changes to the history of their facts, and raise the revisions of the projects."""
    rows = [
        (
            *(fact.project, fact.id, change.at, change.by, change.action),
            *(encode(change.before).decode(), encode(change.after).decode()),
        )
        for fact, change in updates
    ]
    await db.run_bulk(_REMEMBER, rows)
    await _revise(db, {fact.project for fact, _ in updates})


async def _revise(db: Database, projects: set[str]) -> None:
    for project in sorted(projects):
        await db.run(_REVISE, (project, time.time_ns() // 1000))


def _fact(row: Sequence[Any]) -> Fact:
    return Fact(**dict(zip(COLUMNS, row, strict=True)))
