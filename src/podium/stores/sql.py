"""Interfaces of a database for the shared SQL: queries, writes, and statements over many rows.

Shared statements use the SQL that SQLite and PostgreSQL have in common. Parameters are written as `?`, a list
as `IN ??`. Each database turns them into its own notation.

Everything is a coroutine, because PostgreSQL has to wait. Coroutines over SQLite never wait, so `run_now` can
run them on any thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from typing import Any, Protocol, TypeVar

from podium.engine.budget import LARGEST
from podium.engine.store_parts import Fact, FactUpdate
from podium.stores.batch import Creation

Result = TypeVar("Result")

SEQ = 0xFFFFFFFF
"""The bits of an event id that hold its sequence number; the bits above hold the run number."""


class Outcome(Protocol):
    """The result of a write."""

    @property
    def rowcount(self) -> int:
        """Number of rows written. In a pipeline it is known only afterwards."""
        ...


class Bulk:
    """One statement over many rows of parameters. `{rows}` in its text is a table `b` with these columns.

    `columns` are names and types: `number bigint, path text`. A database may add rows of NULLs, so an INSERT
    has to skip them.
    """

    def __init__(self, columns: str, sql: str) -> None:
        pairs = [column.split() for column in columns.split(",")]
        self.names = [name for name, _ in pairs]
        self.types = [kind for _, kind in pairs]
        self.sql = sql


class Queries(Protocol):
    """Read queries. They raise `StoreError` only."""

    async def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]: ...


class Database(Protocol):
    """The connection of a writer, inside a transaction. Errors are those of its driver."""

    async def all(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]: ...

    async def select(self, columns: str, rest: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a query that may have many."""
        ...

    async def run(self, sql: str, parameters: Sequence[Any] = ()) -> Outcome: ...

    async def run_bulk(self, bulk: Bulk, rows: Collection[Sequence[Any]]) -> Outcome: ...

    async def insert_events(self, rows: list[Any]) -> Outcome:
        """Insert the rows of valid leases; `rows` is flat, as in `Batch.rows`."""
        ...

    async def create_runs(self, creations: list[Creation]) -> Callable[[], Awaitable[None]] | None:
        """Insert runs with the first rows of their logs. A function that is returned sets the outcomes."""
        ...

    async def post_message(self, number: int, kind: str, data: bytes) -> int:
        """Put a message into the inbox of a run; return its id."""
        ...


class FactIndex(Protocol):
    """Facts with their full-text index."""

    async def insert(self, db: Any, facts: Sequence[Fact]) -> list[Fact]:
        """Insert the facts whose ids are new in their project, and return them."""
        ...

    async def update(self, db: Any, updates: Sequence[FactUpdate], at: str) -> list[FactUpdate]:
        """Update the facts that are unchanged since they were read, and return these."""
        ...

    async def delete(self, db: Any, project: str, ids: list[str] | None) -> int: ...

    async def match(
        self, queries: Any, project: str, terms: Sequence[str], status: list[str], limit: int
    ) -> list[Any]:
        """Return the columns of the facts that contain any of these words, the best matches first."""
        ...


def run_now(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that never waits, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        return stop.value
    coroutine.close()
    raise RuntimeError("The coroutine waits.")


def filters(*conditions: tuple[str, Any]) -> tuple[str, list[Any]]:
    """Return SQL that begins with AND, and its parameters. Conditions on `None` do not apply."""
    applied = [(sql, value) for sql, value in conditions if value is not None]
    return "".join(f"AND {sql} " for sql, _ in applied), [value for _, value in applied]


def added(table: str, *columns: str) -> str:
    """Return assignments for an upsert that adds to columns; sums stop at the largest 64-bit integer."""
    return ", ".join(
        f"{column} = CASE WHEN {table}.{column} > {LARGEST} - excluded.{column} THEN {LARGEST} "
        f"ELSE {table}.{column} + excluded.{column} END"
        for column in columns
    )
