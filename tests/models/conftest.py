"""A provider on loopback and a store, for the tests that need them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from podium.engine.log import Store
from podium.stores import open_store
from tests.models.wire.server import Wire, serving


@pytest.fixture
async def wire() -> AsyncIterator[Wire]:
    async with serving() as opened:
        yield opened


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    async with open_store(str(tmp_path / "store.sqlite")) as opened:
        yield opened
