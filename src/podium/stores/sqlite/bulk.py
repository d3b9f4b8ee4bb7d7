"""One statement for many rows: see `writing` for why."""

from __future__ import annotations

import sqlite3
from typing import Any

_SIZES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


class Bulk:
    """One statement for many rows of parameters, `{values}` in its text.

    There are a few fixed sizes, so that SQLite's prepared statements are used again; a smaller number of
    rows is filled up with NULLs (or another `filler`), which the statement must leave out.

    For bytes, as for NULL, Python's module first looks for somebody who adapts them, which takes longer than
    all the rest, and the event loop waits meanwhile; for a `bytearray` it does not. `binary` are the columns
    of a row whose values are always bytes.
    """

    def __init__(
        self, width: int, sql: str, *, binary: tuple[int, ...] = (), filler: int | None = None
    ) -> None:
        self.width = width
        self._binary = binary
        self._filler = filler
        self.most = _SIZES[-1] * width
        self._sql = sql
        self._texts: dict[int, str] = {}
        self._fits: dict[int, tuple[str, list[int | None]]] = {}

    def execute(self, db: sqlite3.Connection, parameters: list[Any]) -> int:
        """Run it over all parameters; returns how many rows were written."""
        if len(parameters) <= self.most:
            return self._run(db, parameters).rowcount
        return sum(self._run(db, some).rowcount for some in self._slices(parameters))

    def query(self, db: sqlite3.Connection, parameters: list[Any]) -> list[Any]:
        """The single value of each statement that it takes."""
        return [self._run(db, some).fetchone()[0] for some in self._slices(parameters)]

    def _run(self, db: sqlite3.Connection, parameters: list[Any]) -> sqlite3.Cursor:
        count = len(parameters) // self.width
        text, filler = self._fits.get(count) or self._fit(count)
        given = parameters + filler
        for column in self._binary:
            here = slice(column, len(parameters), self.width)
            given[here] = map(bytearray, given[here])
        return db.execute(text, given)

    def _fit(self, count: int) -> tuple[str, list[int | None]]:
        """The statement for so many rows, and what fills it up; made when first needed."""
        size = next(size for size in _SIZES if size >= count)
        if size not in self._texts:
            row = f"({', '.join('?' * self.width)})"
            self._texts[size] = self._sql.format(values=", ".join([row] * size))
        fit = self._texts[size], [self._filler] * (self.width * (size - count))
        return self._fits.setdefault(count, fit)

    def _slices(self, parameters: list[Any]) -> list[list[Any]]:
        return [parameters[start : start + self.most] for start in range(0, len(parameters), self.most)]
