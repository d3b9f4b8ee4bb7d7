"""A store and the brain of a project in it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from podium.brain import Brain
from podium.engine.log import Store
from podium.settings import Settings
from podium.stores import open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    async with open_store(str(tmp_path / "brain.sqlite")) as opened:
        yield opened


@pytest.fixture
async def brain(store: Store) -> Brain:
    return await Brain.open(store, "lighthouse", settings=Settings())
