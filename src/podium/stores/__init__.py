"""Stores for the log: `open_store("sqlite:///PATH")`.

async with open_store(url) as store: ...
store = await open_store(url)          # and later: await store.close()
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

from podium.engine.log import Store
from podium.errors import UsageError
from podium.stores.address import shown
from podium.stores.sqlite.connection import resolved
from podium.stores.sqlite.store import SqliteStore

__all__ = ["open_store"]

HINT = "Name it as `sqlite:///PATH`, as a plain path, or as `postgresql://HOST/DATABASE`."


def open_store(url: str | Path) -> Opening:
    """Open the store at `url`: use the result with `async with`, or await it and close the store yourself."""
    return Opening(str(url))


class Opening:
    """A store that is not open yet: awaitable and async context manager."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._store: Store | None = None

    def __await__(self) -> Generator[Any, None, Store]:
        return _open(self._url).__await__()

    async def __aenter__(self) -> Store:
        self._store = await _open(self._url)
        return self._store

    async def __aexit__(self, *_: object) -> None:
        if self._store is not None:
            await self._store.close()


async def _open(url: str) -> Store:
    return await (_open_postgres(url) if is_postgres(url) else SqliteStore.open(_file_of(url)))


def address_of(url: str) -> str:
    """Return the canonical address of a store whose path may be relative, contain `~` or be a link."""
    return url if is_postgres(url) else f"sqlite:///{resolved(_file_of(url))}"


def _file_of(url: str) -> str:
    """Return the path in the address of an SQLite store."""
    scheme, separator, path = url.partition(":///")
    if not separator:
        path = url
        scheme = url.partition("://")[0] if "://" in url else "sqlite"
    if scheme != "sqlite" or "://" in path:
        raise UsageError(f"The store {shown(url)!r} is of a kind that Podium does not know.", hint=HINT)
    if not path or path == ":memory:":
        raise UsageError(f"The store {url!r} names no file.", hint=HINT)
    return path


def is_postgres(url: str) -> bool:
    return url.startswith(("postgresql://", "postgres://"))


async def _open_postgres(url: str) -> Store:
    try:
        from podium.stores.postgres.store import PostgresStore  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError as error:
        raise UsageError(
            "A store on PostgreSQL needs an extra that is not installed.",
            hint="Install it with: pip install 'podium[postgres]'.",
        ) from error
    return await PostgresStore.open(url)
