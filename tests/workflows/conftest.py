"""What the tests of all workflows share: a real store in a folder of the test's own, a server to listen."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from podium.engine.log import Store
from podium.stores import open_store
from tests.workflows.browser import listening


@pytest.fixture
async def store(tmp_path: Path) -> AsyncGenerator[Store]:
    async with open_store(f"sqlite:///{tmp_path}/podium.sqlite") as opened:
        yield opened


@pytest.fixture
def beacon() -> Iterator[tuple[str, list[str]]]:
    """A server that nobody should ever ask, and the list of those who did."""
    with listening() as opened:
        yield opened
