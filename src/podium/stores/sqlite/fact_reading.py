"""What projects know, in SQL: the questions. They run on the event loop's thread, in slices."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from podium.engine.codec import encode
from podium.engine.facts import Fact, FactChange, ProjectShare
from podium.stores.damage import fact_data
from podium.stores.figures import charge_of
from podium.stores.sqlite import words
from podium.stores.sqlite.facts import COLUMNS
from podium.stores.sqlite.failures import explain

SLICE = 1000
_PROJECTS = (
    "SELECT f.project, sum(status = 'accepted'), sum(status = 'proposed'), sum(status = 'discarded'), "
    "max(updated_at), coalesce(usd, 0.0), coalesce(input_tokens, 0), coalesce(output_tokens, 0), "
    "coalesce(calls, 0), coalesce(unpriced_calls, 0) "
    "FROM fact AS f LEFT JOIN brain USING (project) GROUP BY f.project ORDER BY f.project"
)


class FactReader:
    """The questions about facts, over a connection for reading."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self._db = db
        self._path = path

    async def facts(
        self, project: str, status: Collection[str], source_run: str, ids: Collection[str], limit: int
    ) -> list[Fact]:
        wanted, given = ["number > ?"], list[Any]()
        for column, value in (("project", project), ("source_run", source_run)):
            if value:
                wanted.append(f"{column} = ?")
                given.append(value)
        for column, values in (("status", status), ("id", ids)):
            if values:
                wanted.append(f"{column} IN (SELECT value FROM json_each(?))")
                given.append(encode(list(values)).decode())
        sql = f"SELECT {COLUMNS}, number FROM fact WHERE {' AND '.join(wanted)} ORDER BY number LIMIT ?"
        found: list[Fact] = []
        after = 0
        while True:
            size = min(SLICE, limit - len(found)) if limit else SLICE
            rows = self._all(sql, (after, *given, size))
            found += [_fact(row) for row in rows]
            if len(rows) < size or len(found) == limit:
                return found
            after = rows[-1][-1]
            await asyncio.sleep(0)

    def match(self, project: str, terms: Sequence[str], status: Collection[str], limit: int) -> list[Fact]:
        query = words.query_of(terms)
        if not query or not words.is_made(self._db):
            return []
        words.check(self._db)
        marks = f"AND status IN ({', '.join('?' * len(status))}) " if status else ""
        columns = ", ".join(f"fact.{column.strip()}" for column in COLUMNS.split(","))
        sql = words.MATCH.format(columns=columns, status=marks)
        return [_fact(row) for row in self._all(sql, (query, project, *status, limit))]

    def history(self, project: str, fact_id: str) -> list[FactChange]:
        sql = (
            "SELECT at, by, action, before, after FROM fact_change "
            "WHERE project = ? AND fact = ? ORDER BY number"
        )
        return [
            FactChange(
                project=project, fact=fact_id, at=at, by=by, action=action,
                before=fact_data(fact_id, before), after=fact_data(fact_id, after),
            )
            for at, by, action, before, after in self._all(sql, (project, fact_id))
        ]  # fmt: skip

    def projects(self) -> list[ProjectShare]:
        return [
            ProjectShare(
                project=row[0], accepted=row[1], proposed=row[2], discarded=row[3], updated_at=row[4],
                embedding=charge_of(*row[5:]),
            )
            for row in self._all(_PROJECTS)
        ]  # fmt: skip

    def revision(self, project: str) -> int:
        found = self._all("SELECT revision FROM brain WHERE project = ?", (project,))
        return found[0][0] if found else 0

    def vectors(self, project: str, model: str, ids: Collection[str] | None) -> dict[str, bytes]:
        sql = "SELECT fact, data FROM fact_vector WHERE project = ? AND model = ?"
        if ids is None:
            return dict(self._all(sql, (project, model)))
        some = f"{sql} AND fact IN (SELECT value FROM json_each(?))"
        return dict(self._all(some, (project, model, encode(list(ids)).decode())))

    def _all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        try:
            return self._db.execute(sql, tuple(parameters)).fetchall()
        except sqlite3.Error as error:
            raise explain(error, self._path) from error


def _fact(row: Sequence[Any]) -> Fact:
    project, fact_id, subject, predicate, value, kind, source_run, quote, status, created_at, updated_at = (
        row[:11]
    )
    return Fact(
        id=fact_id, project=project, subject=subject, predicate=predicate, value=value, kind=kind,
        source_run=source_run, quote=quote, status=status, created_at=created_at, updated_at=updated_at,
    )  # fmt: skip
