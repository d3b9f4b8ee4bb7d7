"""The stores that the contract suite runs over.

A store joins by a line in `STORES`: its name, and a function that gives the URL of a new, empty store.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest

from podium.engine.log import Store
from podium.stores import open_store


def make_sqlite(request: pytest.FixtureRequest, folder: Path) -> str:
    return f"sqlite:///{folder}/podium.sqlite"


def make_postgres(request: pytest.FixtureRequest, folder: Path) -> str:
    return request.getfixturevalue("pg_server").new_place()


STORES: dict[str, Callable[[pytest.FixtureRequest, Path], str]] = {
    "sqlite": make_sqlite,
    "postgres": make_postgres,
}


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty store."""
    return STORES[request.param](request, tmp_path)


@pytest.fixture
async def store(url: str) -> AsyncGenerator[Store]:
    async with open_store(url) as opened:
        yield opened


@pytest.fixture
async def other(url: str, store: Store) -> AsyncGenerator[Store]:
    """The same store, opened by somebody else."""
    async with open_store(url) as opened:
        yield opened
