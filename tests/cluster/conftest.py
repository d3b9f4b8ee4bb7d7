"""What tests of a fleet begin with."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest

from tests.cluster import temporal
from tests.cluster.fleet import Lab, lab
from tests.stores import postgres

ONE_LINE = {"matching.numTaskqueueReadPartitions": 1, "matching.numTaskqueueWritePartitions": 1}
"""One line instead of four, which are asked at random: what comes first is first."""


@pytest.fixture(scope="session")
def temporal_server() -> Generator[str]:
    """One Temporal server for all tests of this worker."""
    if not temporal.program():
        pytest.skip("Temporal: its server is not installed; `make test` does that")
    with temporal.server(**ONE_LINE) as address:
        yield address


@pytest.fixture(params=["procrastinate", "temporal"])
def engine(request: pytest.FixtureRequest) -> str:
    """Each engine that carries runs, on a server of its own."""
    if request.param == "temporal":
        return temporal.new_namespace(request.getfixturevalue("temporal_server"))
    return request.param


@pytest.fixture
async def fleet(pg_server: postgres.Server, engine: str, tmp_path: Path) -> AsyncGenerator[Lab]:
    """An empty store, and no machine yet. A worker is taken for dead after two seconds."""
    async with lab(f"{pg_server.new_database()}?lease_s=2", tmp_path, engine) as made:
        yield made
