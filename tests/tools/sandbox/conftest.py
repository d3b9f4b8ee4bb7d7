"""One sandbox for each tier that works here, and what the tests know of this machine."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from podium.errors import SandboxUnavailableError
from podium.settings import SandboxOptions, Settings
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.selection import open_sandbox

TIERS = ("bubblewrap", "landlock")


@pytest.fixture(params=TIERS)
async def sandbox(request: pytest.FixtureRequest) -> AsyncGenerator[Sandbox]:
    """Each tier that this machine can have; `test_tier` fails if there is none though there should be."""
    settings = Settings(sandbox=SandboxOptions(tier=request.param))
    try:
        yield await open_sandbox(settings)
    except SandboxUnavailableError as error:
        pytest.skip(f"{request.param} does not work here: {error}")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder
