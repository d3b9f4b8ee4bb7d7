"""A real store in a folder of the test's own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from podium.engine.log import Store
from podium.settings import Settings
from podium.stores import open_store
from tests.stores.conftest import STORES


@pytest.fixture(params=STORES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A new, empty store of each kind, for what other processes do."""
    return STORES[request.param](request, tmp_path)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    async with open_store(f"sqlite:///{tmp_path}/podium.sqlite") as opened:
        yield opened


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Defaults, whatever the machine's own settings are."""
    return Settings.load(cwd=tmp_path, env={})
