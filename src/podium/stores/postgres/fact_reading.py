"""What projects know, in SQL: the questions."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from podium.engine.facts import Fact, FactChange, ProjectShare
from podium.stores.damage import fact_data
from podium.stores.figures import charge_of
from podium.stores.postgres.facts import COLUMNS, words_of
from podium.stores.postgres.reading import Reader

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
"""A word in a subject weighs more than one in the sentence that it was taken from."""


class FactReader:
    """The questions about facts."""

    def __init__(self, reader: Reader) -> None:
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
    """Any of these words or phrases, each in quotes: nothing that a user types is an operator."""
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
