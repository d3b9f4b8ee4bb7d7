"""A real store in a folder of the test's own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from podium.engine.log import Store
from podium.stores import open_store


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    async with open_store(f"sqlite:///{tmp_path}/podium.sqlite") as opened:
        yield opened
