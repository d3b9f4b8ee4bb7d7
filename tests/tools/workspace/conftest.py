"""A sandbox, a user's repository, and a workspace made from it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from podium.errors import SandboxUnavailableError
from podium.settings import Settings
from podium.tools.sandbox.sandbox import Sandbox
from podium.tools.sandbox.selection import open_sandbox
from podium.tools.workspace.change import Caps
from podium.tools.workspace.lifecycle import open_workspace
from podium.tools.workspace.workspace import Workspace
from tests.tools.workspace.users import UserRepository

Opener = Callable[..., Awaitable[Workspace]]


@pytest.fixture(scope="session")
def sandbox() -> Sandbox:
    """The sandbox of this machine, tried out once."""
    try:
        return asyncio.run(open_sandbox(Settings()))
    except SandboxUnavailableError as error:
        pytest.skip(f"no sandbox works here: {error}")


@pytest.fixture
def user(tmp_path: Path) -> UserRepository:
    return UserRepository(tmp_path / "user")


@pytest.fixture
def opened(sandbox: Sandbox, tmp_path: Path) -> Opener:
    """Opens the workspace of a run, also a second time."""

    async def opener(folder: Path, run_id: str = "run1", caps: Caps | None = None) -> Workspace:
        return await open_workspace(folder, run_id, sandbox, home=tmp_path / "runs" / run_id, caps=caps)

    return opener


@pytest.fixture
async def workspace(opened: Opener, user: UserRepository) -> Workspace:
    return await opened(user.folder)
