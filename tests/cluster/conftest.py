"""What tests of a fleet begin with."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.cluster.fleet import Lab, lab
from tests.stores import postgres


@pytest.fixture
async def fleet(pg_server: postgres.Server, tmp_path: Path) -> AsyncGenerator[Lab]:
    """An empty store, and no machine yet. A worker is taken for dead after two seconds."""
    async with lab(f"{pg_server.new_database()}?lease_s=2", tmp_path) as made:
        yield made
