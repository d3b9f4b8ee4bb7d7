"""Bringing a store to the schema of this version, and telling which one it had."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from podium.stores import is_postgres, open_store
from podium.stores.sqlite.database import schema_version


class Migrated(NamedTuple):
    """The schema before (0: there was none) and after."""

    before: int
    after: int


async def migrate_store(url: str) -> Migrated:
    """Make the store, or bring its tables to this version. Opening does it; this tells of it."""
    before = await _version(url)
    async with open_store(url):
        pass
    return Migrated(before, await _version(url))


async def _version(url: str) -> int:
    if not is_postgres(url):
        return schema_version(Path(url.removeprefix("sqlite:///")))
    try:
        from podium.stores.postgres.database import read_version  # noqa: PLC0415 - an extra, slow to import
    except ModuleNotFoundError:
        return 0  # opening it says what is missing
    return await read_version(url)
