"""Settings and store of one command, and lookup of the run it refers to."""

from __future__ import annotations

import shlex
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from podium.engine.log import RunRow, Store
from podium.errors import StoreError, UnknownRunError, UsageError
from podium.settings import Settings
from podium.settings.places import named
from podium.stores import open_store, shown


@asynccontextmanager
async def opened(
    store: str | None = None, *, create: bool = False, **flags: Any
) -> AsyncGenerator[tuple[Settings, Store]]:
    """Open the settings and the store that they name. Raises `UsageError` for a store that cannot be opened,
    and for one that was given as a flag and does not exist, unless the command creates it (`create`)."""
    settings = Settings.load(store=store, **flags)
    if store is not None and not create:
        _check_there(settings.store)
    try:
        opened_store = await open_store(settings.store, lock_timeout=settings.lock_timeout)
    except StoreError as error:
        raise UsageError(str(error), hint=error.hint or "Choose another with --store.") from error
    try:
        yield settings, opened_store
    finally:
        await opened_store.close()


def _check_there(url: str) -> None:
    """Raise `UsageError` for a missing SQLite file, so that a misspelt path does not create an empty
    database."""
    path = Path(url.removeprefix("sqlite:///"))
    if url.startswith("sqlite:///") and not named(path).exists():
        raise UsageError(
            f"There is no store {path}.", hint="Check --store. `podium run` creates a new store."
        )


async def find_run(store: Store, reference: str) -> RunRow:
    """Return the run with this id or id prefix, or the newest one (`last`)."""
    if reference == "last":
        newest = await store.list_runs(limit=1)
        if not newest:
            raise UnknownRunError("There are no runs yet.", hint="Start one with `podium run`.")
        return newest[0]
    return await store.get(reference)


class Commands:
    """Builds commands to suggest. They include `--store` if it was given as a flag."""

    def __init__(self, settings: Settings) -> None:
        by_flag = settings.sources.get("store") == "flag"
        self._tail = f" --store {shlex.quote(shown(settings.store))}" if by_flag else ""

    def __call__(self, *words: str) -> str:
        """Return `podium …`, ready to be pasted."""
        return " ".join(("podium", *words)) + self._tail
